"""Nets in sequence, with separate or shared particles."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, PyTree

from shootax import _checks as checks
from shootax._controls import AbstractParticleControl
from shootax._flow import flow
from shootax._net import Net


class Chain(eqx.Module):
    """Nets, or other batch-to-batch modules, in sequence.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx

        first, second = (
            sx.Net(sx.UpDown(dim=2, inflation=3), particles=4, key=key)
            for key in jax.random.split(jax.random.key(0))
        )
        print(sx.Chain(first, second)(jnp.ones((5, 2))).shape)  # (5, 2)
        ```
    """

    nets: tuple[Callable[[Any], Any], ...]

    def __init__(self, *nets: Callable[[Any], Any]):
        """**Arguments:** the `nets`, in the order in which data pass through them."""
        if not nets:
            raise ValueError(
                "A chain needs at least one net, as in Chain(first, second); got none."
            )
        for net in nets:
            if not callable(net) or isinstance(net, type):
                raise TypeError(
                    "A chain is made of nets, or of other modules that map a batch to a batch; got "
                    f"{checks.shown(net)}. Write Chain(first, second)."
                )
        self.nets = nets

    def __call__(self, x: PyTree[Array]) -> PyTree[Array]:
        for net in self.nets:
            x = net(x)
        return x


class ParticleChain(eqx.Module):
    """Blocks that pass on their particles: transitions map particles and data to the next block.

    A particle moves as a sample at its position would, so positions are lifted, moved and
    passed on exactly like data. Each block after the first has its own momenta, and starts from the
    positions at which the previous block ends: half the parameters of new particles.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx

        nets = tuple(
            sx.Net(sx.UpDown(dim=2, inflation=3), particles=4, key=key)
            for key in jax.random.split(jax.random.key(0))
        )
        model = sx.nn.ParticleChain(nets, (lambda x: 2 * x,))
        print(model(jnp.ones((5, 2))).shape)  # (5, 2)
        ```
    """

    nets: tuple[Net, ...]
    transitions: tuple[Callable[[Array], Array], ...]

    def __init__(self, nets: tuple[Net, ...], transitions: tuple[Callable[[Array], Array], ...]):
        """**Arguments:**

        - `nets`: the blocks, all with [`shootax.Particles`][] or [`shootax.FrozenParticles`][].
        - `transitions`: functions from batch to batch, one between each pair of consecutive blocks.
        """
        example = "ParticleChain((first, second), (transition,))"
        nets = checks.sequence(nets, "nets", example)
        transitions = checks.sequence(transitions, "transitions", example)
        for transition in transitions:
            checks.function(transition, "Each of transitions", "a function from batch to batch")
        for net in nets:
            checks.instance(net, Net, "Each of nets", "ParticleChain((first, second), (f,))")
            if not isinstance(net.control, AbstractParticleControl):
                raise ValueError(
                    "The blocks of a ParticleChain need particles to pass on; got one with a "
                    f"{type(net.control).__name__} control. Use Particles, or a Chain."
                )
        if not nets:
            raise ValueError("A ParticleChain needs at least one net, got none.")
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
        """The blocks, each with the positions at which its particles start."""
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
