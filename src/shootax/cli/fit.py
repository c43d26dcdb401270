"""A model of a table."""

import pathlib
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from shootax.cli import tables
from shootax.estimators import ShootingClassifier, ShootingRegressor, columns
from shootax.estimators.columns import Series

TASKS = ("auto", "regression", "classification")


def run(
    data: pathlib.Path,
    target: str,
    out: pathlib.Path,
    *,
    task: str,
    ignore: list[str],
    categorical: list[str],
    weight: str | None,
    options: dict[str, Any],
) -> None:
    """Reads the table, fits, writes the model, and says how it went."""
    if task not in TASKS:
        raise ValueError(f"--task must be one of {', '.join(TASKS)}, got {task!r}.")
    tables.writable(out)
    table = tables.read(data)
    tables.needed(table, [target], f"for --target in {data}")
    tables.needed(table, ignore, "to --ignore")
    tables.needed(table, categorical, "for --categorical")
    y = _target(table[target])
    classes = task == "classification" or (task == "auto" and not _is_numeric(y))
    weights = None
    if weight is not None:
        tables.needed(table, [weight], "for --weight")
        weights = _weights(table[weight])
    inputs = table.drop(columns=[target, *ignore, *([] if weight is None else [weight])])
    if inputs.shape[1] == 0:
        raise ValueError(f"{data} has no columns left to predict {target!r} from.")
    known = columns.learn(inputs, categorical)
    x, _ = columns.encode(inputs, known)
    estimator: Any
    if classes:
        labels = y.map(str) if not _is_numeric(y) else y
        if labels.nunique() < 2:
            raise ValueError(
                f"Column {target!r} has one class only, {labels.iloc[0]!r}; at least two are needed "
                "to tell classes apart."
            )
        estimator = ShootingClassifier(**options)
        y = labels
    else:
        if not _is_numeric(y):
            y = pd.Series(columns.numbers_of(y), name=target)
        estimator = ShootingRegressor(**options)
    estimator.fit(x, y, sample_weight=weights)
    estimator.save(out, record={"table": {"target": target, "columns": columns.to_json(known)}})
    _report(Console(), estimator, x, y, target, known, out, task)


def _report(
    console: Console,
    estimator: Any,
    x: np.ndarray,
    y: Series,
    target: str,
    known: list[columns.Column],
    out: pathlib.Path,
    task: str,
) -> None:
    classes = isinstance(estimator, ShootingClassifier)
    kind = f"{len(estimator.classes_)} classes" if classes else "numbers"
    console.print(
        f"{target}: {kind}, from {len(known)} columns ({x.shape[1]} numbers), {len(x)} rows.",
        markup=False,
        highlight=False,
    )
    few = not classes and task == "auto" and y.nunique() <= 10 and (y == y.round()).all()
    if few:
        console.print(
            f"{target} has {y.nunique()} different whole numbers: give --task classification if they "
            "are classes.",
            markup=False,
        )
    measure = "accuracy" if classes else "R²"
    console.print(
        f"{estimator.n_iter_} epochs, {estimator.seconds_:.1f} s, {estimator.n_parameters_} "
        f"parameters; {measure} on the rows it was fitted with {estimator.score(x, y):.3f}.",
        markup=False,
        highlight=False,
    )
    console.print(f"Written: {out}", markup=False, highlight=False, soft_wrap=True)


def _is_numeric(y: Series) -> bool:
    return pd.api.types.is_numeric_dtype(y) and not pd.api.types.is_bool_dtype(y)


def _target(y: Series) -> Series:
    lost = y.isna().to_numpy()
    if lost.any():
        row = int(np.flatnonzero(lost)[0])
        raise ValueError(
            f"The target {y.name!r} is missing in {int(lost.sum())} of {len(y)} rows, the first of "
            f"them row {row + 1}. Remove those rows: there is nothing to learn from them."
        )
    if columns.is_categorical(y) or _is_numeric(y):
        return y
    return pd.Series(columns.numbers_of(y), name=y.name)


def _weights(values: Series) -> np.ndarray:
    numbers = columns.numbers_of(values)
    if np.isnan(numbers).any() or (numbers < 0).any():
        raise ValueError(
            f"The weights in column {values.name!r} must be numbers of at least 0, none missing."
        )
    return numbers
