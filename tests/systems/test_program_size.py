"""How large the programs of an inner maximisation are: a loop over the stages holds it once."""

import jax
import jax.numpy as jnp

import shootax as sx
from shootax._systems import WarmStartSystem


class Quartic(sx.AbstractPenalty):
    def __call__(self, theta):
        leaves = jax.tree.leaves(theta)
        return sum((jnp.sum(w**2) / 2 + jnp.sum(w**4) / 4 for w in leaves), jnp.zeros(()))


def example(penalty, integrator):
    field = sx.Affine(dim=1, activation="tanh")
    control = sx.Particles.draw(field, 2, penalty=penalty, key=jax.random.key(0))
    return sx.Net(field, control, integrator=integrator, key=jax.random.key(1))


def operations(function, *arguments) -> int:
    """Operations of a lowered program, counting those of every function in it once."""
    return jax.jit(function).lower(*arguments).as_text().count(" = ")


def loss(net, x):
    return jnp.sum(net(x) ** 2) + sx.penalty(net)


def test_more_stages_are_not_a_larger_program():
    x, kinds = jnp.ones((3, 1)), (sx.Euler, sx.RK4)
    one, four = (operations(jax.grad(loss), example(Quartic(), kind(2)), x) for kind in kinds)
    assert four < 1.1 * one
    # Written out stage by stage, with a second maximisation for the drift of θ*, these were 26,000.
    assert four < 9_500


def test_a_loop_over_the_stages_gives_the_same_numbers(monkeypatch):
    integrator = sx.RK4(2)
    net, x = example(Quartic(), integrator), jnp.linspace(-1, 1, 3)[:, None]

    def run(control):
        system = control.system(net.field, 3)

        def end(y):
            return system.split(y)[1]

        z = integrator.solve(system, system.join(system.start(), x), 1.0, view=end)
        return jnp.sum(z**3)

    rolled = jax.jit(jax.value_and_grad(run))(net.control)
    monkeypatch.setattr(WarmStartSystem, "rolled", False)
    written_out = jax.jit(jax.value_and_grad(lambda control: run(control)))(net.control)
    assert jax.tree.leaves(rolled)[0] != 0
    for got, expected in zip(jax.tree.leaves(rolled), jax.tree.leaves(written_out), strict=True):
        assert jnp.allclose(got, expected, rtol=1e-10, atol=1e-12)


def test_baking_measures_every_stage_of_the_loop():
    net, x = example(Quartic(), sx.RK4(2)), jnp.linspace(-1, 1, 3)[:, None]
    assert jnp.allclose(sx.bake(net)(x), net(x), rtol=1e-10)
