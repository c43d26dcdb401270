"""The tables of the open questions."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from shootax.paper._questions.statistics import Interval, at_equal_loss, interval
from shootax.paper._results import Results, Run, quartiles

ENTRIES = ("test_loss", "penalty", "lipschitz_path", "rademacher")
REFERENCE = "dynamic-particles"


def energy_table(results: Results) -> str:
    """Format median energies (quartiles), and by how much the median exceeds the lowest known energy."""
    lines = ["| task | positions | K | energy | above the lowest |", "|---|---|---:|---:|---:|"]
    for task in results.settings.options["tasks"]:
        best = lowest_energy(results, task)
        for positions in ("none", "costates", "data", "trained"):
            found = results.where(task=task, positions=positions)
            for count in sorted({run["particles"] or 0 for run in found}):
                values = [run["energy"] for run in found if (run["particles"] or 0) == count]
                low, middle, high = quartiles(np.array(values))
                name = {"none": "(free weights)"}.get(positions, positions)
                lines.append(
                    f"| {task} | {name} | {count or '–'} | {middle:.4g} ({low:.4g} to {high:.4g}) | "
                    f"{middle / best - 1:.1%} |"
                )
    return "\n".join(lines) + "\n"


def lowest_energy(results: Results, task: str) -> float:
    """The lowest energy of any run: an upper bound on the optimum over all weights."""
    return float(results.values("energy", task=task).min())


def network_table(results: Results) -> str:
    """Format medians over seeds for each network and number of particles."""
    heads = ["task", "depth", "penalty", "K", "rank bound", "error of θ", "error of outputs"]
    heads += ["test error: network", "by weights", "by outputs", "fine-tuned"]
    heads += ["∫R: network", "by weights", "by outputs", "fine-tuned"]
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    for key, runs in networks(results):
        for i, count in enumerate(results.settings.particles):
            cells = [
                _median(runs, name, i)
                for name in ("bound", "weights_error", "outputs_error", "test_error")
            ]
            names = [f"{kind}_test_error" for kind in ("weights", "outputs", "tuned")] + ["penalty"]
            names += [f"{kind}_penalty" for kind in ("weights", "outputs", "tuned")]
            cells += [_median(runs, name, i) for name in names]
            lines.append("| " + " | ".join([*map(str, key), str(count), *cells]) + " |")
    return "\n".join(lines) + "\n"


def networks(results: Results) -> Iterator[tuple[tuple[Any, ...], list[Run]]]:
    """The runs of each task, depth and strength of the penalty."""
    keys = ("task", "depth", "penalty_weight")
    for key in dict.fromkeys(tuple(run[k] for k in keys) for run in results.where()):
        yield key, results.where(**dict(zip(keys, key, strict=True)))


def column(runs: Sequence[Run], name: str, i: int) -> list[float]:
    """An entry over seeds. If it has a value for each number of particles, the `i`-th is taken."""
    return [run[name][i] if isinstance(run[name], list) else run[name] for run in runs]


def _median(runs: Sequence[Run], name: str, i: int) -> str:
    return f"{np.median(column(runs, name, i)):.3g}"


def compared(results: Results) -> Iterator[tuple[tuple[Any, ...], dict[str, dict[str, Interval]]]]:
    """Compare the formulations with `dynamic-particles` on each data set, at equal training loss.

    For each formulation and entry, compute the interval of the mean log-ratio over seeds. Seeds are
    paired.
    """
    formulations = results.settings.formulations
    keys = ("task", "samples", "noise")
    for key in sorted({tuple(run[k] for k in keys) for run in results.where()}):
        found = results.where(**dict(zip(keys, key, strict=True)))
        ratios: dict[str, dict[str, list[float]]] = {
            name: {entry: [] for entry in ENTRIES} for name in formulations
        }
        for seed in results.settings.seeds:
            own = [run for run in found if run["seed"] == seed and run["penalty"]]
            paths = {
                name: [run for run in own if run["formulation"] == name] for name in formulations
            }
            at = at_equal_loss(paths, ENTRIES)
            if at is None:
                continue
            for name, entries in at[1].items():
                for entry in ENTRIES:
                    ratios[name][entry].append(np.log(entries[entry] / at[1][REFERENCE][entry]))
        yield (
            key,
            {name: {e: interval(v) for e, v in row.items()} for name, row in ratios.items()},
        )


def formulation_table(results: Results) -> str:
    """Format the ratios to `dynamic-particles` at equal training loss, with intervals."""
    heads = ["task", "samples", "noise", "formulation", "seeds"]
    heads += ["test loss", "energy ∫R", "Lipschitz bound", "Rademacher bound"]
    lines = ["| " + " | ".join(heads) + " |", "|---|---:|---|---|" + "---:|" * (len(heads) - 4)]
    for (task, samples, noise), rows in compared(results):
        for name, row in rows.items():
            if name == REFERENCE:
                continue
            cells = [ratio_text(row[entry]) for entry in ENTRIES]
            start = [task, samples, "yes" if noise else "no", name, row["test_loss"].seeds]
            lines.append("| " + " | ".join([*map(str, start), *cells]) + " |")
    return "\n".join(lines) + "\n"


def ratio_text(found: Interval) -> str:
    """Format a ratio with its interval, in bold if 1 is outside the interval."""
    if not found.seeds:
        return "–"
    mean, low, high = (float(np.exp(value)) for value in found[:3])
    text = f"{mean:.2f} ({low:.2f} to {high:.2f})"
    return f"**{text}**" if found.excludes_zero else text
