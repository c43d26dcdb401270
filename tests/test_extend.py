"""Everything the library is made of can be written by a user, with public names alone.

Each class here is either the twin of one of the library's and gives the same numbers, or trains.
"""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import KEY, assert_close
from shootax import extend, kernels, maximisers, nn

pytestmark = pytest.mark.usefixtures("standard_promotion")

FIELD = sx.UpDown(2, 3, activation="tanh")
X = np.random.default_rng(0).normal(size=(6, 2))


def trained(net: Any, **options: Any) -> Any:
    """The net after two epochs, all of whose parameters have moved."""
    fitted = sx.fit(net, X, X, epochs=2, **options)
    assert np.isfinite(fitted.history["objective"]).all()
    before, after = (
        jax.tree.leaves(eqx.filter(n, eqx.is_inexact_array)) for n in (net, fitted.net)
    )
    assert all(np.any(a != b) for a, b in zip(before, after, strict=True))
    return fitted.net


def assert_twins(mine: sx.Net, theirs: sx.Net) -> None:
    """The same outputs, and the same gradient of their sum."""

    def total(net):
        return jnp.sum(net(jnp.asarray(X)) ** 2)

    assert_close(mine(X), theirs(X), rtol=1e-10, atol=1e-12)
    grads = [jax.tree.leaves(eqx.filter_grad(total)(net)) for net in (mine, theirs)]
    assert_close(grads[0], grads[1], rtol=1e-8, atol=1e-10)


class Ramp(eqx.Module):
    """A path: θ(t) from one θ to another, in the layout that the field's velocity takes."""

    first: Any
    last: Any
    T: float = eqx.field(static=True)

    def __call__(self, point: extend.TimePoint) -> Any:
        s = point.t / self.T
        return jax.tree.map(lambda a, b: (1 - s) * a + s * b, self.first, self.last)


class Linear(sx.extend.AbstractControl):
    """A control: θ moves from one value to another at constant speed."""

    first: Any
    last: Any
    penalty: sx.AbstractPenalty
    T: float = eqx.field(static=True, default=1.0)

    def system(self, field, rows):
        return extend.PathSystem(field, Ramp(self.first, self.last, self.T))

    def quadrature(self, integrator):
        times = np.array([0.0, 0.5, 1.0]) * self.T  # Simpson's rule, exact for a quadratic penalty
        return extend.Quadrature.at(times, np.array([1, 4, 1]) / 6 * self.T)

    def cost(self, field, integrator):
        middle = jax.tree.map(lambda a, b: (a + b) / 2, self.first, self.last)
        values = [self.penalty(theta) for theta in (self.first, middle, self.last)]
        return self.T / 6 * (values[0] + 4 * values[1] + values[2])


class Swirl(sx.AbstractField):
    """A field without blocks, whose θ is as it is in the system."""

    state = sx.shape(2)
    theta = {"speed": sx.shape(), "push": sx.shape(2)}  # noqa: RUF012

    def __call__(self, z, theta):
        return theta["speed"] * jnp.stack([-jnp.sin(z[1]), z[0]]) + theta["push"]


def test_a_control_and_its_path():
    ends = [{"speed": jnp.asarray(s), "push": jnp.array([s, -s])} for s in (0.5, -1.0)]
    control = Linear(*ends, sx.Quadratic())
    net = sx.Net(Swirl(), control, integrator=sx.RK4(4), key=KEY)
    function = sx.FunctionControl(
        Swirl(), lambda t: jax.tree.map(lambda a, b: (1 - t) * a + t * b, *ends)
    )
    twin = sx.Net(Swirl(), function, integrator=sx.RK4(4), key=KEY)
    assert_close(net(X), twin(X))
    assert_close(sx.penalty(net), sx.penalty(twin))
    assert_close(sx.theta_path(net, [0.0, 0.3]), sx.theta_path(twin, [0.0, 0.3]))
    trained(net)


