"""Interpolation of cubic polynomials, which is exact; and how many steps are taken."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from shootax._fields.host import run
from shootax._integrators.interpolation import hermite
from shootax._systems import PathSystem, PiecewisePath

CUBIC = np.polynomial.Polynomial([0.3, -1.0, 0.7, 0.4])


def interpolated(s, h, *values):
    """With its slope in time, computed by NumPy, as compiling takes longer."""

    def both(s, *values):
        found, slope = jax.jvp(lambda s: hermite(s, h, *values), (s,), (np.ones(s.shape),))
        return found, slope / h

    return run(jax.make_jaxpr(both)(s, *values), [s, *values])


@pytest.mark.parametrize("h", [0.5, -0.25])
def test_cubics_are_exact_to_both_ends(h):
    grid = h * np.arange(4)
    slopes = CUBIC.deriv()(grid)[:, None]
    values = (CUBIC(grid)[:, None], slopes[:-1], slopes[1:])
    s = np.array([0.0, 0.3, 1.0, 1.9, 2.0, 2.75, 3.0])
    found, slope = interpolated(s, h, *values)
    np.testing.assert_allclose(found[:, 0], CUBIC(h * s), atol=1e-14)
    np.testing.assert_allclose(slope[:, 0], CUBIC.deriv()(h * s), atol=1e-13)
    # Two samples, each with times of its own.
    both = [np.concatenate([value, 2 * value], axis=1) for value in values]
    found, _ = interpolated(np.array([s, s[::-1]]), h, *both)
    np.testing.assert_allclose(found, [CUBIC(h * s), 2 * CUBIC(h * s[::-1])], atol=1e-14)


def test_checkpoints_leave_no_step_out():
    """The seventh step fills no segment of two."""
    field = sx.Affine(1)
    control = sx.formulation("static-direct", field, key=jax.random.key(0))
    ends = [
        sx.flow(field, control, np.ones((2, 1)), integrator=sx.Euler(7, gradient=gradient))
        for gradient in (sx.Direct(), sx.Checkpointed())
    ]
    np.testing.assert_allclose(*ends, atol=1e-15)
    assert not np.allclose(ends[0], 1.0)


@pytest.mark.parametrize("integrator", [sx.RK4(2), sx.ImplicitMidpoint(2)], ids=["RK4", "midpoint"])
@pytest.mark.parametrize("second", [1.0, -2.0], ids=["smooth", "jump"])
def test_slopes_are_those_of_the_step_that_a_time_lies_in(second, integrator):
    """The velocity is 1 up to t = 1/2, and from there on 1 as well or -2: a line or a corner."""
    field = sx.Affine(1)
    control = sx.Piecewise(field, 2, key=jax.random.key(0))
    theta = {"A": np.zeros((2, 1, 1)), "b": np.array([[1.0], [second]])}
    control = eqx.tree_at(lambda c: c.theta, control, theta)
    z, times = np.array([[0.4], [1.3]]), np.array([0.2, 0.5, 0.8])
    found = sx.flow(field, control, z, times=times, integrator=integrator)
    moved = np.minimum(times, 0.5) + second * np.maximum(times - 0.5, 0)
    np.testing.assert_allclose(found, z[:, None] + moved[:, None], atol=1e-14)


@pytest.mark.parametrize(("formulation", "more"), [("static-direct", 1), ("dynamic-direct", 5)])
def test_times_between_grid_points_cost_few_evaluations(formulation, more):
    """Slopes come from the stages; the last one is extra, and where θ may jump that of every step."""
    field = sx.Affine(1, activation="tanh")
    control = sx.formulation(formulation, field, key=jax.random.key(0))

    def evaluations(times):
        def moved(z):
            return sx.flow(field, control, z, times=times, integrator=sx.RK4(5))

        (call,) = jax.make_jaxpr(moved)(np.ones((2, 1))).eqns
        outside = str(call).count(" tanh ")
        (scan,) = (e for e in call.params["jaxpr"].eqns if e.primitive.name == "scan")
        return outside + 4 * str(scan).count(" tanh ")

    assert evaluations([0.1, 1.0]) == evaluations([0.2, 1.0]) + more


class Covered(eqx.Module):
    """A path that does not show its blocks."""

    path: PiecewisePath

    def __call__(self, point):
        return self.path(point)


class OneLoop(sx.Piecewise):
    """The same weights in one loop over all steps."""

    def system(self, field, batch):
        system = super().system(field, batch)
        return PathSystem(field, Covered(system.path), system.jumps())


@pytest.mark.parametrize("gradient", [sx.Direct(), sx.Checkpointed(), sx.Reversed()], ids=repr)
@pytest.mark.parametrize("reverse", [False, True], ids=["forwards", "back"])
def test_blocks_one_by_one_are_one_loop_over_all_steps(gradient, reverse):
    """Four steps in each of two blocks, for all that is asked along the way and its gradient."""
    field = sx.UpDown(1, 3)
    integrator = sx.RK4(8, gradient=gradient)
    z = np.random.default_rng(0).normal(size=(2, 4))
    times = np.array([0.1, 0.5, 0.625, 0.8])
    asked = {"end": None, "grid": np.array([0.25, 0.5, 0.875]), "between": times}

    def states(control, z, name):
        when = asked[name]
        if when is not None and reverse:
            when = when[::-1]
        return sx.flow(field, control, z, times=when, integrator=integrator, reverse=reverse)

    @eqx.filter_jit
    def values(control, z):
        def total(inputs):
            found = {name: states(*inputs, name) for name in asked}
            return sum(jnp.sin(7 * a).sum() for a in found.values()), found

        return eqx.filter_value_and_grad(total, has_aux=True)((control, z))

    key = jax.random.key(0)
    first, second = (values(kind(field, 2, key=key), z) for kind in (sx.Piecewise, OneLoop))
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    assert sx.Piecewise(field, 2, key=key).system(field, 2).pieces(8) is not None
    assert OneLoop(field, 2, key=key).system(field, 2).pieces(8) is None
