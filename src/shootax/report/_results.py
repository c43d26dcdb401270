"""Predicted against true values: numbers, classes, or the frames of sequences."""

from typing import Any

import jax
import numpy as np

from shootax.report._encode import floats
from shootax.report._subject import Subject

OUTPUTS = 4
NUMBERS = 30_000
"""The largest number of entries of sequences that are kept, separately for predicted and true ones."""


def results_section(subject: Subject) -> dict[str, Any]:
    """The data of the plot for this kind of targets, or the reason why there is none."""
    if subject.x is None:
        return {
            "why": "No data were given. Give inputs and targets to compare predictions with them."
        }
    if subject.times is not None:
        return _sequences(subject)
    if subject.kind is None:
        return {"why": "No targets were given, so there is nothing to compare predictions with."}
    outputs = np.asarray(subject.outputs(), np.float64)
    if subject.kind == "classes":
        return _confusion(outputs, subject)
    return _numbers(outputs, subject)


def _confusion(outputs: np.ndarray, subject: Subject) -> dict[str, Any]:
    count = max(outputs.shape[1], len(subject.classes))
    predicted, true = outputs.argmax(axis=1), subject.y
    table = np.zeros((count, count), int)
    np.add.at(table, (true, predicted), 1)
    labels = subject.classes + [str(i) for i in range(len(subject.classes), count)]
    return {
        "kind": "classes",
        "labels": labels,
        "table": table.tolist(),
        "accuracy": float(np.mean(predicted == true)),
        "samples": len(true),
    }


def _numbers(outputs: np.ndarray, subject: Subject) -> dict[str, Any]:
    predicted = np.asarray(subject.unscale(outputs), np.float64)
    true = np.asarray(subject.unscale(subject.y), np.float64)
    samples = len(true)
    predicted, true = predicted.reshape(samples, -1), true.reshape(samples, -1)
    kept = min(true.shape[1], OUTPUTS)
    error = np.mean((predicted - true) ** 2, axis=0)
    spread = np.var(true, axis=0)
    names = [f"output {i + 1}" if true.shape[1] > 1 else subject.target for i in range(kept)]
    with np.errstate(divide="ignore", invalid="ignore"):
        explained = np.where(spread > 0, 1 - error / spread, np.nan)
    return {
        "kind": "numbers",
        "names": names,
        "all": int(true.shape[1]),
        "predicted": floats(predicted.T[:kept]),
        "true": floats(true.T[:kept]),
        "error": error[:kept].tolist(),
        "explained": explained[:kept].tolist(),
        "samples": samples,
    }


def _sequences(subject: Subject) -> dict[str, Any]:
    """Frames `(sequences, times, ...)`. Vectors are unchanged, and large images are thinned out."""
    leaves = jax.tree.leaves(subject.outputs())
    predicted = np.asarray(subject.unscale(np.asarray(leaves[0], np.float64)), np.float64)
    true = None
    if subject.kind == "sequences":
        true = subject.unscale(subject.y) if subject.truth is None else subject.truth
        true = np.asarray(true, np.float64)
        true = true.reshape(predicted.shape) if true.size == predicted.size else None
    error = None if true is None else float(np.nanmean((predicted - true) ** 2))
    image = predicted.ndim >= 4
    if image:  # only the first channel is shown
        while predicted.ndim > 4:
            predicted = predicted[:, :, 0]
            true = None if true is None else true[:, :, 0]
        step = max(1, -(-max(predicted.shape[2:]) // 48))
        predicted = predicted[:, :, ::step, ::step]
        true = None if true is None else true[:, :, ::step, ::step]
    predicted = predicted if predicted.ndim > 2 else predicted[:, :, None]
    true = None if true is None else true.reshape(*predicted.shape)
    if not image:
        predicted = predicted[:, :, :6]
        true = None if true is None else true[:, :, :6]
    samples = len(predicted)
    kept = max(1, min(samples, 24, NUMBERS // max(1, int(np.prod(predicted.shape[1:])))))
    names = subject.columns if subject.estimator is not None else []
    return {
        "kind": "images" if image else "sequences",
        "times": floats(subject.times),
        "predicted": floats(predicted[:kept]),
        "true": None if true is None else floats(true[:kept]),
        "names": names,
        "error": error,
        "shown": kept,
        "sequences": samples,
    }
