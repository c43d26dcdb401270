"""Numbers that describe a model. Each is a function of the model."""

import functools
import math
from collections.abc import Callable
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from shootax import _checks as checks
from shootax._chain import ParticleChain
from shootax._compile import one_off
from shootax._controls import Particles, Quadrature
from shootax._disk_cache import keeping_programs
from shootax._fields import AbstractField
from shootax._fields.base import size
from shootax._flow import along
from shootax._hamiltonian import hamiltonian
from shootax._net import Net
from shootax._paths import moving, one_net, time_points
from shootax._penalties import Penalty
from shootax._systems import AbstractSystem, State, TimePoint
from shootax._trajectory import evaluate_at


def nets(model: Any) -> list[Net]:
    """All nets inside a model, including those that get their particles from other nets."""
    leaves = jax.tree.leaves(model, is_leaf=lambda leaf: isinstance(leaf, Net | ParticleChain))
    found = []
    for leaf in leaves:
        if isinstance(leaf, Net | ParticleChain):
            found.extend(leaf.resolved() if isinstance(leaf, ParticleChain) else (leaf,))
    return found


_ARRAYS = (jax.Array, jax.ShapeDtypeStruct)


def count(model: Any) -> int:
    """The number of trainable scalars.

    **Arguments:** `model`, any pytree of arrays, or of shapes as returned by `jax.eval_shape`.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        print(sx.count(net))  # 38
        ```
    """
    arrays = [leaf for leaf in jax.tree.leaves(model) if isinstance(leaf, _ARRAYS)]
    return sum(leaf.size for leaf in arrays if jnp.issubdtype(leaf.dtype, jnp.inexact))


@keeping_programs
def penalty(model: Any) -> Float[Array, ""]:
    """$∫_0^T R(θ(t))\\, dt$ (EqVariationalFormulation), summed over all nets inside `model`.

    It is exact for the paper's four formulations: $T·R(θ)$ for constant weights,
    $T·R(θ(0))$ for particles, whose flow conserves $R(θ)$, and $Σ_b Δt\\,R(θ_b)$ for blocks. In
    discrete time ([`shootax.SymplecticEuler`][]) it is the sum $Σ_k h\\,R(θ_k)$ over the layers.

    Outside of `jit` and `grad`, a call also integrates the particles once: if they blow up, the penalty
    is NaN. Inside `jit` or `grad`, as in training, only the formula is evaluated.

    **Arguments:** `model`, a [`shootax.Net`][], or any pytree that contains one.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        print(bool(sx.penalty(net) > 0))  # True
        ```
    """
    costs = [_cost(net) for net in nets(model)]
    if not costs:
        raise ValueError(
            f"{type(model).__name__} has no Net in it, so there is no penalty. Give a Net, or a "
            "pytree that contains one."
        )
    return jnp.sum(jnp.stack(costs))


def _cost(net: Net) -> Float[Array, ""]:
    """The penalty of one net, NaN if its particles blow up."""
    control = net.control
    cost = control.cost(net.field, net.integrator)
    known = all(map(checks.is_concrete, jax.tree.leaves(net)))
    if not known or not isinstance(control, Particles) or not control.maximiser.conserves:
        return cost
    end = Quadrature.at(np.array([control.T]), np.ones(1)).points
    arrived = along(net.field, control, _is_finite, end, net.integrator)
    return jnp.where(arrived[0], cost, jnp.nan)


def _is_finite(system: AbstractSystem, point: TimePoint, y: State) -> Array:
    particles, _ = system.split(y)
    return jnp.all(jnp.stack([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(particles)]))


def break_even(field: AbstractField, layers: int) -> float:
    """The number $K$ of particles with as many parameters as `layers` layers of free weights: $LP/2S$.

    Here $P$ is the size of θ and $S$ that of the state (App. freeparams). With fewer particles than
    this, a net has fewer parameters than with free weights, whatever the size of a layer.

    **Arguments:** the `field`, and the number of `layers`.

    !!! example

        ```python
        import shootax as sx

        print(sx.break_even(sx.Affine(dim=20), layers=10))  # 105.0, which is L(d + 1)/2
        ```
    """
    layers = checks.positive_integer(layers, "layers")
    checks.instance(field, AbstractField, "field", "break_even(Affine(dim=20), layers=10)")
    return layers * size(field.theta) / (2 * size(field.state))


def _singular_values(matrix: Array) -> Array:
    return jnp.linalg.svd(matrix.reshape(matrix.shape[0], -1), compute_uv=False)


NORMS: dict[str, Callable[[Array], Array]] = {
    "frobenius": lambda matrix: jnp.sum(matrix**2),
    "nuclear": lambda matrix: jnp.sum(_singular_values(matrix)) ** 2,
    "spectral": lambda matrix: _singular_values(matrix)[0] ** 2,
}


class _Log2Norm(eqx.Module):
    """$\\log_2 Σ_k \\|θ_k\\|^2$ at one time."""

    norm: str = eqx.field(static=True)

    def __call__(self, system: AbstractSystem, point: TimePoint, y: State) -> Array:
        matrices = [leaf for leaf in jax.tree.leaves(system.theta(point, y)) if leaf.ndim >= 2]
        return jnp.log2(jnp.sum(jnp.stack([NORMS[self.norm](matrix) for matrix in matrices])))


