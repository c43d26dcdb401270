"""The theory's guarantees for a saved model."""

import dataclasses
import json
import math
import pathlib
import sys
from typing import Any

import numpy as np

import shootax as sx
from shootax import theory
from shootax.cli import tables
from shootax.cli.text import say


def run(
    model: pathlib.Path, data: pathlib.Path, ignore: list[str], radius: float | None, as_json: bool
) -> None:
    """Print the certificate of a model on data."""
    net = sx.load(model)
    if not isinstance(net, sx.Net):
        raise ValueError(f"{model} holds a {type(net).__name__}; certify takes a single Net.")
    x = _inputs(model, data, ignore)
    found = theory.certify(net, x, radius=radius)
    complexity = theory.rademacher(net, x)
    if as_json:
        values = {**found.as_dict(), "rademacher": _plain(complexity)}
        print(json.dumps(values, indent=1, ensure_ascii=False))
        return
    say(found.table())
    say(
        f"Rademacher complexity of all flows with this norm, on {complexity.samples} samples: at most "
        f"{_show(complexity.rigorous)}; {complexity.short:.3g} by the paper's bound, which treats "
        "points as fixed although they move with the flow"
    )


def _plain(complexity: theory.RademacherBounds) -> dict[str, Any]:
    values = dataclasses.asdict(complexity)
    return {name: v if math.isfinite(v) else None for name, v in values.items()}


def _show(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "∞"


def _inputs(model: pathlib.Path, data: pathlib.Path, ignore: list[str]) -> np.ndarray:
    """The inputs of the net: an array, or the columns of a table, scaled if the model scales them."""
    if data.suffix == ".npy":
        if not data.is_file():
            raise ValueError(f"There is no file {data}.")
        try:
            found = np.load(data, allow_pickle=False)
            if not isinstance(found, np.ndarray):
                raise ValueError("an archive of arrays")
            return found
        except Exception as error:  # from NumPy, or out of memory
            raise ValueError(
                f"{data} cannot be read as an array of numbers ({type(error).__name__}): it is damaged, "
                "too large, or not a .npy file. Write it with numpy.save."
            ) from error
    table = tables.read(data)
    tables.needed(table, {"to ignore": ignore})
    record = sx.load_record(model)
    if "estimator" in record:
        return _scaled(model, record, table)
    table = table.drop(columns=ignore)
    text = [name for name in table.columns if not _is_number(table[name])]
    if text:
        raise ValueError(
            f"{data} has columns that are not numeric: {', '.join(map(repr, text))}. Leave them out with "
            "--ignore, or certify a model written by `shootax fit`, which encodes its columns."
        )
    return table.to_numpy(np.float64)


def _is_number(column: Any) -> bool:
    return column.dtype.kind in "iufb"


def _scaled(model: pathlib.Path, record: dict[str, Any], table: Any) -> np.ndarray:
    from shootax.sklearn import load_estimator
    from shootax.sklearn import tables as columns

    estimator = load_estimator(model)
    if record.get("table") is None:
        raise ValueError(
            f"{model} was not fitted by `shootax fit`, so it does not know the columns of a table. Give "
            "the scaled inputs as an array (.npy)."
        )
    x, notes = columns.encode(table, columns.from_json(record["table"]["columns"]))
    for note in notes:
        print(f"shootax: note: {note}.", file=sys.stderr)
    if getattr(estimator, "n_repeated_inputs_", 0):
        print(
            "shootax: note: the certificate is for the net only, without the effects of repeated "
            "inputs.",
            file=sys.stderr,
        )
    return estimator._x.forward(x)
