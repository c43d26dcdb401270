"""The section on the weights over depth: norms, matrices, singular values."""

from typing import Any

import jax
import numpy as np

from shootax.extend import AbstractParticleControl
from shootax.report._encode import floats
from shootax.report._subject import Part, Subject

SIDE, SMALL = 28, 14
"""The largest numbers of rows and columns that are drawn of a matrix, for a model with one net and with
several. Of larger matrices a corner is drawn."""

VALUES = 40
LARGEST = 400
"""The largest shorter side of matrices whose singular values are computed."""

FRAMES = 8
"""The number of depths at which large matrices are kept."""


def weights_section(part: Part, subject: Subject, theta: Any) -> dict[str, Any]:
    """The norms of all parts of θ and, for matrices, their entries and singular values."""
    side = SIDE if len(subject.parts) == 1 else SMALL
    parts = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(theta):
        values = np.asarray(leaf, np.float64)
        frames = len(values)
        flat = values.reshape(frames, -1)
        entry: dict[str, Any] = {
            "name": symbol(path),
            "shape": list(values.shape[1:]),
            "norm": floats(np.sqrt(np.sum(flat**2, axis=1))),
        }
        if values.ndim >= 3:
            entry |= _matrix(values.reshape(frames, values.shape[1], -1), side)
        elif values.ndim == 2:
            entry |= _matrix(values[:, :, None], side)
        parts.append(entry)
    control, particles = part.net.control, None
    if isinstance(control, AbstractParticleControl):
        particles = control.ensemble.particles
    return {"parts": parts, "particles": particles}


def _matrix(matrices: np.ndarray, side: int) -> dict[str, Any]:
    frames, rows, columns = matrices.shape
    corner = matrices[:, :side, :side]
    large = corner[0].size > 256
    kept = np.arange(frames)
    if large:
        kept = np.unique(np.round(np.linspace(0, frames - 1, min(frames, FRAMES))).astype(int))
    shown = {
        "matrix": floats(corner[kept]),
        "frames": kept.tolist(),
        "cut": rows > side or columns > side,
        "largest": float(np.nan_to_num(np.abs(corner)).max()),
    }
    if 1 < min(rows, columns) <= LARGEST and np.isfinite(matrices).all():
        values = np.linalg.svd(matrices[kept], compute_uv=False)[:, :VALUES]
        shown["singular"] = floats(values)
    return shown


SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def symbol(path: tuple[Any, ...]) -> str:
    """`theta1` as θ₁, `b2` as b₂."""
    keys = [
        str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", key)))) for key in path
    ]
    return ".".join(keys).replace("theta", "θ").translate(SUBSCRIPTS) or "θ"
