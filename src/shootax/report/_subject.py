"""The subject of a report: a model, the nets inside it, and their data."""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import shootax as sx
from shootax import Net
from shootax._checks import is_concrete
from shootax.nn import ParticleChain

SHOWN = 200
"""The largest number of samples in the plots."""


def _same(values: Any) -> Any:
    return values


@dataclasses.dataclass(frozen=True)
class Part:
    """One net of a model, its inputs if known, and a function that replaces the net in the model."""

    name: str
    net: Net
    inputs: Any
    replaced: Callable[[Net], Any]


@dataclasses.dataclass
class Subject:
    """A model with data, in the units of its nets.

    `kind` is the kind of the targets: `"numbers"`, `"classes"`, `"sequences"` or `None`. `scale` and
    `unscale` convert from and to the units of the data of an estimator. `raw` are the unscaled inputs,
    and `truth` the unscaled targets, if `unscale` does not return them.
    """

    model: Any
    parts: list[Part]
    x: Any
    y: Any
    kind: str | None
    times: np.ndarray | None
    notes: list[str]
    columns: list[str]
    target: str = "target"
    classes: list[str] = dataclasses.field(default_factory=list)
    raw: Any = None
    scale: Callable[[Any], Any] = _same
    unscale: Callable[[Any], Any] = _same
    truth: Any = None
    estimator: Any = None

    def outputs(self, model: Any = None) -> Any:
        """The outputs for the samples in the plots, at the times of the targets, if there are any."""
        model = self.model if model is None else model
        return model(self.x) if self.times is None else model(self.x, self.times)


class _Recorder(eqx.Module):
    """A net that records the inputs of its calls, in order."""

    net: Net
    number: int = eqx.field(static=True)
    calls: list = eqx.field(static=True)

    def __call__(self, x: Any, times: Any = None) -> Any:
        self.calls.append((self.number, x))
        return self.net(x, times)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.net, name)


def unchained(model: Any) -> Any:
    """The model, with every chain that passes particles on replaced by a plain chain of nets."""

    def one(leaf: Any) -> Any:
        if not isinstance(leaf, ParticleChain):
            return leaf
        steps: list[Any] = []
        for net, transition in zip(leaf.resolved(), (*leaf.transitions, None), strict=True):
            steps += [net] if transition is None else [net, transition]
        return sx.Chain(*steps)

    return jax.tree.map(one, model, is_leaf=lambda leaf: isinstance(leaf, ParticleChain))


def _is_net(leaf: Any) -> bool:
    return isinstance(leaf, Net)


def parts_of(model: Any, x: Any, times: Any, notes: list[str]) -> list[Part]:
    """The nets inside a model, each with its inputs."""
    leaves, tree = jax.tree.flatten(model, is_leaf=_is_net)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Net)]
    if not places:
        raise ValueError(
            f"{type(model).__name__} contains no net to report on. Give a Net, a model that contains "
            "one, or a fitted estimator."
        )
    if isinstance(model, Net):
        return [Part("net", model, x, lambda net: net)]
    inputs = {} if x is None else _recorded(leaves, tree, places, x, times, notes)

    def replaced(place: int) -> Callable[[Net], Any]:
        return lambda net: tree.unflatten([net if i == place else w for i, w in enumerate(leaves)])

    return [
        Part(f"net {n + 1} of {len(places)}", leaves[place], inputs.get(n), replaced(place))
        for n, place in enumerate(places)
    ]


def _recorded(
    leaves: list, tree: Any, places: list[int], x: Any, times: Any, notes: list[str]
) -> dict[int, Any]:
    calls: list[tuple[int, Any]] = []
    watched = list(leaves)
    for number, place in enumerate(places):
        watched[place] = _Recorder(leaves[place], number, calls)
    model = tree.unflatten(watched)
    model(x) if times is None else model(x, times)
    found: dict[int, Any] = {}
    for number, value in calls:
        if all(is_concrete(leaf) for leaf in jax.tree.leaves(value)):
            found.setdefault(number, value)
    if len(found) < len(places):
        notes.append(
            "The inputs of some nets are unknown, because the model compiles the calls of its nets. "
            "These nets are shown without data."
        )
    return found


def precision(model: Any) -> Any:
    """The dtype of a model's parameters."""
    return jnp.result_type(*(jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)) or [float]))


def samples_of(x: Any) -> int:
    return int(np.shape(jax.tree.leaves(x)[0])[0])


def taken(tree: Any, chosen: np.ndarray) -> Any:
    """The chosen samples of every array of a tree."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[chosen], tree)


def chosen_samples(samples: int, most: int = SHOWN) -> np.ndarray:
    """The indices of all samples or, if there are more than `most`, of a fixed random draw."""
    if samples <= most:
        return np.arange(samples)
    return np.sort(np.random.default_rng(0).choice(samples, most, replace=False))


def invented_inputs(net: Net) -> Any:
    """Random inputs for a net, if its lift determines their shape, and otherwise `None`."""
    lift, field = net.lift, net.field
    if not isinstance(lift, sx.nn.AbstractLift):
        return None
    shape: Any = lift.input_shape(field)
    rng, dtype = np.random.default_rng(0), precision(net)
    return jax.tree.map(
        lambda leaf: jnp.asarray(rng.uniform(-1.5, 1.5, (100, *leaf.shape)), dtype), shape
    )
