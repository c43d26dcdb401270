"""Convolutional blocks one after the other: a residual network of shooting blocks."""

import itertools
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from shootax import checks
from shootax.flow import flow
from shootax.net import Chain, Net


class Transition(eqx.Module):
    """From one block to the next: fewer places, more channels, and a norm if asked for.

    **Arguments:** `channels`, the numbers of channels before and after; `reduce`, `"pool"` (the mean
    over squares of two), `"stride"` (every second place) or `"none"`; `groups`, of a group norm
    before it, 0 for none. Channels are mixed by a learned map that is the same in every place.
    """

    weight: Float[Array, "out channels"]
    norm: eqx.nn.GroupNorm | None
    reduce: Literal["pool", "stride", "none"] = eqx.field(static=True)

    def __init__(
        self,
        channels: tuple[int, int],
        *,
        reduce: Literal["pool", "stride", "none"] = "pool",
        groups: int = 0,
        key: PRNGKeyArray,
    ):
        before, after = (checks.positive_integer(c, "channels") for c in channels)
        self.weight = jax.random.normal(key, (after, before)) * before**-0.5
        self.norm = eqx.nn.GroupNorm(groups, before) if groups else None
        self.reduce = checks.one_of(reduce, ("pool", "stride", "none"), "reduction")  # pyright: ignore

    def __call__(self, x: Array) -> Array:
        """A batch `(rows, channels, *space)`."""
        return jax.vmap(self.one)(x)

    def one(self, x: Array) -> Array:
        """One image."""
        x = x if self.norm is None else self.norm(x)
        space = tuple(range(1, x.ndim))
        if self.reduce == "stride":
            x = x[(slice(None), *[slice(None, None, 2)] * len(space))]
        if self.reduce == "pool":
            even = x[(slice(None), *[slice(0, 2 * (n // 2)) for n in x.shape[1:]])]
            halves = [part for n in even.shape[1:] for part in (n // 2, 2)]
            pairs = even.reshape(x.shape[0], *halves)
            x = jnp.mean(pairs, axis=tuple(range(2, pairs.ndim, 2)))
        return jnp.tensordot(self.weight, x, axes=1)


class Passing(eqx.Module):
    """Blocks whose particles are passed on: they go through a transition together with the data.

    A particle moves as a row of data at its position would, so positions are lifted, moved and
    carried over exactly as data are. Each block after the first has momenta of its own, and the
    positions where the last block left them: half the parameters of fresh particles.
    """

    nets: tuple[Net, ...]
    transitions: tuple[Transition, ...]

    def __init__(self, nets: tuple[Net, ...], transitions: tuple[Transition, ...]):
        """**Arguments:** `nets` with [`shootax.Particles`][], and the `transitions` between them."""
        if len(transitions) != len(nets) - 1:
            raise ValueError(
                f"{len(nets)} blocks need {len(nets) - 1} transitions between them, got "
                f"{len(transitions)}."
            )
        # Later blocks have no positions of their own, and so no parameters for them.
        self.nets = (nets[0], *(_with_positions(net, None) for net in nets[1:]))
        self.transitions = transitions

    def __call__(self, x: Array) -> Array:
        for net, transition in zip(self.resolved(), (*self.transitions, None), strict=True):
            x = net(x)
            x = x if transition is None else transition(x)
        return x

    def resolved(self) -> tuple[Net, ...]:
        """The blocks with the positions their particles arrive at."""
        out = [self.nets[0]]
        for net, transition in zip(self.nets[1:], self.transitions, strict=True):
            last = out[-1]
            moved = jax.vmap(last.readout)(_moved(last))
            out.append(_with_positions(net, jax.vmap(net.lift)(transition(moved))))
        return tuple(out)


def _moved(net: Net) -> Array:
    """The particles' positions at the end of a block."""
    return flow(net.field, net.control, net.control.ensemble.q, integrator=net.integrator)  # pyright: ignore


def _with_positions(net: Net, q: Array | None) -> Net:
    return eqx.tree_at(lambda n: n.control.ensemble.q, net, q, is_leaf=lambda leaf: leaf is None)


class Classifier(eqx.Module):
    """Stem, blocks, mean over all places, linear map to scores. Takes `(rows, channels, *space)`."""

    stem: eqx.nn.Conv
    body: Chain | Passing
    head: eqx.nn.Linear

    def __call__(self, x: Array) -> Float[Array, "rows classes"]:
        x = self.body(jax.vmap(self.stem)(x))
        return jax.vmap(self.head)(jnp.mean(x, axis=tuple(range(2, x.ndim))))


def resnet(
    nets: tuple[Net, ...],
    *,
    inputs: int,
    classes: int,
    reduce: Literal["pool", "stride", "none"] = "pool",
    groups: int = 0,
    passing: bool = False,
    key: PRNGKeyArray,
) -> Classifier:
    """A classifier of images whose blocks are nets with convolutional fields.

    **Arguments:**

    - `nets`: the blocks. Channels may grow from one to the next.
    - `inputs`, `classes`: channels of the images, and number of classes.
    - `reduce`, `groups`: of the [`shootax.Transition`][] between blocks.
    - `passing`: whether particles are passed on from block to block; otherwise each has its own.
    - `key`: a JAX random key.
    """
    keys = jax.random.split(key, len(nets) + 1)
    channels = [net.field.dim for net in nets]  # pyright: ignore[reportAttributeAccessIssue]
    space = len(nets[0].field.state.shape) - 1
    pairs = itertools.pairwise(channels)
    between = tuple(
        Transition(pair, reduce=reduce, groups=groups, key=k)
        for pair, k in zip(pairs, keys[2:], strict=True)
    )
    if passing:
        body: Chain | Passing = Passing(nets, between)
    else:
        steps = [step for net, t in zip(nets, (*between, None), strict=True) for step in (net, t)]
        body = Chain(*(step for step in steps if step is not None))
    stem = eqx.nn.Conv(space, inputs, channels[0], kernel_size=3, padding=1, key=keys[0])
    return Classifier(stem, body, eqx.nn.Linear(channels[-1], classes, key=keys[1]))
