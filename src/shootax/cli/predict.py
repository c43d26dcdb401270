"""Predictions of a saved model for a table."""

import pathlib
import sys

import shootax as sx
from shootax.cli import tables
from shootax.estimators import ShootingClassifier, ShootingRegressor, columns, saving


def run(model: pathlib.Path, data: pathlib.Path, out: pathlib.Path | None, keep: bool) -> None:
    """Writes predictions to `out`, or prints them as CSV."""
    if out is not None:
        tables.writable(out)
    estimator = saving.load(model, ShootingRegressor, ShootingClassifier)
    about = sx.load_record(model).get("table")
    if about is None:
        raise ValueError(
            f"{model} was not fitted by `shootax fit`, so it does not know the columns of a table. "
            f"Use {type(estimator).__name__}.load in Python."
        )
    table = tables.read(data)
    x, notes = columns.encode(table, columns.from_json(about["columns"]))
    for note in notes:
        print(f"shootax: note: {note}.", file=sys.stderr)
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