class _Reduced(eqx.Module):
    """$\\mathcal H(q, p)$ at one time."""

    penalty: Penalty

    def __call__(self, system: AbstractSystem, point: TimePoint, y: State) -> Array:
        particles, _ = system.split(y)
        assert particles is not None
        theta = system.theta(point, y)
        return hamiltonian(system.field, self.penalty, particles.q, particles.p, theta)


def _has_matrices(net: Net) -> bool:
    return any(len(leaf.shape) >= 2 for leaf in jax.tree.leaves(net.field.theta))


@keeping_programs
def complexity(
    net: Net, norm: Literal["frobenius", "nuclear", "spectral"] = "frobenius"
) -> Float[Array, ""]:
    """$∫_0^T \\log_2 Σ_k \\|θ_k(t)\\|^2\\, dt$ over the weight matrices $θ_k$, without biases.

    **Arguments:** `net`, and the `norm` of a matrix.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        print(sx.complexity(net, "nuclear").shape)  # ()
        ```
    """
    net = one_net(net, "complexity")
    rate = _Log2Norm(checks.one_of(norm, NORMS, "norm"))
    if not _has_matrices(net):
        raise ValueError(
            f"The θ of {type(net.field).__name__} has no matrices, so it has no complexity."
        )
    rule = net.control.quadrature(net.integrator)
    values = along(net.field, net.control, rate, rule.points, net.integrator)
    return jnp.sum(jnp.asarray(rule.weights, values.dtype) * values)


@keeping_programs
def hamiltonian_path(net: Net, times: Any = None) -> tuple[np.ndarray, Float[Array, " times"]]:
    """The Hamiltonian $\\mathcal H(q(t), p(t))$ over depth, which the exact flow conserves.

    **Arguments:**

    - `net`: a [`shootax.Net`][] with a [`shootax.Particles`][] control.
    - `times`: `(times,)`, increasing, in $[0, T]$; by default the grid points of the integrator.

    **Returns:** `(times, values)`.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        times, values = sx.hamiltonian_path(net, [0.0, 0.5, 1.0])
        print(values.shape)  # (3,)
        ```
    """
    control = moving(net, "hamiltonian_path").control
    assert isinstance(control, Particles)
    grid = control.quadrature(net.integrator).points
    points = grid if times is None else time_points(net, times)
    energy = _Reduced(control.penalty)
    return points.t, along(net.field, control, energy, points, net.integrator)


@keeping_programs
def hamiltonian_drift(net: Net) -> Float[Array, ""]:
    """The largest relative change of the Hamiltonian over depth: zero up to the error of the integrator.

    **Arguments:** `net`, with a [`shootax.Particles`][] control.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        print(bool(sx.hamiltonian_drift(net) < 1e-3))  # True
        ```
    """
    _, values = hamiltonian_path(moving(net, "hamiltonian_drift"))
    tiny = jnp.finfo(values.dtype).tiny  # no momenta, no drift
    return jnp.max(jnp.abs(values - values[0])) / jnp.maximum(jnp.abs(values[0]), tiny)


def summary(model: Net) -> dict[str, Any]:
    """Parameters, penalty, complexity and, if the particles move, drift, as plain numbers.

    **Arguments:** `model`, one [`shootax.Net`][].

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        print(sx.summary(net)["parameters"])  # 38
        ```
    """
    model = one_net(model, "summary")
    control = model.control
    rule = control.quadrature(model.integrator)
    norms = tuple(NORMS) if _has_matrices(model) else ()
    has_moving = isinstance(control, Particles)
    energy = _Reduced(control.penalty) if has_moving else None
    nodes = model.integrator.nodes(control.T, rule.points.t, False)
    cost, found = _summarised(model, _Several(norms, energy), rule.points, nodes)
    values = {name: np.asarray(path, np.float64) for name, path in found.items()}
    complexities = {f"complexity_log2_{norm}": None for norm in NORMS}
    complexities |= {
        f"complexity_log2_{norm}": float(np.sum(rule.weights * values[norm])) for norm in norms
    }
    arrives = not has_moving or not control.maximiser.conserves or bool(found["finite"][-1])
    return {
        "parameters": count(model),
        "penalty": float(cost) if arrives else math.nan,
        **complexities,
        "hamiltonian_drift": _drift(values["energy"]) if has_moving else None,
    }


class _Several(eqx.Module):
    """Several measures at one time, so that one program computes all of them."""

    norms: tuple[str, ...] = eqx.field(static=True)
    energy: _Reduced | None

    def __call__(self, system: AbstractSystem, point: TimePoint, y: State) -> dict[str, Array]:
        found = {norm: _Log2Norm(norm)(system, point, y) for norm in self.norms}
        if self.energy is not None:
            found["energy"] = self.energy(system, point, y)
            found["finite"] = _is_finite(system, point, y)
        return found


@one_off
def _summarised(
    net: Net, measure: _Several, points: TimePoint, nodes: Any
) -> tuple[Array, dict[str, Array]]:
    """The penalty of a net, and measures along its depth."""
    cost = net.control.cost(net.field, net.integrator)
    if not measure.norms and measure.energy is None:
        return cost, {}
    system = net.control.system(net.field, 0)
    report = functools.partial(measure, system)
    return cost, evaluate_at(system, net.control.T, net.integrator, points, nodes, report)


def _drift(values: np.ndarray) -> float:
    first = max(abs(float(values[0])), float(jnp.finfo(jnp.float32).tiny))  # no momenta, no drift
    return float(np.max(np.abs(values - values[0])) / first)
