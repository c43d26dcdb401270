"""Measure the seconds of whole trainings, until the objective is as low as the code of 2020 ends.

    python -m benchmarks.whole_trainings --json benchmarks/whole_trainings.json   # about 6 minutes
    python -m benchmarks.whole_trainings --markdown benchmarks/whole_trainings.json

The task is the quadratic-like regression, dynamic with particles, α = 16, 15 particles; the objective
is 100 · MSE + R on the test grid. A first run finds the epoch after which it is low enough; then the
same training runs in fresh processes that stop there, once with an empty folder of compiled programs
and once with a filled one. All processes are bound to one core. The time is the processor time from the
start of the process to the end of the training, which equals the wall-clock time on a quiet machine. It
includes the imports of JAX and of this library, but not that of `shootax.paper`, which has the settings.
Diffrax takes as many steps, always on the same batch; those of torchdiffeq are extrapolated from a few.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

ROOT = pathlib.Path(__file__).parents[1]
FIGURE = ROOT / "docs" / "results" / "quadratic-best" / "results.json"

TARGET = 0.345
BATCHES = 10  # steps per epoch
CODE_OF_2020 = {"training": "code of 2020, seed 0", "epochs": 501, "seconds_per_step": 0.120}

POLISHED = {"epochs": 50, "polish": 300}
"""A short schedule, and the maximal number of epochs of L-BFGS after it."""

PACKAGES = {
    "rival_diffrax": ("jax", "equinox", "optax", "diffrax"),
    "rival_torch": ("torch", "torchdiffeq"),
}
"""The modules that each rival imports."""

FEW = 100
"""The number of torchdiffeq's steps that are measured."""


def ours(task: dict[str, Any]) -> dict[str, Any]:
    """Train in this process. With `target`, evaluate the objective after every epoch; with `stop`, end
    the training after this number of epochs."""
    import shootax as sx

    ready = time.process_time()
    from shootax.paper import EXPERIMENTS, make_settings

    aside = time.process_time() - ready  # your own programs do not need this import
    experiment: Any = EXPERIMENTS["quadratic"]
    settings = make_settings(
        experiment,
        "paper",
        task["recipe"],
        seeds=[task["seed"]],
        formulations=["dynamic-particles"],
        inflations=[16],
        particles=[15],
    )
    (configuration,) = experiment.configurations(settings)
    data, options = experiment.task(settings, configuration)
    if task.get("polish"):
        # Validation is for the plateau schedule of other recipes; L-BFGS does not use it.
        options = {**options, "validation": None, "polish": sx.LBFGS(task["polish"])}
    found: list[float] = []

    def measured(net: Any) -> float:
        return experiment.evaluate(settings, configuration, net)["objective"]

    def enough(report: Any) -> bool:
        if "target" not in task:
            return report.epoch >= task["stop"]
        found.append(measured(report.net))
        return found[-1] <= task["target"]

    watching = "target" in task or "stop" in task
    result = sx.fit(
        experiment.net(settings, configuration, task["seed"]),
        *data,
        epochs=task["epochs"],
        batch_size=settings.options["batch_size"],
        seed=task["seed"],
        callbacks=[enough] if watching else [],
        progress=False,
        **options,
    )
    seconds = time.process_time() - aside
    reached = "target" in task and found[-1] <= task["target"]
    return {
        "seconds": seconds,
        "epochs": len(result.history["objective"]) if reached or "target" not in task else None,
        "objective": measured(result.net),
    }


def rival(task: dict[str, Any]) -> dict[str, Any]:
    """Run training steps of a rival in this process; steps beyond `measured` are extrapolated."""
    import importlib

    for package in PACKAGES[task["module"]]:
        importlib.import_module(package)
    ready = time.process_time()
    from benchmarks.speed.cases import CASES, start

    module = importlib.import_module(f"benchmarks.speed.{task['module']}")
    aside = time.process_time() - ready  # our own library, which the rivals do not need
    case = CASES["regression-16"]
    step = module.runner(case, start(case))
    step()
    first = time.process_time()
    measured = min(task["steps"], task["measured"]) - 1
    for _ in range(measured):
        step()
    each = (time.process_time() - first) / measured
    seconds = first - aside + each * (task["steps"] - 1)
    return {"seconds": seconds, "seconds_per_step": each}


def alone(kind: str, task: dict[str, Any], folder: pathlib.Path) -> dict[str, Any]:
    """Run a task in a fresh process on one core, with a folder for compiled programs; return its
    result."""
    from shootax.sweeps import available_cores, thread_environment

    hidden = ("JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS")
    given = {name: value for name, value in os.environ.items() if name not in hidden}
    environment = thread_environment(given, 1)
    environment["SHOOTAX_CACHE"] = str(folder)
    if kind == "rival":  # Diffrax uses JAX's own folder of programs
        environment["JAX_COMPILATION_CACHE_DIR"] = str(folder)
        environment["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    paths = [str(ROOT / "src"), str(ROOT), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    one = available_cores()[-1]
    bind = f"os.sched_setaffinity(0, {{{one}}})" if hasattr(os, "sched_setaffinity") else ""
    program = (
        f"import os\n{bind}\nimport json\nfrom benchmarks.whole_trainings import {kind}\n"
        f"print(json.dumps({kind}(json.loads({json.dumps(task)!r}))))"
    )
    command = [sys.executable, "-c", program]
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT)
    if done.returncode:
        raise RuntimeError(f"The training {task} failed:\n{done.stderr}")
    answer = json.loads(done.stdout.strip().splitlines()[-1])
    return {**answer, "clock": time.perf_counter() - began}


