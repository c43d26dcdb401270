"""Fit a model to a table."""

import pathlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from shootax._files import check_output
from shootax.cli import tables
from shootax.sklearn import ShootingClassifier, ShootingRegressor
from shootax.sklearn import tables as columns
from shootax.sklearn.tables import Frame, Problems, Series

TASKS = ("auto", "regression", "classification")

USUAL_EPOCHS = 100


def run(
    data: pathlib.Path,
    target: str,
    out: pathlib.Path,
    *,
    task: str,
    ignore: list[str],
    categorical: list[str],
    weight: str | None,
    keep: Sequence[str] = (),
    repeated_inputs: bool = True,
    options: dict[str, Any],
) -> None:
    """Read the table, fit a model, write it, and print a summary."""
    if task not in TASKS:
        raise ValueError(f"--task must be one of {', '.join(TASKS)}, got {task!r}.")
    check_output(out, inputs=[data])
    table = tables.read(data)
    others = [] if weight is None else [weight]
    tables.needed(
        table,
        {
            f"for --target in {data}": [target],
            "to --ignore": ignore,
            "for --categorical": categorical,
            "to --keep": keep,
            "for --weight": others,
        },
    )
    _no_contradiction(target, ignore, categorical, keep, others)
    y, weights, known, x = _numbers(table, target, ignore, categorical, keep, weight)
    options = {**options, "verbose": True}
    classes = task == "classification" or (task == "auto" and not _is_numeric(y))
    estimator: Any
    if classes:
        labels = y.map(str) if not _is_numeric(y) else y
        if labels.nunique() < 2:
            raise ValueError(
                f"Column {target!r} has only one class, {labels.iloc[0]!r}; classification needs at "
                "least two."
            )
        estimator = ShootingClassifier(**options)
        y = labels
    else:
        y = pd.Series(columns.numbers_of(y), name=target)
        repeats = "auto" if repeated_inputs else None
        estimator = ShootingRegressor(**options, repeated_inputs=repeats)
    estimator.fit(x, y, sample_weight=weights)
    estimator.save(out, record={"table": {"target": target, "columns": columns.to_json(known)}})
    _report(Console(), estimator, x, y, target, known, out, task)


def _numbers(
    table: Frame,
    target: str,
    ignore: list[str],
    categorical: list[str],
    keep: Sequence[str],
    weight: str | None,
) -> tuple[Series, np.ndarray | None, list[columns.Column], np.ndarray]:
    """Return target, weights, columns and inputs. One error reports all problems of all columns."""
    problems = Problems()
    y, weights, known, x = None, None, [], np.empty((0, 0))
    with problems:
        y = _target(table[target])
    if weight is not None:
        with problems:
            weights = _weights(table[weight])
    inputs = table.drop(columns=[target, *ignore, *([] if weight is None else [weight])])
    screened = columns.screen(inputs, keep, categorical)
    if not screened.used:
        why = f": {'; '.join(screened.notes)}" if screened.notes else ""
        problems.found.append(f"The table has no columns left to predict {target!r} from{why}")
    with problems:
        known = columns.learn(inputs[screened.used], categorical, keep)
        if not problems.found:
            x, _ = columns.encode(inputs, known)
    problems.tell()
    read = [f"{column.name!r} is read as dates" for column in known if column.kind == "date"]
    if screened.notes or read:
        print(f"shootax: note: columns: {'; '.join(screened.notes + read)}.", file=sys.stderr)
    return y, weights, known, x


def _no_contradiction(
    target: str, ignore: list[str], categorical: list[str], keep: Sequence[str], weight: list[str]
) -> None:
    for name in {*categorical, *keep}:
        if name in ignore or name == target or name in weight:
            use = "--ignore" if name in ignore else "--target" if name == target else "--weight"
            raise ValueError(
                f"Column {name!r} is given to {use} and also to --keep or --categorical, which are "
                "for inputs. Give it to only one of them."
            )
    if target in ignore or target in weight:
        raise ValueError(
            f"The target {target!r} is also given to --ignore or --weight. Give it only to --target."
        )


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
            f"{target} has {y.nunique()} different whole numbers. If they are classes, use --task "
            "classification.",
            markup=False,
        )
    measure = "accuracy" if classes else "R²"
    held_out, whole = estimator.best_validation_score_, _score(estimator, x, y)
    scores = f"{measure} {whole:.3f} on all rows"
    if held_out is not None:
        share = f"{estimator.validation_fraction:.0%}"
        scores = f"{measure} {held_out:.3f} on the {share} of the rows held out, {whole:.3f} on all"
    console.print(
        f"{estimator.n_iter_} epochs, {estimator.seconds_:.1f} s, {estimator.n_parameters_} "
        f"parameters; {scores}.",
        markup=False,
        highlight=False,
    )
    if not classes and estimator.n_repeated_inputs_:
        console.print(
            f"{estimator.n_repeated_inputs_} repeated inputs have a random effect in addition to the "
            "net. For the net alone, use --no-repeated-inputs.",
            markup=False,
            highlight=False,
        )
    limit = estimator.max_iter_
    if estimator.max_iter is None and estimator.n_iter_ == limit < USUAL_EPOCHS:
        console.print(
            f"The table is large, so training ended after {limit} epochs. For more, use --epochs.",
            markup=False,
            highlight=False,
        )
    console.print(f"Written: {out}", markup=False, highlight=False, soft_wrap=True)


def _score(estimator: Any, x: np.ndarray, y: Series) -> float:
    """Accuracy, or R². R² does not depend on the scale, so large targets are scaled to avoid overflow."""
    if isinstance(estimator, ShootingClassifier):
        return estimator.score(x, y)
    from sklearn.metrics import r2_score

    largest = max(float(np.abs(y).max()), np.finfo(np.float64).tiny)
    return float(r2_score(y / largest, estimator.predict(x) / largest))


def _is_numeric(y: Series) -> bool:
    return pd.api.types.is_numeric_dtype(y) and not pd.api.types.is_bool_dtype(y)


def _target(y: Series) -> Series:
    lost = y.isna().to_numpy()
    if lost.any():
        row = int(np.flatnonzero(lost)[0])
        raise ValueError(
            f"The target {y.name!r} is missing in {int(lost.sum())} of {len(y)} rows, the first of "
            f"them row {row + 1}. Remove those rows. If it is the name of a class, such as NA or None in "
            "a CSV file, give it another one."
        )
    if pd.api.types.is_datetime64_any_dtype(y):
        raise ValueError(
            f"The target {y.name!r} holds dates. Convert it to a number, such as days since a fixed date"
        )
    if columns.is_categorical(y):
        return y
    if pd.api.types.is_integer_dtype(y):
        return y  # as classes, whole numbers must not become floats
    return pd.Series(columns.numbers_of(y), name=y.name)


def _weights(values: Series) -> np.ndarray:
    numbers = columns.numbers_of(values)
    if np.isnan(numbers).any() or (numbers < 0).any():
        raise ValueError(
            f"The weights in column {values.name!r} must be numbers of at least 0, none missing."
        )
    return numbers
