"""Which way back an adaptive solve takes: nothing is solved here."""

import diffrax
import equinox as eqx
import jax.numpy as jnp
import pytest

import shootax as sx
from cases import CONTROLS, KEY

FIELD = sx.Affine(2, activation="tanh")
WAYS = {
    sx.Direct: diffrax.DirectAdjoint,
    sx.Checkpointed: diffrax.RecursiveCheckpointAdjoint,
    sx.Reversed: diffrax.BacksolveAdjoint,
}


class Asked(Exception):
    pass


@pytest.mark.parametrize("each", [False, True], ids=["shared", "own times"])
@pytest.mark.parametrize("gradient", WAYS, ids=lambda kind: kind.__name__)
def test_the_gradient_chooses_the_adjoint(gradient, each, monkeypatch):
    """A solution that is read at any time later cannot be solved backwards, so it is checkpointed."""

    def solve(*_, adjoint, max_steps, **__):
        raise Asked(type(adjoint), max_steps)

    monkeypatch.setattr(diffrax, "diffeqsolve", solve)
    integrator = sx.Tsit5(gradient=gradient(), max_steps=7)
    control = CONTROLS["particles"](FIELD)
    times = jnp.array([[0.1, 0.5], [0.2, 1.0]]) if each else None
    with pytest.raises(Asked) as caught:
        sx.flow(FIELD, control, jnp.ones((2, 2)), times=times, integrator=integrator)
    wanted = WAYS[gradient]
    if each and gradient is sx.Reversed:
        wanted = diffrax.RecursiveCheckpointAdjoint
    assert caught.value.args == (wanted, 7)


def test_moving_scalars_are_counted():
    """Particles have momenta as well."""
    made = CONTROLS["particles"](FIELD)
    particles = made.ensemble.particles
    net = sx.Net(FIELD, made, key=KEY)
    assert net.work(10) == 2 * (10 + 2 * particles)
    free = eqx.tree_at(lambda n: n.control, net, CONTROLS["static"](FIELD))
    assert free.work(10) == 20
