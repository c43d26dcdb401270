"""Select parts of a model by name, to freeze them, decay them, or scale their learning rate."""

import math
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree

from shootax._controls import AbstractParticleControl
from shootax._fields.base import entry_name
from shootax._net import Net

ALIASES = {"positions": "ensemble.q", "momenta": "ensemble.p"}
VISIBLE = {"visible-positions": "ensemble.q", "visible-momenta": "ensemble.p"}


def thaw_epochs(model: Any, freeze: Mapping[str, int | None] | None) -> PyTree:
    """For every trainable array of `model`, the first epoch in which it is trained.

    A name such as `"lift"`, `"ensemble.q"` or `"control"` stands for all arrays with it in their
    path. `"positions"` and `"momenta"` stand for those of the particles, `"visible-positions"` and
    `"visible-momenta"` only for their visible part $x$. `None` means that the part is never trained.
    """
    epochs = {
        name: math.inf if number is None else float(number)
        for name, number in (freeze or {}).items()
    }
    return _spread(model, epochs, 0.0, np.maximum, "freeze")


def lr_scale_of(model: Any, scales: Mapping[str, float] | None) -> PyTree:
    """For every trainable array of `model`, the product of its factors of the learning rate."""
    return _spread(model, scales or {}, 1.0, np.multiply, "scale the learning rate of")


def decay_of(model: Any, decay: Mapping[str, float] | None) -> PyTree:
    """For every trainable array of `model`, its weight decay in a step with learning rate 1."""
    return _spread(model, decay or {}, 0.0, np.maximum, "decay")


def _spread(model: Any, numbers: Mapping[str, float], default: float, join: Any, verb: str):
    """For every array, `default` joined with the numbers of all names that match its path."""
    arrays = eqx.filter(model, eqx.is_inexact_array)
    paths = [entry_name(path) for path, _ in jax.tree.leaves_with_path(arrays)]
    values: dict[str, Any] = dict.fromkeys(paths, default)
    for name, number in numbers.items():
        parts = {**ALIASES, **VISIBLE}.get(name, name).split(".")
        masks = _visible(model) if name in VISIBLE else None
        hits = [path for path in paths if _contains(path.split("."), parts)]
        hits = hits if masks is None else [path for path in hits if path in masks]
        if not hits:
            raise ValueError(
                f"There is nothing called {name!r} to {verb}. The trainable arrays are: "
                f"{', '.join(paths)}. Give any part of such a path, or one of "
                f"{', '.join((*ALIASES, *VISIBLE))}."
            )
        for path in hits:
            joined = join(values[path], number)
            values[path] = joined if masks is None else np.where(masks[path], joined, values[path])
    return jax.tree.map_with_path(lambda path, _: values[entry_name(path)], arrays)


def _visible(model: Any) -> dict[str, np.ndarray]:
    """Masks of the visible entries of the particles, for every net with a hidden state."""
    masks = {}
    found = jax.tree.leaves_with_path(model, is_leaf=lambda leaf: isinstance(leaf, Net))
    for path, net in found:
        if isinstance(net, Net) and isinstance(net.control, AbstractParticleControl):
            field = net.field
            if field.visible_size is not None:
                ensemble = net.control.ensemble
                mask = np.zeros((1, *ensemble.q.shape[1:]), bool)
                mask[:, : field.visible_size] = True
                prefix = ".".join(part for part in (entry_name(path), "control.ensemble") if part)
                masks |= {f"{prefix}.{name}": mask for name in ("q", "p")}
    return masks


def _contains(path: list[str], parts: list[str]) -> bool:
    return any(path[i : i + len(parts)] == parts for i in range(len(path) - len(parts) + 1))
