"""Parts of a model that are held still, or that decay, by name."""

import math
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
from jaxtyping import PyTree

from shootax import checks

ALIASES = {"positions": "ensemble.q", "momenta": "ensemble.p"}


def thaw_epochs(model: Any, freeze: Mapping[str, int | None] | None) -> PyTree[float]:
    """For every trainable array of `model`, the epoch from which on it is trained.

    `None` means for ever.
    """
    epochs = {n: math.inf if e is None else float(e) for n, e in (freeze or {}).items()}
    return _by_name(model, epochs, "freeze")


def decay_rates(model: Any, decay: Mapping[str, float] | None) -> PyTree[float] | None:
    """For every trainable array, the fraction of itself that it loses in a step of rate one."""
    if not decay:
        return None
    rates = {name: checks.non_negative_number(rate, name) for name, rate in decay.items()}
    return _by_name(model, rates, "decay")


def _by_name(model: Any, values: Mapping[str, float], verb: str) -> PyTree[float]:
    """The largest of the values whose name fits, for every trainable array of `model`, or zero.

    A name such as `"lift"`, `"ensemble.q"` or `"control"` stands for all arrays with it in their
    path; `"positions"` and `"momenta"` stand for those of the particles.
    """
    arrays = eqx.filter(model, eqx.is_inexact_array)
    paths = [_path(path) for path, _ in jax.tree.leaves_with_path(arrays)]
    chosen = dict.fromkeys(paths, 0.0)
    for name, value in values.items():
        parts = ALIASES.get(name, name).split(".")
        hits = [path for path in paths if _contains(path.split("."), parts)]
        if not hits:
            raise ValueError(
                f"There is nothing called {name!r} to {verb}. The trainable arrays are: "
                f"{', '.join(paths)}; a name is any part of such a path, or one of "
                f"{', '.join(ALIASES)}."
            )
        for path in hits:
            chosen[path] = max(chosen[path], value)
    return jax.tree.map_with_path(lambda path, _: chosen[_path(path)], arrays)


def _path(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")


def _contains(path: list[str], parts: list[str]) -> bool:
    return any(path[i : i + len(parts)] == parts for i in range(len(path) - len(parts) + 1))
