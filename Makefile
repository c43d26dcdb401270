# Every target makes and reuses .venv by itself; it needs only python3 with pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.bench-ready
BROWSER_READY := $(VENV)/.browser-ready
WORKERS ?= 2

.PHONY: help demo test test-all test-browser bench lint format clean

help:
	@echo "make demo      train the four formulations on one function: a table and a figure"
	@echo "make test      the test suite (about 10 minutes on 2 cores)"
	@echo "make test-all  the suite with its long checks"
	@echo "make test-browser  reports in a real browser (Chromium)"
	@echo "make bench     measured ratios of time and memory"
	@echo "make lint      ruff and pyright"

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $(READY)

demo: $(READY)
	$(BIN)/shootax demo --out demo

test: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

test-all: $(READY) lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "slow or not slow"

# Chromium comes from the system; without the rights to install it the tests are skipped, and say so.
$(BROWSER_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[browser]'
	command -v chromium || command -v chromium-browser || command -v google-chrome || apt-get install -y chromium || true
	touch $(BROWSER_READY)

test-browser: $(BROWSER_READY)
	$(BIN)/python -m pytest tests/report -m browser -rs

$(BENCH_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	touch $(BENCH_READY)

bench: $(BENCH_READY)
	$(BIN)/python -m benchmarks --json bench.json

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) demo
