"""The function or the decision regions of a net with one or two inputs, at every depth."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shootax.report._encode import floats, small_integers
from shootax.report._subject import Part, Subject

LINE, SIDE = 101, 25
OUTPUTS = {1: 4, 2: 2}
"""The largest number of outputs that are shown, by the number of inputs."""


def function_section(part: Part, subject: Subject, times: np.ndarray) -> dict[str, Any]:
    """Outputs on a grid of inputs at every depth, or the reason why there are none."""
    if len(subject.parts) > 1 or part.inputs is None or part.net is not subject.model:
        return {"why": "This picture is for a single net with its inputs."}
    raw = subject.x if subject.raw is None else subject.raw
    if not isinstance(raw, np.ndarray | jax.Array) or np.ndim(raw) != 2 or np.shape(raw)[1] > 2:
        return {"why": "This picture is for nets with one or two inputs."}
    if subject.estimator is not None and subject.kind == "sequences":
        return {"why": "This picture is for tables, not for sequences."}
    raw = np.asarray(raw, np.float64)
    low, high = raw.min(axis=0), raw.max(axis=0)
    margin = np.where(high > low, 0.15 * (high - low), 1.0)
    low, high = low - margin, high + margin
    if raw.shape[1] == 1:
        axes = [np.linspace(low[0], high[0], LINE)]
        grid = axes[0][:, None]
    else:
        axes = [np.linspace(low[i], high[i], SIDE) for i in range(2)]
        grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)  # (y, x), as in an image
    inputs = jnp.asarray(subject.scale(grid), jax.tree.leaves(part.inputs)[0].dtype)
    outputs = np.swapaxes(np.asarray(part.net(inputs, times), np.float64), 0, 1)
    if outputs.ndim != 3:
        return {"why": "This picture is for nets whose outputs are vectors."}
    return {
        "inputs": raw.shape[1],
        "names": subject.columns,
        "axes": [floats(axis) for axis in axes],
        **_shown(outputs, subject, raw.shape[1]),
        **_points(raw, subject),
    }


def _shown(outputs: np.ndarray, subject: Subject, inputs: int) -> dict[str, Any]:
    """`values[frame, output, point]`, or the class at every point."""
    frames, places, count = outputs.shape
    if subject.classes:
        if inputs == 2 and count <= 255:
            return {"classes": subject.classes, "regions": small_integers(outputs.argmax(axis=2))}
        shifted = np.exp(outputs - outputs.max(axis=2, keepdims=True))
        outputs = shifted / shifted.sum(axis=2, keepdims=True)
        names = [f"probability of {label}" for label in subject.classes]
    else:
        outputs = np.asarray(subject.unscale(outputs.reshape(frames * places, count)))
        outputs = outputs.reshape(frames, places, count)
        names = [f"output {i + 1}" if count > 1 else subject.target for i in range(count)]
    kept = min(count, OUTPUTS[inputs])
    values = np.moveaxis(outputs[:, :, :kept], 2, 1)
    return {"outputs": names[:kept], "all": count, "values": floats(values)}


def _points(raw: np.ndarray, subject: Subject) -> dict[str, Any]:
    points: dict[str, Any] = {"x": floats(raw.T)}
    if subject.kind == "classes":
        points["class"] = subject.y.tolist()
    elif subject.kind == "numbers" and np.ndim(subject.y) == 2:
        shown = np.asarray(subject.unscale(subject.y))
        points["y"] = floats(shown.T[: OUTPUTS[raw.shape[1]]])
    return {"points": points}
