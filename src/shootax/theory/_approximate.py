"""UpDown nets that approximate a given flow (prop:updown_universal), by construction, not training."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.integrate import solve_ivp

import shootax as sx
from shootax import _checks as checks
from shootax.theory._hidden_layer import PiecePath, start

VelocityField = Callable[[float, np.ndarray], Any]


@dataclasses.dataclass(frozen=True)
class Approximation:
    """The result of [`shootax.theory.approximate_flow`][].

    **Arguments:**

    - `net`: the UpDown net.
    - `epsilon`: the largest difference between the fields, $\\max |w(t, x) - f(x, θ_i)|$, over a sample
      of the box and of times.
    - `lipschitz`: the Lipschitz constant of $w$ in space.
    - `bound`: the bound on the error of the flow; infinite if the flow of the net leaves the box.
    - `measured`: the largest error of the flow at the given points.
    - `low`, `high`: the box.
    """

    net: sx.Net
    epsilon: float
    lipschitz: float
    bound: float
    measured: float
    low: np.ndarray
    high: np.ndarray

    @property
    def ratio(self) -> float:
        """The measured error divided by the bound."""
        return self.measured / self.bound


def approximate_flow(
    velocity: VelocityField,
    x: Any,
    *,
    slices: int = 8,
    width: int = 40,
    T: float = 1.0,
    shared: bool = True,
    lipschitz: float | None = None,
    margin: float = 0.2,
    samples: int = 1000,
    activation: str = "tanh",
    seed: int = 0,
) -> Approximation:
    """Construct an UpDown net that approximates the flow of a vector field $w(t, x)$, without training.

    On each of `slices` time slices, a single hidden layer is fitted to the mean of $w$ over the slice.
    Its inner weights are random features, and its outer weights are the least-squares solution. These
    weights are constant in each slice, so the UpDown net of lem:updown_shl also has piecewise constant
    weights. If $ε_i$ is the error of the fields in slice $i$, Grönwall's lemma gives

    $$|φ^w(T, x) - x(T)| ≤ Σ_i ε_i ∫_{t_i}^{t_{i+1}} e^{L (T - s)}\\, ds ≤ ε T e^{L T}.$$

    The maxima $ε$ and $L$ are taken over a sample of the box, so the bound is only as good as the sample.

    !!! example

        ```python
        import numpy as np
        from shootax import theory

        def vortex(t, x):
            return np.sin(np.pi * t) * np.stack([-x[:, 1], x[:, 0]], axis=1)

        points = np.random.default_rng(0).uniform(-1, 1, (20, 2))
        found = theory.approximate_flow(vortex, points, slices=4, width=20)
        print(found.measured <= found.bound)  # True
        ```

    **Arguments:**

    - `velocity`: maps a time and states `(samples, dim)` to velocities.
    - `x`: initial states `(samples, dim)`. The box contains their true trajectories, with a margin.
    - `slices`: the number of time slices.
    - `width`: the number of neurons of each hidden layer.
    - `T`: the final time.
    - `shared`: whether all slices share their inner weights. They then share one block of hidden states.
        With `False`, each slice has its own block, as in the paper's proof.
    - `lipschitz`: the Lipschitz constant of $w$ in space, if you know it. By default it is estimated by
        finite differences on the sample.
    - `margin`: the margin of the box around the trajectories, relative to its size.
    - `samples`: the number of points for the fit. Errors are taken over twice as many other points.
    - `activation`: the activation of the features.
    - `seed`: the random seed of the features.
    """
    slices, width = (
        checks.positive_integer(slices, "slices"),
        checks.positive_integer(width, "width"),
    )
    x = np.asarray(x, np.float64)
    if not callable(velocity):
        raise ValueError(
            "velocity must be a function velocity(t, x) of a time and states of shape (samples, dim), "
            f"got {velocity!r:.100}."
        )
    if x.ndim != 2 or len(x) == 0:
        raise ValueError(f"x must be initial states of shape (samples, dim), got shape {x.shape}.")
    checks.finite(x, "x")
    rng = np.random.default_rng(seed)
    paths = _true_paths(velocity, x, T)
    low, high = paths.min(axis=(0, 1)), paths.max(axis=(0, 1))
    room = margin * np.maximum(high - low, 1e-3)
    low, high = low - room, high + room
    sample = rng.uniform(low, high, (samples, len(low)))
    test = rng.uniform(low, high, (2 * samples, len(low)))
    edges = np.linspace(0, T, slices + 1)
    sigma = sx.Affine(1, activation=activation).activation
    layers, feature = [], None
    for i in range(slices):
        if feature is None or not shared:
            feature = _features(width, low, high, np.random.default_rng((seed, i)))
        layers.append(_fit(velocity, sample, feature, edges[i : i + 2], sigma))
    errors = [_gap(velocity, test, layers[i], edges[i : i + 2], sigma) for i in range(slices)]
    if lipschitz is None:
        lipschitz = max(_steepest(velocity, test, t) for t in np.linspace(0, T, 2 * slices + 1))
    net = _net(layers, edges, activation, shared)
    times = np.linspace(0, T, slices + 1)
    states = np.asarray(net.states(jnp.asarray(x), times))[..., : x.shape[1]]
    inside = bool(((states >= low) & (states <= high)).all())
    return Approximation(
        net=net,
        epsilon=max(errors),
        lipschitz=lipschitz,
        bound=_bound(errors, edges, lipschitz) if inside else math.inf,
        measured=float(np.linalg.norm(states[:, -1] - paths[-1], axis=1).max()),
        low=low,
        high=high,
    )


Layer = dict[str, np.ndarray]


def _velocities(velocity: VelocityField, t: float, x: np.ndarray) -> np.ndarray:
    out = np.asarray(velocity(t, x), np.float64)
    if out.shape != x.shape:
        raise ValueError(
            f"velocity must map states of shape {x.shape} to velocities of the same shape, got shape "
            f"{out.shape}."
        )
    if not np.isfinite(out).all():
        raise ValueError(
            f"velocity is not finite at t = {t:.4g} for some states in the box around its flow. The "
            "vector field must be continuous in a neighbourhood of the flow."
        )
    return out


def _true_paths(velocity: VelocityField, x: np.ndarray, T: float) -> np.ndarray:
    """The true trajectories, `(times, samples, dim)`, by an adaptive method with tight tolerances."""

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        return _velocities(velocity, t, y.reshape(x.shape)).ravel()

    times = np.linspace(0, T, 41)
    solved = solve_ivp(rate, (0, T), x.ravel(), "DOP853", times, rtol=1e-10, atol=1e-12)
    if not solved.success:
        raise ValueError(f"The flow of the vector field does not reach T = {T:g}: {solved.message}")
    return solved.y.T.reshape(len(times), *x.shape)


def _features(width: int, low: np.ndarray, high: np.ndarray, rng: np.random.Generator) -> Layer:
    """Draw inner weights: hyperplanes through random points of the box, in random directions. A wider
    layer contains the neurons of a narrower one."""
    half = (high - low) / 2
    draws = [
        (rng.normal(size=len(low)), rng.uniform(0.3, 2.5), rng.uniform(low, high))
        for _ in range(width)
    ]
    rows = [scale * way / np.linalg.norm(way) / half for way, scale, _ in draws]
    bias = [-row @ centre for row, (_, _, centre) in zip(rows, draws, strict=True)]
    return {"theta2": np.array(rows), "b2": np.array(bias)}


def _hidden(layer: Layer, x: np.ndarray, sigma: Any) -> np.ndarray:
    return np.asarray(sigma(jnp.asarray(x @ layer["theta2"].T + layer["b2"])), np.float64)


def _fit(
    velocity: VelocityField, x: np.ndarray, feature: Layer, slice_: np.ndarray, sigma: Any
) -> Layer:
    """Fit outer weights by least squares, with a small ridge against rounding errors."""
    nodes, weights = np.polynomial.legendre.leggauss(4)
    times = slice_.mean() + np.diff(slice_)[0] / 2 * nodes
    target = sum(w / 2 * _velocities(velocity, t, x) for t, w in zip(times, weights, strict=True))
    design = np.column_stack([_hidden(feature, x, sigma), np.ones(len(x))])
    ridge = 1e-6 * np.sqrt(len(x)) * np.eye(design.shape[1])
    stacked = np.vstack([design, ridge])
    padded = np.vstack([target, np.zeros((design.shape[1], x.shape[1]))])
    outer = np.linalg.lstsq(stacked, padded, rcond=None)[0]
    return {**feature, "theta1": outer[:-1].T, "b1": outer[-1]}


def _gap(
    velocity: VelocityField, x: np.ndarray, layer: Layer, slice_: np.ndarray, sigma: Any
) -> float:
    """The largest distance between the two fields in a slice."""
    ours = _hidden(layer, x, sigma) @ layer["theta1"].T + layer["b1"]
    times = np.linspace(slice_[0], slice_[1], 5)
    return max(
        float(np.linalg.norm(_velocities(velocity, t, x) - ours, axis=1).max()) for t in times
    )


def _steepest(velocity: VelocityField, x: np.ndarray, t: float, step: float = 1e-5) -> float:
    """The largest norm of the Jacobian of $w(t, ·)$, by central differences."""
    columns = []
    for axis in np.eye(x.shape[1]):
        ahead, behind = (_velocities(velocity, t, x + s * step * axis) for s in (1, -1))
        columns.append((ahead - behind) / (2 * step))
    return float(np.linalg.norm(np.stack(columns, axis=-1), 2, axis=(-2, -1)).max())


def _bound(errors: list[float], edges: np.ndarray, lipschitz: float) -> float:
    ahead = edges[-1] - edges
    if lipschitz < 1e-12:
        return float(np.dot(errors, np.diff(edges)))
    grown = np.exp(lipschitz * ahead) / lipschitz
    return float(np.dot(errors, grown[:-1] - grown[1:]))


def _net(layers: list[Layer], edges: np.ndarray, activation: str, shared: bool) -> sx.Net:
    """The UpDown net with piecewise constant weights."""
    width, dim = layers[0]["theta2"].shape
    blocks = 1 if shared else len(layers)
    field = sx.UpDown(dim, -(-width * blocks // dim), activation=activation)
    if shared:
        # One block serves all slices: its inner weights never change, so v = θ2 x + b2 throughout.
        thetas, firsts = [_one_block(layer, field.hidden_size) for layer in layers], layers[:1]
    else:
        held = tuple(_Held({name: jnp.asarray(v) for name, v in each.items()}) for each in layers)
        path = PiecePath(field, held, tuple(map(float, edges)))
        thetas = [path.theta(i, float(edges[i])) for i in range(len(layers))]
        firsts = layers
    control = sx.Piecewise(field, len(layers), T=float(edges[-1]), key=jax.random.key(0))
    stacked = {name: jnp.asarray(np.stack([t[name] for t in thetas])) for name in field.theta}
    control = eqx.tree_at(lambda c: c.theta, control, stacked)
    lift = start(
        jnp.asarray(np.concatenate([first["theta2"] for first in firsts])),
        jnp.asarray(np.concatenate([first["b2"] for first in firsts])),
        field.hidden_size,
    )
    steps = len(layers) * max(1, math.ceil(40 / len(layers)))
    return sx.Net(field, control, lift=lift, integrator=sx.RK4(steps=steps), key=jax.random.key(0))


def _one_block(layer: Layer, hidden: int) -> Layer:
    """The UpDown weights of a hidden layer whose inner weights are constant."""
    width, dim = layer["theta2"].shape
    extra = hidden - width
    up = np.pad(layer["theta2"], ((0, extra), (0, 0)))
    down = np.pad(layer["theta1"], ((0, 0), (0, extra)))
    return {
        "theta1": down,
        "b1": layer["b1"],
        "theta2": np.zeros((hidden, dim)),
        "b2": up @ layer["b1"],
        "theta3": up @ down,
    }


class _Held(eqx.Module):
    """Weights that do not change."""

    weights: dict[str, Float[Array, "..."]]

    def __call__(self, t: Any) -> dict[str, Array]:
        return self.weights