def trainings(seeds: int, quick: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """The trainings with `fit`, and their names."""
    epochs = 20 if quick else 500
    for seed in range(seeds):
        yield f"`best`, seed {seed}", {"recipe": "best", "seed": seed, "epochs": epochs}
    polished = {"epochs": 5, "polish": 5} if quick else POLISHED
    for seed in range(seeds):
        about = f"`best` in {polished['epochs']} epochs, then `polish=sx.LBFGS()`, seed {seed}"
        yield about, {"recipe": "best", "seed": seed, **polished}
    if not quick:
        for recipe in ("averaged", "paper"):
            yield f"`{recipe}`, seed 0", {"recipe": recipe, "seed": 0, "epochs": epochs}


def records(seeds: int, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield one record for each row of the table, as soon as it is measured."""
    target, steps = (5.0 if quick else TARGET), 0
    yield {
        **CODE_OF_2020,
        "objective": TARGET,
        "seconds": CODE_OF_2020["epochs"] * BATCHES * CODE_OF_2020["seconds_per_step"],
    }
    for name, task in trainings(seeds, quick):
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            search = alone("ours", {**task, "target": target}, folder / "search")
            stop = search["epochs"]
            limit = {} if stop is None else {"stop": stop}
            runs = 3 if stop else 2
            cold, *warm = (alone("ours", {**task, **limit}, folder / "timed") for _ in range(runs))
            whole = alone("ours", task, folder / "timed") if stop else cold
        if stop and not steps:
            steps = BATCHES * stop
        yield {
            "training": name,
            "epochs": stop,
            "cold": cold["seconds"] if stop else None,
            "warm": min(each["seconds"] for each in warm) if stop else None,
            "warm_clock": min(each["clock"] for each in warm) if stop else None,
            "reached": search["objective"] if stop else None,
            "whole_epochs": whole["epochs"],
            "whole_seconds": min(each["seconds"] for each in ([whole] if stop else warm)),
            "whole_objective": whole["objective"],
        }
    yield from rivals(steps or 20, quick)
    yield earlier_figure()


def rivals(steps: int, quick: bool) -> Iterator[dict[str, Any]]:
    """The time that Diffrax and torchdiffeq take for as many steps as the first training needs."""
    from benchmarks.speed import rival_torch

    for name, module, measured in (
        ("Diffrax", "rival_diffrax", steps),
        ("torchdiffeq", "rival_torch", FEW),
    ):
        if module == "rival_torch" and rival_torch.missing():
            continue
        task = {
            "module": module,
            "steps": steps,
            "measured": min(measured, 5) if quick else measured,
        }
        with tempfile.TemporaryDirectory() as place:
            cold, *warm = (alone("rival", task, pathlib.Path(place)) for _ in range(3))
        best = min(warm, key=lambda each: each["seconds"])
        yield {
            "training": f"{name}, as many steps as `best`, seed 0",
            "epochs": steps // BATCHES,
            "cold": cold["seconds"],
            "warm": best["seconds"],
            "warm_clock": best["clock"] if measured >= steps else None,
            "seconds_per_step": best["seconds_per_step"],
        }


def earlier_figure(path: pathlib.Path = FIGURE) -> dict[str, Any]:
    """The 240 trainings of the whole figure, from the processor time that a stored sweep recorded. The
    sweep used the recipe `best`, because older runs of `paper` recorded no times; nets and epochs are
    the same."""
    runs = json.loads(path.read_text("utf-8"))
    kept = [run for run in runs if run["particles"] in (None, 15)]
    return {
        "training": "the whole figure, as recorded earlier",
        "trainings": len(kept),
        "seconds": sum(run["processor_seconds"] for run in kept),
    }


HEADER = (
    "| training | epochs to 0.345 | cold | warm | all epochs, warm | objective then |\n"
    "|---|---|---|---|---|---|"
)


def line(record: dict[str, Any]) -> str:
    """A row of the table in Markdown."""
    if "trainings" in record:
        minutes = record["seconds"] / 60
        about = f"{record['training']}: {record['trainings']} trainings"
        return f"| {about} | | | | {minutes:.0f} min | |"

    def shown(name: str, form: str, unit: str = "") -> str:
        value = record.get(name)
        return "" if value is None else f"{value:{form}}{unit}"

    epochs = shown("epochs", "d") or "not reached"
    if "seconds" in record:
        whole = shown("seconds", ".0f", " s, as measured earlier")
        return f"| {record['training']} | {epochs} | | | {whole} | {shown('objective', '.3f')} |"
    cells = [shown("cold", ".1f", " s"), shown("warm", ".1f", " s")]
    whole = [shown("whole_seconds", ".1f", " s"), shown("whole_objective", ".3f")]
    return f"| {record['training']} | {epochs} | " + " | ".join(cells + whole) + " |"


def main(arguments: list[str] | None = None) -> None:
    """Print the table, and write the records to a file if one is given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=pathlib.Path, help="write the records to this file")
    parser.add_argument("--markdown", type=pathlib.Path, help="print the table of a records file")
    parser.add_argument("--seeds", type=int, default=3, help="number of trainings of each kind")
    parser.add_argument(
        "--quick", action="store_true", help="run a few epochs only, to try the command"
    )
    given = parser.parse_args(arguments)
    print(HEADER)
    if given.markdown:
        print("\n".join(map(line, json.loads(given.markdown.read_text("utf-8")))))
        return
    found = []
    for record in records(1 if given.quick else given.seeds, given.quick):
        found.append(record)
        print(line(record), flush=True)
        if given.json:
            rows = [json.dumps(each, ensure_ascii=False) for each in found]
            given.json.write_text("[\n" + ",\n".join(rows) + "\n]\n", "utf-8")


if __name__ == "__main__":
    main()
