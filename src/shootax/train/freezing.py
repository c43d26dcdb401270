"""Parts of a model that are held still, by name."""

import math
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
from jaxtyping import PyTree

ALIASES = {"positions": "ensemble.q", "momenta": "ensemble.p"}


def thaw_epochs(model: Any, freeze: Mapping[str, int | None] | None) -> PyTree[float]:
    """For every trainable array of `model`, the epoch from which on it is trained.

    A name such as `"lift"`, `"ensemble.q"` or `"control"` stands for all arrays with it in their
    path; `"positions"` and `"momenta"` stand for those of the particles. `None` means for ever.
    """
    arrays = eqx.filter(model, eqx.is_inexact_array)
    paths = [_path(path) for path, _ in jax.tree.leaves_with_path(arrays)]
    thaw = dict.fromkeys(paths, 0.0)
    for name, epochs in (freeze or {}).items():
        parts = ALIASES.get(name, name).split(".")
        hits = [path for path in paths if _contains(path.split("."), parts)]
        if not hits:
            raise ValueError(
                f"There is nothing called {name!r} to freeze. The trainable arrays are: "
                f"{', '.join(paths)}; a name is any part of such a path, or one of "
                f"{', '.join(ALIASES)}."
            )
        for path in hits:
            thaw[path] = max(thaw[path], math.inf if epochs is None else float(epochs))
    return jax.tree.map_with_path(lambda path, _: thaw[_path(path)], arrays)


def _path(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")


def _contains(path: list[str], parts: list[str]) -> bool:
    return any(path[i : i + len(parts)] == parts for i in range(len(path) - len(parts) + 1))
