"""Turn a model that generates its weights into a plain network that stores them.

Data never act on particles, so the weights at every stage of the integrator can be computed once.
The result is a residual network, without particles, that gives the same output.
"""

import functools
from collections.abc import Callable
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from shootax import _checks as checks
from shootax._arrays import as_arrays
from shootax._chain import Chain, ParticleChain
from shootax._compile import one_off
from shootax._controls import BAKED, Particles, Stagewise, StagewiseParticles
from shootax._disk_cache import keeping_programs
from shootax._flow import along
from shootax._integrators import AbstractFixedStep, AbstractIntegrator
from shootax._maximisers import ClosedForm
from shootax._net import Net
from shootax._penalties import Quadratic
from shootax._systems import AbstractSystem, State, TimePoint, carried_pays
from shootax._trajectory import evaluate_at_stages

Measure = Callable[[AbstractSystem, TimePoint, State], PyTree[Array]]


@keeping_programs
def bake(
    model: Any,
    *,
    integrator: AbstractFixedStep | None = None,
    form: Literal["dense", "kernel", "auto"] = "dense",
) -> Any:
    """Compute the weights θ(t) once, and return the same model without particles.

    **Arguments:**

    - `model`: a [`shootax.Net`][], or any pytree that contains one, such as a chain.
    - `integrator`: another fixed-step integrator for the plain network, e.g. one with fewer steps.
        The particles keep their own integrator, so θ(t) stays the same and only the steps of the
        data change. [`shootax.bake_report`][] shows the error that this causes.
    - `form`: `"dense"` stores the weights. `"kernel"` stores the path of the particles instead and
        moves the data by kernels, which needs a field made of blocks and a quadratic penalty.
        `"auto"` chooses the one that predicts faster, separately for each net: `"kernel"` if there
        are few particles for the size of the state. [`shootax.predict`][] uses `"auto"`.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        plain = sx.bake(net)
        print(plain.control.theta["theta1"].shape)  # (10, 4, 1, 4): steps, stages, matrix
        ```
    """

    checks.one_of(form, ("dense", "kernel", "auto"), "form")
    if integrator is not None:
        _check_fixed(integrator)
    if not any(_is_whole(leaf) for leaf in jax.tree.leaves(model, is_leaf=_is_whole)):
        raise ValueError(
            f"There is no net to bake in {type(model).__name__}. Give a Net, or a pytree that "
            "contains one. For a fitted estimator, bake(estimator.net_) gives the net alone, which takes "
            "scaled columns; shootax.export.write(estimator, path, to=...) writes the whole estimator."
        )

    def one(leaf: Any) -> Any:
        if isinstance(leaf, ParticleChain):
            return _unpassed(leaf, integrator, form)
        return _bake(leaf, integrator or leaf.integrator, form) if isinstance(leaf, Net) else leaf

    return jax.tree.map(one, model, is_leaf=_is_whole)


def baked(model: Any) -> Any:
    """Bake every net of a model that is not baked yet; see [`shootax.bake`][].

    **Arguments:** `model`: a net, or any pytree that contains one.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        plain = sx.extend.baked(sx.extend.baked(net))  # the second call changes nothing
        ```
    """

    def one(leaf: Any) -> Any:
        done = isinstance(leaf, Net) and isinstance(leaf.control, BAKED)
        return leaf if done else bake(leaf) if _is_whole(leaf) else leaf

    return jax.tree.map(one, model, is_leaf=_is_whole)


def _is_whole(leaf: Any) -> bool:
    return isinstance(leaf, Net | ParticleChain)


def _unpassed(model: ParticleChain, integrator: AbstractFixedStep | None, form: str) -> Chain:
    """Bake blocks that pass on their particles, to a chain of blocks without particles."""
    parts = []
    for net, transition in zip(model.resolved(), (*model.transitions, None), strict=True):
        parts.append(_bake(net, integrator or net.integrator, form))
        parts += [] if transition is None else [transition]
    return Chain(*parts)


def _bake(net: Net, integrator: AbstractIntegrator, form: str) -> Net:
    integrator = _check_fixed(integrator)
    if isinstance(net.control, BAKED):
        raise ValueError(
            "The model is baked already, for its own integrator only. Bake the original."
        )
    own = isinstance(net.integrator, type(integrator)) and _steps(net) == integrator.steps
    along_steps = own or not isinstance(net.control, Particles)
    at = _at_stages if along_steps else _on_the_path
    rest = {
        "fractions": integrator.fractions,
        "quadrature_weights": integrator.weights,
        "T": net.control.T,
    }
    if form != "dense" and _kept_as_particles(net, form):
        penalty: Any = net.control.penalty
        q, p = at(net, integrator, _particles)
        control: Any = StagewiseParticles(q, p, penalty, **rest)
    else:
        control = Stagewise(at(net, integrator, _theta), net.control.penalty, **rest)
    return eqx.tree_at(lambda n: (n.control, n.integrator), net, (control, integrator))