class Followers(extend.AbstractSystem):
    """A system: particles that stand still, and data that follow θ at them."""

    field: sx.AbstractField
    q: Any
    theta_now: Any

    def jumps(self):
        return ()

    def start(self):
        return extend.ParticleState(self.q, jnp.zeros_like(self.q))

    def join(self, particles, z):
        return extend.State(jnp.concatenate([particles.q, z]), particles.p)

    def split(self, y):
        count = self.q.shape[0]
        return extend.ParticleState(y.z[:count], y.p), y.z[count:]

    def __call__(self, point, y):
        moved = jax.vmap(self.field, in_axes=(0, None))(y.z, self.theta_now)
        return extend.State(moved, jnp.zeros_like(y.p))

    def packed_theta(self, point, y):
        return self.theta_now


class Following(sx.extend.AbstractControl):
    q: Any
    theta: Any
    penalty: sx.AbstractPenalty
    T: float = eqx.field(static=True, default=1.0)

    def system(self, field, rows):
        return Followers(field, self.q, self.theta)

    def quadrature(self, integrator):
        return extend.Quadrature.at(np.array([0.0]), np.array([self.T]))

    def cost(self, field, integrator):
        return self.T * self.penalty(self.theta)


def test_a_system_with_particles():
    static = sx.Static(Swirl(), key=KEY)
    control = Following(jnp.ones((3, 2)), static.theta, static.penalty)
    net, twin = (sx.Net(Swirl(), c, integrator=sx.RK4(2), key=KEY) for c in (control, static))
    assert_close(net(X), twin(X))
    assert_close(net(X, [0.25, 1.0]), twin(X, [0.25, 1.0]))
    assert_close(sx.penalty(net), sx.penalty(twin))


class EveryStep(extend.AbstractGradient):
    """A gradient mode: keep the start of every step."""

    def run(self, body, undo, system, y, steps):
        return jax.lax.scan(jax.checkpoint(lambda y, k: body(system, y, k)), y, jnp.arange(steps))


def test_a_gradient_mode():
    mine, theirs = (
        sx.Net(FIELD, particles=2, integrator=sx.RK4(3, gradient=mode), key=KEY)
        for mode in (EveryStep(), sx.Direct())
    )
    assert_twins(mine, theirs)


class MyHeun(extend.AbstractFixedStep):
    """An integrator: Heun's method once more."""

    order: ClassVar[int] = 2
    fractions: ClassVar[tuple[float, ...]] = (0.0, 1.0)
    weights: ClassVar[tuple[float, ...]] = (0.5, 0.5)
    steps: int = eqx.field(static=True, default=10)
    gradient: extend.AbstractGradient = sx.Direct()

    def stages(self, system, step, y):
        begin, end = step.point(0.0, 0), step.point(1.0, 1)
        first = system(begin, y)
        there = jax.tree.map(lambda a, b: a + step.h * b, y, first)
        second = system(end, there)
        new = jax.tree.map(lambda a, b, c: a + step.h / 2 * (b + c), y, first, second)
        return new, [(begin, y), (end, there)]


def test_an_integrator():
    mine, theirs = (
        sx.Net(FIELD, particles=2, integrator=kind(steps=3), key=KEY) for kind in (MyHeun, sx.Heun)
    )
    assert_twins(mine, theirs)
    assert_close(sx.bake(mine)(X), theirs(X))
    assert_close(mine(X, [0.1, 0.9]), theirs(X, [0.1, 0.9]))


class MyLift(nn.AbstractLift):
    weight: Any

    def __call__(self, x):
        return jnp.concatenate([x, self.weight @ x])


class MyReadout(nn.AbstractReadout):
    scale: Any

    def __call__(self, z):
        return self.scale * z[:2]


class Halving(sx.extend.AbstractPosition):
    """A position: on a line, each particle half as far out as the last."""

    def __call__(self, field, particles, key):
        return jax.tree.map(
            lambda leaf: jnp.ones((particles, *leaf.shape)) * 0.5 ** jnp.arange(particles)[:, None],
            field.state,
        )


