# Every target makes and reuses .venv by itself; it needs only python3 with pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV_READY := $(VENV)/.dev-ready
BENCH_READY := $(VENV)/.bench-ready
DOCS_READY := $(VENV)/.docs-ready
FLOOR := .venv-floor
NEWEST := .venv-newest
BROWSER_READY := $(VENV)/.browser-ready
MUTATE_READY := $(VENV)/.mutate-ready
WORKERS ?= 2
MINUTES ?= 30
# The interpreter compiles what it imports; to compile whole packages takes as long as to install them.
PIP := -m pip install --quiet --disable-pip-version-check --no-compile

# A few minutes of tests that touch every dependency, and the parts of JAX that change most.
QUICK := tests/test_net.py tests/test_fields.py tests/test_hamiltonian.py tests/test_storage.py \
	tests/fields/test_inference.py tests/integrators/test_orders.py tests/train/test_step.py \
	tests/train/test_schedules.py tests/export/test_operations.py tests/export/test_formats.py

.PHONY: help demo test test-all torture test-browser test-floor test-newest mutate bench docs docs-serve lint format build clean

help:
	@echo "make demo         train the four formulations on one function: a table and a figure"
	@echo "make lint         format, lint and types"
	@echo "make test         the test suite (about 6 minutes on 2 cores)"
	@echo "make test-all     lint, and the suite with its long checks"
	@echo "make torture      kills, damaged files, full disks, signals and load (long): one table"
	@echo "make test-browser reports in a real browser (Chromium)"
	@echo "make test-floor   a part of the suite with the oldest packages allowed"
	@echo "make test-newest  a part of the suite with the newest packages allowed"
	@echo "make mutate       small changes of the source, one at a time: do the tests notice?"
	@echo "make build        a wheel and an sdist, checked in a bare environment"
	@echo "make bench        measured ratios of time and memory"
	@echo "make docs         the documentation as a site in build/site, with its links checked"
	@echo "make docs-serve   the same, shown by a local server while you write"
	@echo "make format       format and fix what can be fixed"

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) --editable '.[test]'
	touch $(READY)

# Formatter, linter, types, and the engines that only the long tests start.
$(DEV_READY): $(READY)
	$(BIN)/python $(PIP) --editable '.[dev]'
	touch $(DEV_READY)

demo: $(READY)
	$(BIN)/shootax demo --out demo

test: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# The long run has the compiler as users have it (see tests/conftest.py).
test-all: $(DEV_READY) lint
	XLA_FLAGS= $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "slow or not slow"

# A smaller one: make torture TORTURE="--parts fuzz --scale 0.1"
torture: $(DEV_READY)
	$(BIN)/python -m tools.torture --json torture.json $(TORTURE)

$(FLOOR)/.ready: pyproject.toml tools/floors.py
	rm -rf $(FLOOR)
	$(PYTHON) -m venv $(FLOOR)
	$(FLOOR)/bin/python tools/floors.py > $(FLOOR)/floors.txt
	$(FLOOR)/bin/python $(PIP) --constraint $(FLOOR)/floors.txt --editable '.[test,ray,search,grain]'
	touch $@

test-floor: $(FLOOR)/.ready
	$(FLOOR)/bin/python tools/smoke.py cli export plots sklearn tables
	XLA_FLAGS= $(FLOOR)/bin/python -m pytest -n $(WORKERS) --dist worksteal $(QUICK)

test-newest:
	$(PYTHON) -m venv $(NEWEST)
	$(NEWEST)/bin/python $(PIP) --upgrade --upgrade-strategy eager --editable '.[test,ray,search,grain]'
	$(NEWEST)/bin/python tools/smoke.py cli export plots sklearn tables
	XLA_FLAGS= $(NEWEST)/bin/python -m pytest -n $(WORKERS) --dist worksteal $(QUICK)

$(MUTATE_READY): $(DEV_READY)
	$(BIN)/python $(PIP) --editable '.[mutate]'
	touch $(MUTATE_READY)

# Can be stopped and started again: what is known is kept in build/mutate.
mutate: $(MUTATE_READY)
	$(BIN)/python -m tools.mutate
	$(BIN)/python -m tools.mutate --long --cap 120
	$(BIN)/python -m tools.mutate --confirm

build: $(DEV_READY)
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python tools/check_build.py dist

# Chromium comes from the system; without the rights to install it the tests are skipped, and say so.
$(BROWSER_READY): $(READY)
	$(BIN)/python $(PIP) --editable '.[browser]'
	command -v chromium || command -v chromium-browser || command -v google-chrome || apt-get install -y chromium || true
	touch $(BROWSER_READY)

test-browser: $(BROWSER_READY)
	$(BIN)/python -m pytest tests/report -m browser -rs

$(BENCH_READY): $(READY)
	$(BIN)/python $(PIP) --editable '.[bench]'
	touch $(BENCH_READY)

# Goes on with an incomplete bench.json. On an idle machine it takes less than half an hour.
bench: $(BENCH_READY)
	$(BIN)/python -m benchmarks --json bench.json --minutes $(MINUTES)
	$(BIN)/python -m benchmarks --markdown bench.json

$(DOCS_READY): $(READY)
	$(BIN)/python $(PIP) --editable '.[docs]'
	touch $(DOCS_READY)

docs: $(DOCS_READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	$(BIN)/python docs/check_links.py build/site

docs-serve: $(DOCS_READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve

lint: $(DEV_READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright --pythonpath $(BIN)/python

format: $(DEV_READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(FLOOR) $(NEWEST) dist demo