def _kept_as_particles(net: Net, form: str) -> bool:
    """Whether to bake a net by storing the path of its particles."""
    control, blocks = net.control, net.field.as_blocks()
    if (
        isinstance(control, Particles)
        and isinstance(control.maximiser, ClosedForm)
        and isinstance(control.penalty, Quadratic)
        and blocks is not None
    ):
        return form == "kernel" or carried_pays(blocks, control.ensemble.particles)
    if form == "auto":
        return False
    raise ValueError(
        "form='kernel' needs dynamic particles, a field made of blocks and a quadratic penalty; got "
        f"{type(control).__name__} with {type(net.field).__name__}. Use form='auto' or 'dense'."
    )


def _check_fixed(integrator: Any) -> AbstractFixedStep:
    example = "bake(net, integrator=RK4(steps=20))"
    checks.instance(integrator, AbstractIntegrator, "integrator", example)
    if not isinstance(integrator, AbstractFixedStep):
        raise ValueError(
            f"{type(integrator).__name__} has no fixed stages to bake. Give a fixed-step integrator, "
            f"as in {example}."
        )
    return integrator


def _steps(net: Net) -> int:
    assert isinstance(net.integrator, AbstractFixedStep)
    return net.integrator.steps


@one_off
def _at_stages(net: Net, integrator: AbstractFixedStep, measure: Measure) -> PyTree[Array]:
    """Evaluate a quantity at the stages of the net's own steps, from the particles at those stages."""
    system = net.control.system(net.field, 0)
    report = functools.partial(measure, system)
    return evaluate_at_stages(system, net.control.T, integrator, report)


def _on_the_path(net: Net, integrator: AbstractFixedStep, measure: Measure) -> PyTree[Array]:
    """Evaluate a quantity at the stage times of other steps, on the path of the net's own integrator."""
    steps, stages = np.mgrid[: integrator.steps, : len(integrator.fractions)]
    times = (steps + np.asarray(integrator.fractions)[stages]) * net.control.T / integrator.steps
    flat, nowhere = times.ravel(), np.full(times.size, -1)
    points = TimePoint(flat, flat, nowhere, nowhere)
    found = along(net.field, net.control, measure, points, net.integrator)
    return jax.tree.map(lambda leaf: leaf.reshape(*times.shape, *leaf.shape[1:]), found)


def _theta(system: AbstractSystem, point: TimePoint, y: State) -> PyTree[Array]:
    return system.theta(point, y)


def _particles(system: AbstractSystem, point: TimePoint, y: State) -> tuple[Any, Any]:
    particles, _ = system.split(y)
    assert particles is not None
    return particles.q, particles.p


@keeping_programs
def predict(model: Any, x: PyTree[Array], *, batch_size: int = 4096) -> PyTree[Array]:
    """Compute the outputs for many samples, batch by batch. The particles are integrated only once.

    **Arguments:**

    - `model`: a [`shootax.Net`][], or any module that maps a batch to a batch.
    - `x`: the inputs, as a net takes them.
    - `batch_size`: how many samples are processed at once. It affects only memory.

    !!! example

        ```python
        import jax
        import numpy as np
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        print(sx.predict(net, np.zeros((1000, 1)), batch_size=300).shape)  # (1000, 1)
        ```
    """
    batch_size = checks.positive_integer(batch_size, "batch_size")
    if not callable(model) or isinstance(model, type):
        raise TypeError(f"model must be a module that is called, got {checks.shown(model)}.")
    x = as_arrays(x)
    if not jax.tree.leaves(x):
        raise TypeError(f"x must be an array or a tree of arrays, got {checks.shown(x)}.")

    def prepare(leaf: Any) -> Any:
        if not _is_whole(leaf):
            return leaf
        nets = leaf.nets if isinstance(leaf, ParticleChain) else (leaf,)
        fixed = all(isinstance(net.integrator, AbstractFixedStep) for net in nets)
        moving = any(isinstance(net.control, Particles) for net in nets)
        return bake(leaf, form="auto") if fixed and moving else leaf

    plain = jax.tree.map(prepare, model, is_leaf=_is_whole)
    samples = jax.tree.leaves(x)[0].shape[:1]
    parts = (
        [
            plain(jax.tree.map(lambda leaf, s=start: leaf[s : s + batch_size], x))
            for start in range(0, max(*samples, 1), batch_size)
        ]
        if samples
        else [plain(x)]
    )
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *parts)