def test_a_lift_a_readout_and_a_position():
    control = sx.Particles.draw(FIELD, 3, position=Halving(), key=KEY)
    np.testing.assert_array_equal(control.ensemble.q[:, 0], [1.0, 0.5, 0.25])
    lift, readout = MyLift(jnp.ones((6, 2))), MyReadout(jnp.ones(2))
    net = sx.Net(FIELD, control, lift=lift, readout=readout, integrator=sx.Euler(2), key=KEY)
    trained(net)


def test_a_lift_of_other_inputs():
    net = sx.Net(FIELD, particles=2, lift=lambda x: jnp.tile(x, 8), integrator=sx.Euler(1), key=KEY)
    assert net(np.ones((4, 1))).shape == (4, 2)


class MyGaussian(kernels.AbstractKernel):
    def __call__(self, x, y):
        return jnp.exp(-jnp.sum((x - y) ** 2) / 2)


def test_a_kernel():
    mine, theirs = (
        sx.Net(sx.RKHS(2, kernel=kernel), particles=3, integrator=sx.RK4(2), key=KEY)
        for kernel in (MyGaussian(), kernels.GaussianKernel(1.0))
    )
    assert_close(mine(X), theirs(X))
    trained(mine)


class MyQuadratic(sx.AbstractPenalty):
    """A penalty: the quadratic one, not known as such."""

    def __call__(self, theta):
        return sum(jnp.sum(w**2) for w in jax.tree.leaves(theta)) / 2


def test_a_penalty():
    control = sx.Particles.draw(Swirl(), 3, penalty=MyQuadratic(), key=KEY)
    net = sx.Net(Swirl(), control, integrator=sx.Euler(2), key=KEY)
    twin = sx.Net(Swirl(), particles=3, integrator=sx.Euler(2), key=KEY)
    twin = eqx.tree_at(lambda n: n.control.ensemble, twin, control.ensemble)
    assert_close(net(X), twin(X), rtol=1e-6, atol=1e-8)


class Completing(maximisers.AbstractMaximiser):
    """A maximiser: one step of Newton's method, exact where H is quadratic in θ."""

    @property
    def conserves(self):
        return True

    def __call__(self, field, penalty, q, p, guess):
        zero = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape), field.theta)
        origin, rebuild = jax.flatten_util.ravel_pytree(zero)

        def H(flat):
            theta = rebuild(flat)
            return jnp.sum(p * jax.vmap(field, (0, None))(q, theta)) - penalty(theta)

        slope, curvature = jax.grad(H)(origin), jax.hessian(H)(origin)
        theta = rebuild(-jnp.linalg.solve(curvature, slope))
        return maximisers.Maximum(theta, jnp.array(True), jnp.array(0.0), jnp.array(1))


@pytest.mark.slow
def test_a_maximiser():
    drawn = sx.Ensemble.draw(Swirl(), 3, momentum=0.5, key=KEY)
    mine, theirs = (
        sx.Net(
            Swirl(),
            sx.Particles(Swirl(), drawn, maximiser=maximiser),
            integrator=sx.Euler(2),
            key=KEY,
        )
        for maximiser in (Completing(), maximisers.ClosedForm())
    )
    assert_twins(mine, theirs)
    assert_close(sx.penalty(mine), sx.penalty(theirs))


class Unchanging(sx.extend.AbstractSchedule):
    """A schedule: none."""

    def init(self):
        return None

    def factor(self, state, progress):
        return jnp.ones_like(progress)

    def observe(self, state, loss):
        return None


def test_a_schedule_and_a_checkpoint(tmp_path):
    net = sx.Net(Swirl(), particles=2, integrator=sx.Euler(2), key=KEY)
    mine = trained(net, optimizer=sx.Optimizer(schedule=Unchanging()))
    assert_close(mine(X), trained(net, optimizer=sx.Optimizer(schedule=sx.Constant()))(X))
    checkpoint = extend.Checkpoint(tmp_path / "training", every=0.0)
    again = [
        trained(net, optimizer=sx.Optimizer(schedule=Unchanging()), checkpoint=checkpoint)
        for _ in range(2)
    ]
    assert_close(again[0](X), mine(X))
    assert_close(again[1](X), mine(X))
