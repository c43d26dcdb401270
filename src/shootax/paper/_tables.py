"""Markdown tables of the results and of the sizes of the models."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from shootax.paper._counts import parameter_counts
from shootax.paper._results import Results, quartiles

COLUMNS = (
    ("objective", "objective"),
    ("test_mse", "test MSE"),
    ("penalty", "penalty R"),
    ("complexity_log2_frobenius", "complexity"),
    ("short_range_loss", "short range, norm"),
    ("long_range_loss", "long range, norm"),
    ("short_range_mse", "short range, MSE"),
    ("long_range_mse", "long range, MSE"),
    ("train_accuracy", "training accuracy"),
    ("hamiltonian_drift", "drift of H"),
)


def results_table(results: Results) -> str:
    """Format medians (quartiles) over seeds, with a line for each configuration."""
    more = ["data_weight"] if any("data_weight" in run for run in results.runs) else []
    keys = ["formulation", "inflation", "particles", *more]
    entries = [(key, name) for key, name in COLUMNS if any(key in run for run in results.runs)]
    heads = ["formulation", "α", "K", *(key.replace("_", " ") for key in more), "runs"]
    lines = [_row([*heads, *(name for _, name in entries), "s per run"])]
    lines.append(_row(["---"] * (len(heads) + len(entries) + 1)))
    seen: dict[tuple[Any, ...], None] = dict.fromkeys(
        tuple(run.get(key) for key in keys) for run in results.runs
    )
    for values in sorted(seen, key=lambda v: (str(v[3:]), v[1], str(v[0]), v[2] or 0)):
        wanted = dict(zip(keys, values, strict=True))
        every = [run for run in results.runs if all(run.get(k) == v for k, v in wanted.items())]
        cells = ["–" if value is None else f"{value}" for value in values]
        cells.append(f"{len(results.where(**wanted))}/{len(every)}")
        cells += [_spread(results.values(key, **wanted)) for key, _ in entries]
        seconds = results.values("seconds", **wanted)
        cells.append(f"{seconds.mean():.1f}" if len(seconds) else "–")
        lines.append(_row(cells))
    return "\n".join(lines) + "\n"


def parameters_table(experiment: str) -> str:
    """The paper's table of parameter counts for an experiment, counted from constructed models."""
    name = "spiral" if experiment == "spiral" else "regression"
    cells = [cell for cell in parameter_counts() if cell["experiment"] == name]
    inflations = sorted({cell["inflation"] for cell in cells})
    lines = [_row(["formulation", "particles", *(f"α = {a}" for a in inflations)])]
    lines.append(_row(["---"] * (2 + len(inflations))))
    for key in dict.fromkeys((cell["formulation"], cell["particles"]) for cell in cells):
        counts = [
            f"{cell['parameters']:,}"
            for cell in sorted(cells, key=lambda cell: cell["inflation"])
            if (cell["formulation"], cell["particles"]) == key
        ]
        lines.append(_row([key[0], "–" if key[1] is None else str(key[1]), *counts]))
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _spread(values: np.ndarray) -> str:
    if len(values) == 0:
        return "–"
    low, middle, high = quartiles(values)
    return f"{middle:.3g} ({low:.3g}–{high:.3g})"
