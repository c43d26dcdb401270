"""Timing, exponents, memory and threads."""

import itertools
import time

import numpy as np
import pytest

from benchmarks.speed import Settings, exponent, markdown, memory, race, threads
from benchmarks.speed.cases import Case, start
from benchmarks.speed.ours import runner
from benchmarks.speed.settings import record
from benchmarks.speed.timing import summarise
from shootax._integrators import Direct, Reversed


def test_exponent_of_a_power_is_found_exactly():
    sizes = np.array([1.0, 3.0, 10.0, 20.0])
    slope, error = exponent(sizes, 0.2 * sizes**1.7)
    assert slope == pytest.approx(1.7, abs=1e-12)
    assert error < 1e-12


def test_exponent_of_noisy_times_lies_within_its_error():
    generator = np.random.default_rng(0)
    sizes = np.geomspace(1, 1000, 30)
    noisy = 2 * sizes**1.3 * np.exp(0.1 * generator.standard_normal(30))
    slope, error = exponent(sizes, noisy)
    assert 0 < error < 0.02
    assert abs(slope - 1.3) < 4 * error


def test_exponent_needs_two_sizes():
    with pytest.raises(ValueError, match="two or more; got 1"):
        exponent(np.array([1.0]), np.array([1.0]))


def test_summary_is_median_and_quartiles():
    timing = summarise([5.0, 1.0, 2.0, 3.0, 4.0])
    assert timing == (3.0, 2.0, 4.0, 1.0, 5)
    assert timing.entries("ours")["ours_ms"] == 3000


def test_race_takes_turns_and_sees_who_is_slower():
    order: list[str] = []

    def sleeper(name: str, seconds: float):
        def run() -> None:
            order.append(name)
            time.sleep(seconds)

        return run

    times = race({"a": sleeper("a", 0.002), "b": sleeper("b", 0.02)}, seconds=0.3, rounds=3)
    assert times["b"].median > 3 * times["a"].median
    assert times["a"].repetitions > times["b"].repetitions >= 3
    changes = sum(first != second for first, second in itertools.pairwise(order))
    assert changes >= 7  # two to warm up, then three rounds of both


@pytest.mark.slow
@pytest.mark.usefixtures("standard_promotion")
def test_memory_of_reversed_gradients_is_flat_and_of_direct_ones_grows():
    def used(gradient, steps: int) -> int:
        tiny = Case("tiny", dim=1, inflation=2, particles=2, batch=3, T=1.0, steps=1)
        case = memory.deeper(tiny, steps)
        return runner(case, start(case), gradient=gradient).temporary_bytes()

    reversed_memory = used(Reversed(), 50)
    assert used(Reversed(), 2000) < 1.1 * reversed_memory
    assert used(Direct(), 2000) > 10 * reversed_memory


def test_cores_are_the_last_ones_and_not_more_than_there_are():
    assert len(threads.chosen(1)) == 1
    with pytest.raises(ValueError, match="Ask for fewer"):
        threads.chosen(10_000)


def test_a_worker_is_bound_to_its_cores_and_told_of_its_threads():
    import os

    (core,) = threads.chosen(1)
    worker = threads.worker("workers_of_tests", 1, [core])
    assert worker._env["OMP_NUM_THREADS"] == "1"
    assert ("sched_setaffinity" in worker._command[-1]) == hasattr(os, "sched_setaffinity")


def test_settings_refuse_unknown_names():
    with pytest.raises(ValueError, match="regression-17"):
        Settings(cases=("regression-17",))
    with pytest.raises(ValueError, match="speed"):
        Settings(parts=("speed",))


def test_markdown_has_every_rival_of_a_case_in_one_line():
    spread = {f"{who}_{what}_ms": 1.0 for who in ("ours", "rival") for what in ("lower", "upper")}
    common = {"threads": 1, "form": "dense", "ours_ms": 2.0, **spread}
    records = [
        record("race", "tiny", "diffrax", **common, ratio=3.0, rival_ms=6.0),
        record("race", "tiny", "torchdiffeq", **common, ratio=50.0, rival_ms=100.0),
        record(
            "race", "tiny", "limit", **common, ratio=0.25, rival_ms=0.5, times_limit=4, gflops=90
        ),
    ]
    (line,) = [text for text in markdown(records).splitlines() if text.startswith("| tiny")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells == ["tiny", "dense", "2 (1–1)", "6 (1–1)", "100 (1–1)", "3", "50", "0.5", "4"]
