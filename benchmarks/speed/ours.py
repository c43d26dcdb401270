"""A case in our own library, with public names only."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

import shootax as sx
from benchmarks.speed.cases import DATA_WEIGHT, LEARNING_RATE, W3, Case, Start


def plain_field(case: Case) -> sx.FunctionField:
    """The field of a case as a user writes it: a function, and the shapes of its weights."""
    d, h = case.dim, case.hidden

    def updown(z: Array, theta: dict[str, Array]) -> Array:
        x, s = z[:d], jax.nn.relu(z[d:])
        up = theta["theta1"] @ s + theta["b1"]
        down = theta["theta2"] @ x + theta["b2"] + theta["theta3"] @ s
        return jnp.concatenate([up, down])

    shapes = {"theta1": (d, h), "b1": (d,), "theta2": (h, d), "b2": (h,), "theta3": (h, h)}
    weights = {name: sx.shape(*shape) for name, shape in shapes.items()}
    return sx.FunctionField(updown, state=sx.shape(d + h), theta=weights)


def net(
    case: Case,
    begin: Start,
    *,
    form: Any = "auto",
    gradient: Any = None,
    field: sx.AbstractField | None = None,
) -> sx.Net:
    """The model of a case with the given start, with UpDown unless another field is given."""
    values = {name: jnp.asarray(value) for name, value in begin.parameters.items()}
    field = field or sx.UpDown(case.dim, case.inflation)
    ensemble = sx.Ensemble(
        jnp.concatenate([values["q"], values["u"]], axis=1),
        jnp.concatenate([values["p"], values["r"]], axis=1),
    )
    penalty = sx.Quadratic(theta3=W3)
    control = sx.Particles(field, ensemble, penalty=penalty, T=case.T, form=form)
    key = jax.random.key(0)
    lift = eqx.tree_at(
        lambda lift: (lift.weight, lift.bias),
        sx.nn.AffineLift(case.dim, case.hidden, key=key),
        (values["weight"], values["bias"]),
    )
    integrator = sx.RK4(case.steps, gradient or sx.Direct())
    readout = sx.nn.VisibleReadout(case.dim)
    return sx.Net(field, control, lift=lift, readout=readout, integrator=integrator, key=key)


def objective(case: Case):
    """`objective(net, x, y)`: 100 · data + penalty, with `y` as `(batch, times, dim)` for all nodes."""
    times = np.linspace(0, case.T, case.steps + 1) if case.nodes else None

    def value(net: sx.Net, x: Array, y: Array) -> Array:
        misfit = jnp.mean(jnp.sum((net(x, times) - y) ** 2, axis=-1))
        return DATA_WEIGHT * misfit + sx.penalty(net)

    return value


def targets(case: Case, begin: Start) -> np.ndarray:
    """The targets in the layout of our nets' outputs: samples first, then times."""
    return np.swapaxes(begin.y, 0, 1) if case.nodes else begin.y


class Runner:
    """Each call runs a training step on the same batch and returns the loss before the step."""

    def __init__(self, case: Case, begin: Start, model: sx.Net):
        adam = sx.Optimizer(LEARNING_RATE, schedule=sx.Constant())
        self.step = sx.TrainingStep(model, objective(case), optimizer=adam)
        self.state = self.step.init()
        self.batch = (jnp.asarray(begin.x), jnp.asarray(targets(case, begin)))

    def __call__(self) -> float:
        self.state, loss = self.step(self.state, *self.batch)
        return float(loss)

    def temporary_bytes(self) -> int:
        """The memory of a compiled step beyond its parameters and batch, from XLA's own buffer
        assignment."""
        compiled = self.step.compiled.lower(self.state, *self.batch).compile()
        analysis: Any = compiled.memory_analysis()
        return int(analysis.temp_size_in_bytes)


def runner(case: Case, begin: Start, **options: Any) -> Runner:
    """A training step of our model; `options` are passed to `net`."""
    return Runner(case, begin, net(case, begin, **options))
