"""Files of estimators: the net as in any model file, and everything else as JSON in its record."""

import json
import os
from typing import Any

import numpy as np

import shootax as sx
from shootax import FileFormatError
from shootax.sklearn import _model as model

FORMAT = 1


def save(path: str | os.PathLike, estimator: Any, record: dict[str, Any]) -> None:
    """Write a fitted estimator and the caller's record to a file."""
    parameters = estimator.get_params()
    if not isinstance(parameters["random_state"], int | None):
        parameters["random_state"] = None  # a generator cannot be stored, and is no longer needed
    parameters["mesh"] = None  # another machine has other devices
    about = {
        "kind": type(estimator).__name__,
        "format": FORMAT,
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "shape": estimator.shape_._asdict(),
        "state": estimator._state(),
        "training": {
            "loss": estimator.loss_,
            "loss_curve": estimator.loss_curve_,
            "validation_curve": estimator.validation_curve_,
            "seconds": estimator.seconds_,
            "best_validation_score": estimator.best_validation_score_,
            "penalty_weight": estimator.penalty_weight_,
            "max_iter": estimator.max_iter_,
        },
        "columns": {
            "count": estimator.n_features_in_,
            "names": [str(name) for name in getattr(estimator, "feature_names_in_", [])],
        },
    }
    if estimator._table is not None:
        record = {"table": estimator._table, **record}
    sx.save(path, estimator.net_, record={**record, "estimator": about})


def load(path: str | os.PathLike, *kinds: type) -> Any:
    """Read an estimator of one of the given kinds."""
    record = sx.load_record(path)
    about = record.get("estimator")
    version = record["version"]
    if not isinstance(about, dict):
        raise FileFormatError(
            f"{path} holds a net, but no estimator. Read it with shootax.load, or fit an estimator."
        )
    known = {kind.__name__: kind for kind in kinds}
    if about.get("format") != FORMAT:
        raise FileFormatError(
            f"{path} was written by shootax {version} with estimator format {about.get('format')}; "
            f"this is shootax {sx.__version__}, which reads format {FORMAT}. Fit the estimator again."
        )
    name = str(about.get("kind"))
    if name not in known:
        raise FileFormatError(
            f"{path} holds a {name}, expected {' or '.join(known)}. Read it with {name}.load."
        )
    net = sx.load(path)
    if _mark(sx.load_record(path)) != _mark(record):
        raise FileFormatError(f"{path} was replaced while it was read. Read it again.")
    try:
        estimator = _rebuilt(known[name], about, net)
        estimator._table = record.get("table")
        return estimator
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise FileFormatError(
            f"{path}, written by shootax {version}, cannot be read by this version, {sx.__version__} "
            f"({error}). Fit the estimator again."
        ) from error


def _mark(record: dict[str, Any]) -> str:
    """A value that identifies the contents of a file. The first file format has no checksum."""
    return record["checksum"] or json.dumps(record, sort_keys=True)


def _rebuilt(kind: type, about: dict[str, Any], net: sx.Net) -> Any:
    estimator = kind(**about["parameters"])
    estimator.shape_ = model.Shape(**about["shape"])
    estimator.net_ = net
    training = about["training"]
    estimator.loss_ = training["loss"]
    estimator.loss_curve_ = training["loss_curve"]
    estimator.validation_curve_ = training["validation_curve"]
    estimator.seconds_ = training["seconds"]
    estimator.best_validation_score_ = training.get("best_validation_score")
    estimator.n_iter_ = len(training["loss_curve"])
    # Older files have these only as parameters.
    estimator.penalty_weight_ = training.get("penalty_weight", estimator.penalty_weight)
    estimator.max_iter_ = training.get("max_iter", estimator.max_iter)
    estimator.n_features_in_ = about["columns"]["count"]
    if about["columns"]["names"]:
        estimator.feature_names_in_ = np.array(about["columns"]["names"], dtype=object)
    estimator._restore(about["state"])
    return estimator


def _plain(value: Any) -> Any:
    """Convert a NumPy number to a Python one."""
    return value.item() if isinstance(value, np.generic) else value


def labels_to_json(labels: np.ndarray) -> dict[str, Any]:
    """Class labels with their type."""
    values = [_plain(value) for value in labels]
    strange = [v for v in values if not isinstance(v, bool | int | float | str)]
    if strange:
        raise FileFormatError(
            f"Class labels of type {type(strange[0]).__name__} cannot be stored in a file. Use text or "
            "numbers as labels."
        )
    return {"values": values, "dtype": labels.dtype.str if labels.dtype.kind != "O" else "object"}


def labels_from_json(tree: dict[str, Any]) -> np.ndarray:
    dtype, longest = np.dtype(tree["dtype"]), max(len(str(value)) for value in tree["values"])
    if dtype.kind == "U":
        # The array in `fit` may have had room for longer text than the classes that occur in it.
        return np.array(list(map(str, tree["values"])))
    if dtype.itemsize > 4 * max(longest, 4):
        raise FileFormatError(f"Class labels of dtype {dtype} are longer than their values.")
    return np.array(tree["values"], dtype=dtype)
