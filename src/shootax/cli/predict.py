"""Predictions of a saved model for a table."""

import pathlib
import sys
from typing import Any

import numpy as np

import shootax as sx
from shootax._files import check_output
from shootax.cli import tables
from shootax.sklearn import load_estimator
from shootax.sklearn import tables as columns


def run(model: pathlib.Path, data: pathlib.Path, out: pathlib.Path | None, keep: bool) -> None:
    """Write predictions to `out`, or print them as CSV."""
    if out is not None:
        check_output(out, inputs=[model, data])
        tables.check_format(out)
    estimator = load_estimator(model)
    about = sx.load_record(model).get("table")
    if about is None:
        raise ValueError(
            f"{model} was not fitted by `shootax fit`, so it does not know the columns of a table. "
            f"Use {type(estimator).__name__}.load in Python."
        )
    table = tables.read(data)
    known = columns.from_json(about["columns"])
    x, notes = columns.encode(table, known)
    for note in notes:
        print(f"shootax: note: {note}.", file=sys.stderr)
    _refuse_too_large(estimator, x, known)
    predictions = estimator.predict_frame(x)
    predictions.columns = [
        f"predicted {name}" if name in table.columns and keep else name
        for name in predictions.columns
    ]
    if keep:
        predictions = table.join(predictions.set_index(table.index))
    if out is None:
        predictions.to_csv(sys.stdout, index=False)
    else:
        tables.write(predictions, out)
        print(f"Written: {out}")


def _refuse_too_large(estimator: Any, x: np.ndarray, known: list[columns.Column]) -> None:
    """Raise an error that names the column of a too large number; the estimator knows only its index."""
    far = columns.first_too_large(estimator._x.forward(x))
    if far is not None:
        names = [column.name for column in known for _ in range(column.width)]
        raise ValueError(
            f"Column {names[far[1]]!r} has {x[far]:g} in row {far[0] + 1}, which is too far from the "
            "training data to compute with. Correct it, or leave it empty."
        )
