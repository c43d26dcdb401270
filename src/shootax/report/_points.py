"""Trajectories of data and particles over depth, in coordinates that can be plotted."""

from typing import Any

import jax
import numpy as np

from shootax.report._encode import floats
from shootax.report._paths import particles_at
from shootax.report._subject import Part, Subject

COORDINATES, COMPONENTS = (8, 4), (3, 2)
"""The largest number of coordinates to choose from, for a model with one net and with several."""

PARTICLES = 60
"""The largest number of particles that are drawn."""

LARGEST = 1024
"""The largest dimension of states for which principal components are computed."""


def flow_section(part: Part, subject: Subject, times: np.ndarray) -> dict[str, Any]:
    """Positions at every depth, by axis, and colours; `data[frame, sample]`, `q[frame, particle]`."""
    data = None
    if part.inputs is not None:
        states = part.net.states(part.inputs, times)
        moved = jax.tree.map(lambda leaf: np.swapaxes(np.asarray(leaf, np.float64), 0, 1), states)
        data = _vectors(part, moved)
    path = particles_at(part.net, times)
    q, p = (None, None) if path is None else (_vectors(part, each) for each in path)
    several = len(subject.parts) > 1
    if data is None and q is None:
        return {"axes": [], "colours": [], "particles": 0, "samples": 0, "chosen": None}
    every = data if data is not None else q
    assert every is not None
    names = _names(part)
    kept = _kept(every, names, _visible(part), COORDINATES[several])
    count = every.shape[-1]
    notes = []
    if q is not None and p is not None and q.shape[1] > PARTICLES:
        notes.append(f"The first {PARTICLES} of {q.shape[1]} particles are drawn.")
        q, p = q[:, :PARTICLES], p[:, :PARTICLES]
    axes = [_axis(names[i], lambda z, i=i: z[..., i], data, q, p) for i in kept]
    if every.shape[-1] > 2 and every.shape[-1] <= LARGEST:
        centre, components, share = _principal(every, COMPONENTS[several])
        for i, (direction, part_of) in enumerate(zip(components, share, strict=True)):
            name = f"principal component {i + 1} ({part_of:.0%} of the variance)"

            def along(z: np.ndarray, d: np.ndarray = direction) -> np.ndarray:
                return (z - centre) @ d

            axes.append(_axis(name, along, data, q, p, lambda z, d=direction: z @ d))
    if len(kept) < count:
        notes.append(f"You can choose among {len(kept)} of {count} coordinates, which vary most.")
    if part.net.field.free_axes:
        notes.append("The states are images. Each coordinate is the mean of one channel.")
    return {
        "axes": axes,
        "colours": _colours(part, subject),
        "particles": 0 if q is None else int(q.shape[1]),
        "samples": 0 if data is None else int(data.shape[1]),
        "note": " ".join(notes),
    }


def _vectors(part: Part, tree: Any) -> np.ndarray:
    """States as vectors, `(frames, samples, coordinates)`. Images become the means of their channels."""
    leaves = [np.asarray(leaf, np.float64) for leaf in jax.tree.leaves(tree)]
    if part.net.field.free_axes:
        leaves = [leaf.mean(axis=tuple(range(3, leaf.ndim))) for leaf in leaves]
    return np.concatenate([leaf.reshape(*leaf.shape[:2], -1) for leaf in leaves], axis=-1)


def _visible(part: Part) -> int:
    return part.net.field.visible_size or 0


def _names(part: Part) -> list[str]:
    field = part.net.field
    if field.visible_size is not None:
        shown, rest = ("channel ", "hidden channel ") if field.free_axes else ("x", "v")
        visible = [f"{shown}{i + 1}" for i in range(field.visible_size)]
        return visible + [f"{rest}{i + 1}" for i in range(field.hidden_size)]
    names = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(field.state):
        start = ".".join(str(getattr(key, "key", getattr(key, "idx", key))) for key in path) or "z"
        size = int(np.prod(leaf.shape))
        names += [start] if not leaf.shape else [f"{start}{i + 1}" for i in range(size)]
    return names


def _kept(states: np.ndarray, names: list[str], visible: int, most: int) -> list[int]:
    """The indices of the coordinates to keep: the visible ones first, then those that vary most."""
    if len(names) <= most:
        return list(range(len(names)))
    first = list(range(min(visible, most - 2)))
    spread = np.nan_to_num(np.var(states.reshape(-1, states.shape[-1]), axis=0))
    rest = [int(i) for i in np.argsort(-spread, kind="stable") if i not in first]
    return first + rest[: most - len(first)]


def _axis(name: str, along: Any, data: Any, q: Any, p: Any, turned: Any = None) -> dict[str, Any]:
    def packed(values: Any, how: Any) -> Any:
        return None if values is None else floats(how(values))

    return {
        "name": name,
        "data": packed(data, along),
        "q": packed(q, along),
        "p": packed(p, turned or along),
    }


def _principal(states: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The centre, the principal directions and their shares of the variance, over samples and depths."""
    flat = states.reshape(-1, states.shape[-1])
    flat = flat[np.isfinite(flat).all(axis=1)]
    if len(flat) < 2:
        empty = np.zeros((0, states.shape[-1]))
        return np.zeros(states.shape[-1]), empty, np.zeros(0)
    centre = flat.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(flat.T))
    order = np.argsort(values)[::-1][:most]
    directions = vectors[:, order].T
    strongest = np.abs(directions).argmax(axis=1)
    signs = np.sign(directions[np.arange(len(directions)), strongest])  # the same on every machine
    total = max(values.sum(), np.finfo(float).tiny)
    return centre, directions * signs[:, None], np.maximum(values[order], 0) / total


def _colours(part: Part, subject: Subject) -> list[dict[str, Any]]:
    """The quantities that can colour the points: the target, then inputs."""
    found: list[dict[str, Any]] = []
    if part.inputs is None:
        return found
    if subject.kind == "classes":
        labels = subject.classes
        found.append({"name": subject.target, "labels": labels, "values": subject.y.tolist()})
    elif subject.kind == "numbers" and np.ndim(subject.y) == 2:
        shown = np.asarray(subject.unscale(subject.y))
        for i in range(min(shown.shape[1], 3)):
            end = f" {i + 1}" if shown.shape[1] > 1 else ""
            found.append({"name": subject.target + end, "values": floats(shown[:, i])})
    raw = subject.raw if len(subject.parts) == 1 else None
    if raw is None or np.ndim(raw) != 2 or len(subject.columns) != np.shape(raw)[1]:
        first = np.asarray(jax.tree.leaves(part.inputs)[0], np.float64)
        values = first.reshape(len(first), -1)[:, 0]
        return [*found, {"name": "first input", "values": floats(values)}]
    for i, name in enumerate(subject.columns[:6]):
        found.append({"name": name, "values": floats(np.asarray(raw)[:, i])})
    return found
