"""Every integrator shows its order on a problem that depends on time, and at times off the grid."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import usually

FIELD = sx.Affine(dim=2, activation="identity")


def turning(t):
    """$\\dot x = \\cos(t) J x$, whose flow turns by the angle $\\sin t$."""
    matrix = jnp.cos(t) * jnp.array([[0.0, -1.0], [1.0, 0.0]])
    return {"A": matrix, "b": jnp.zeros(2)}


CONTROL = sx.FunctionControl(FIELD, turning, T=2.0)
START = jnp.array([[1.0, 0.5], [-0.3, 2.0]])


def exact(t):
    angle = np.sin(t)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.asarray(START) @ turn.T


INTEGRATORS = {
    "Euler": (sx.Euler, 1),
    "Heun": (sx.Heun, 2),
    "RK4": (sx.RK4, 4),
    "ImplicitMidpoint": (sx.ImplicitMidpoint, 2),
    "SymplecticEuler": (sx.SymplecticEuler, 1),
}


@pytest.mark.parametrize("name", INTEGRATORS)
def test_order_of_convergence(name):
    kind, order = INTEGRATORS[name]
    assert kind.order == order
    errors = []
    for steps in (32, 64, 128):
        end = sx.flow(FIELD, CONTROL, START, integrator=kind(steps))
        errors.append(np.abs(np.asarray(end) - exact(2.0)).max())
    slopes = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert abs(slopes[-1] - order) < 0.2, (errors, slopes)


@pytest.mark.parametrize("kind", [sx.Dopri5, sx.Tsit5])
def test_adaptive_methods_reach_their_tolerance(kind):
    times = np.array([0.1, 0.77, 1.9])
    got = sx.flow(FIELD, CONTROL, START, times=times, integrator=kind(rtol=1e-9, atol=1e-11))
    want = np.stack([exact(t) for t in times], axis=1)
    np.testing.assert_allclose(got, want, atol=1e-7)


def test_times_between_grid_points_are_of_fourth_order():
    times = np.sort(np.random.default_rng(0).uniform(0, 2, 200))
    want = np.stack([exact(t) for t in times], axis=1)
    errors = []
    for steps in (16, 32, 64):
        got = sx.flow(FIELD, CONTROL, START, times=times, integrator=sx.RK4(steps))
        errors.append(np.abs(np.asarray(got) - want).max())
    slopes = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert slopes.mean() > 3.6, (errors, slopes)


@pytest.mark.parametrize(
    "integrator",
    usually([sx.RK4(40), sx.Heun(40), sx.Dopri5(rtol=1e-9, atol=1e-10)], sx.RK4(40)),
)
def test_blocks_of_time_are_used_exactly(integrator):
    """A control that jumps costs no order, and each step sees its own block alone."""
    control = sx.Piecewise(FIELD, blocks=4, T=2.0, key=jax.random.key(0))
    state = np.asarray(START).T
    for block in range(4):
        matrix = np.asarray(control.theta["A"][block]) * 0.5
        values, vectors = np.linalg.eig(matrix)
        state = (vectors @ np.diag(np.exp(values)) @ np.linalg.inv(vectors)).real @ state
    got = sx.flow(FIELD, control, START, integrator=integrator)
    tolerance = 1e-3 if isinstance(integrator, sx.Heun) else 1e-6
    np.testing.assert_allclose(got, state.T, atol=tolerance)


@pytest.mark.parametrize(
    "integrator",
    [sx.RK4(13), pytest.param(sx.Tsit5(rtol=1e-8, atol=1e-9), marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("reverse", [pytest.param(False, marks=pytest.mark.slow), True])
def test_times_of_its_own_for_each_row_equal_runs_one_by_one(integrator, reverse):
    field = sx.UpDown(dim=1, inflation=3, activation="tanh")
    control = sx.Particles.draw(field, 3, momentum=0.7, T=1.5, key=jax.random.key(1))
    z = jax.random.normal(jax.random.key(2), (4, 4))
    times = np.sort(np.random.default_rng(0).uniform(0, 1.5, (4, 3)), axis=1)
    times = times[:, ::-1] if reverse else times
    options = {"integrator": integrator, "reverse": reverse}
    together = sx.flow(field, control, z, times=times, **options)
    assert together.shape == (4, 3, 4)
    for row in range(4):
        alone = sx.flow(field, control, z[row : row + 1], times=times[row], **options)
        np.testing.assert_allclose(together[row], alone[0], atol=1e-6, rtol=1e-6)


def test_traced_times_give_the_same_as_known_ones():
    times = np.linspace(0, 2, 5)
    known = sx.flow(FIELD, CONTROL, START, times=times, integrator=sx.RK4(8))
    traced = jax.jit(lambda t: sx.flow(FIELD, CONTROL, START, times=t, integrator=sx.RK4(8)))(
        jnp.asarray(times)
    )
    np.testing.assert_allclose(known, traced, atol=1e-13)


@pytest.mark.parametrize("kind", [sx.Dopri5, sx.Tsit5])
def test_relative_and_absolute_tolerance(kind):
    """Large states are as exact as the relative one asks for, though the absolute one is loose."""
    want = exact(2.0)
    large = sx.flow(FIELD, CONTROL, 1e8 * START, integrator=kind(rtol=1e-9, atol=1.0))
    np.testing.assert_allclose(large, 1e8 * want, rtol=1e-6)


@pytest.mark.parametrize("rows", [False, True])
def test_jumps_are_announced_to_adaptive_methods(rows):
    """Velocities 3 and -5: a method that knows when they change needs a handful of steps, and one
    that does not has to find the place by steps that fail."""
    control = sx.Piecewise(FIELD, blocks=2, T=2.0, key=jax.random.key(0))
    theta = {"A": jnp.zeros((2, 2, 2)), "b": jnp.array([[3.0, 3.0], [-5.0, -5.0]])}
    control = eqx.tree_at(lambda c: c.theta, control, theta)
    assert control.system(FIELD, 2).jumps() == (1.0,)
    integrator = sx.Dopri5(rtol=1e-10, atol=1e-10, max_steps=16)
    times = np.full((2, 1), 2.0) if rows else np.array([2.0])
    end = sx.flow(FIELD, control, START, times=times, integrator=integrator)
    np.testing.assert_allclose(end[:, 0], START - 2, atol=1e-9)


@pytest.mark.parametrize("kind", [sx.ImplicitMidpoint, sx.SymplecticEuler])
def test_implicit_steps_that_are_not_solved_are_nan(kind):
    """Too few iterations, or steps too large for any number of them; never half a solution."""
    field = sx.UpDown(dim=1, inflation=3, activation="tanh")

    def end(momentum, iterations):
        control = sx.Particles.draw(field, 3, momentum=momentum, key=jax.random.key(1))
        integrator = kind(4, max_iterations=iterations)
        return np.asarray(sx.flow(field, control, jnp.ones((2, 4)), integrator=integrator))

    assert np.isfinite(end(0.5, 50)).all()
    assert np.isnan(end(0.5, 3)).all()
    assert np.isnan(end(30.0, 50)).all()


@pytest.mark.parametrize(
    "integrator", [sx.RK4(8), pytest.param(sx.Tsit5(), marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("reverse", [pytest.param(False, marks=pytest.mark.slow), True])
def test_wrong_times_are_nan_inside_a_program(integrator, reverse):
    """Beyond the end, before the start and out of order; the right ones and their gradient are not
    touched by them."""
    right = np.array([0.4, 1.1, 2.0])
    # At each number: the right time that stands there, or none.
    mixed, places = np.array([-0.5, 0.4, 0.2, 1.1, 2.5, np.nan, 2.0]), np.array([1, 3, 6])
    if reverse:
        right, mixed = 2 - right, 2 - mixed

    @jax.jit
    def run(times, start):
        options = {"times": times, "integrator": integrator, "reverse": reverse}
        return sx.flow(FIELD, CONTROL, start, **options)

    got = run(jnp.asarray(mixed), START)
    np.testing.assert_allclose(got[:, places], run(jnp.asarray(right), START), rtol=1e-12)
    wrong = np.setdiff1d(np.arange(len(mixed)), places)
    assert np.isnan(got[:, wrong]).all()

    def size(times, start, at):
        return jnp.sum(run(times, start)[:, at] ** 3)

    gradient = jax.grad(size, argnums=(0, 1))
    by_time, by_start = gradient(jnp.asarray(mixed), START, places)
    time_alone, start_alone = gradient(jnp.asarray(right), START, np.arange(3))
    np.testing.assert_allclose(by_start, start_alone, rtol=1e-10)
    np.testing.assert_allclose(by_time[places], time_alone, rtol=1e-10, atol=1e-12)


def test_wrong_times_of_one_row_are_its_own_matter():
    times = jnp.array([[0.5, 1.0], [0.5, 2.5]])
    got = jax.jit(lambda t: sx.flow(FIELD, CONTROL, START, times=t, integrator=sx.RK4(4)))(times)
    np.testing.assert_array_equal(np.isnan(got).all(-1), [[False, False], [False, True]])


@pytest.mark.parametrize("name", ["updown", "static"])
def test_symplectic_euler_back_is_its_inverse(name):
    """Particles and data return to rounding, though the method is only of first order."""
    field = sx.UpDown(dim=1, inflation=3, activation="tanh")
    control = sx.Particles.draw(field, 3, momentum=0.7, T=2.0, key=jax.random.key(1))
    if name == "static":
        control = sx.Static(field, T=2.0, key=jax.random.key(1))
    z = jax.random.normal(jax.random.key(2), (4, 4))
    there = sx.flow(field, control, z, integrator=sx.SymplecticEuler(40))
    back = sx.flow(field, control, there, integrator=sx.SymplecticEuler(40), reverse=True)
    assert np.abs(there - z).max() > 0.1
    np.testing.assert_allclose(back, z, atol=1e-10)
