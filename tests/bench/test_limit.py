"""The count of operations, against the products in the programs themselves."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from benchmarks.speed import evaluation_flops, step_flops
from benchmarks.speed.cases import Case, start
from benchmarks.speed.rival_diffrax import UpDownNet
from shootax._systems import KernelSystem, ParticleState, TimePoint

CASE = Case("counted", dim=3, inflation=4, particles=5, batch=7, T=1.0, steps=2)


def product_flops(jaxpr) -> int:
    """Additions and multiplications of all matrix products in a program."""
    total = 0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            inner = np.prod([equation.invars[0].aval.shape[axis] for axis in contracted])
            total += 2 * int(np.prod(equation.outvars[0].aval.shape) * inner)
        for inner in jax.tree.leaves(
            list(equation.params.values()), is_leaf=lambda leaf: hasattr(leaf, "eqns")
        ):
            inner = getattr(inner, "jaxpr", inner)
            if hasattr(inner, "eqns"):
                total += product_flops(inner)
    return total


def test_dense_count_is_that_of_the_equations_as_written():
    begin = start(CASE)
    net = UpDownNet(**{name: jnp.asarray(value) for name, value in begin.parameters.items()})
    x = jnp.asarray(begin.x)
    y = (net.q, net.u, net.p, net.r, x, jnp.zeros((CASE.batch, CASE.hidden), x.dtype))
    counted = product_flops(jax.make_jaxpr(lambda y: net.field(0.0, y, None))(y).jaxpr)
    assert counted == evaluation_flops(CASE)["dense"]


def test_kernel_count_is_that_of_our_kernel_form():
    field = sx.UpDown(CASE.dim, CASE.inflation)
    control = sx.Particles.draw(field, CASE.particles, key=jax.random.key(0))
    particles = ParticleState(control.ensemble.q, control.ensemble.p)
    system = KernelSystem(field, control.penalty, particles)
    y = system.join(particles, jnp.ones((CASE.batch, field.layout.state_size)))
    counted = product_flops(
        jax.make_jaxpr(lambda y: system(TimePoint(0.0, 0.0, 0, 0), y))(y).jaxpr,
    )
    assert counted == evaluation_flops(CASE)["kernel"]


def test_a_training_step_is_three_times_its_evaluations():
    assert step_flops(CASE) == 3 * 4 * 2 * min(evaluation_flops(CASE).values())


@pytest.mark.parametrize(
    ("particles", "form"), [(2, "kernel"), (50, "dense")], ids=["few particles", "many"]
)
def test_the_cheaper_form_follows_the_particles(particles: int, form: str):
    case = Case("either", dim=1, inflation=30, particles=particles, batch=50, T=1.0, steps=1)
    flops = evaluation_flops(case)
    assert min(flops, key=lambda name: flops[name]) == form
