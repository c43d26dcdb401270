"""UpDown flows that equal flows of a single hidden layer (lemmas ThLemma1 and lem:updown_shl).

With $v = θ_2 x + b_2$, the flow $\\dot x = θ_1 σ(θ_2 x + b_2) + b_1$ becomes

$$\\dot x = θ_1 σ(v) + b_1, \\qquad
\\dot v = \\dot θ_2 x + \\dot b_2 + θ_2 \\dot x = \\dot θ_2 x + (\\dot b_2 + θ_2 b_1) + θ_2 θ_1 σ(v),$$

with $v(0) = θ_2(0) x + b_2(0)$. The paper's proof has $θ_2 θ_1 (σ(v) + b_1)$ instead of
$θ_2 (θ_1 σ(v) + b_1)$, and $v(0) = θ_2(0) x$ without the bias.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import shootax as sx
from shootax import _checks as checks
from shootax.extend import AbstractBlockField, PathSystem, Quadrature, TimePoint
from shootax.nn import AffineLift

Weights = dict[str, Array]
HiddenLayerPath = Callable[[Any], Weights]

NAMES = ("theta1", "theta2", "b1", "b2")


class UpDownPath(eqx.Module):
    """The weights of the UpDown model at a time, from the weights of a single hidden layer."""

    path: HiddenLayerPath
    hidden: int = eqx.field(static=True)

    def __call__(self, t: Any) -> Weights:
        return _theta(self.path, t, self.hidden)


def _rates(path: HiddenLayerPath, t: Any) -> tuple[Weights, Weights]:
    """The weights of the hidden layer and their time derivatives."""
    t = jnp.asarray(t, jnp.result_type(float))
    return jax.jvp(path, (t,), (jnp.ones_like(t),))


def _theta(path: HiddenLayerPath, t: Any, hidden: int) -> Weights:
    now, rate = _rates(path, t)
    theta = {
        "theta1": now["theta1"],
        "b1": now["b1"],
        "theta2": rate["theta2"],
        "b2": rate["b2"] + now["theta2"] @ now["b1"],
        "theta3": now["theta2"] @ now["theta1"],
    }
    return _padded(theta, hidden)


def _padded(theta: Weights, hidden: int) -> Weights:
    """The weights, padded with zero neurons to the size of the hidden state."""
    extra = hidden - theta["b2"].shape[0]
    rows, columns, both = ((0, extra), (0, 0)), ((0, 0), (0, extra)), ((0, extra), (0, extra))
    return {
        "theta1": jnp.pad(theta["theta1"], columns),
        "b1": theta["b1"],
        "theta2": jnp.pad(theta["theta2"], rows),
        "b2": jnp.pad(theta["b2"], (0, extra)),
        "theta3": jnp.pad(theta["theta3"], both),
    }


def start(weight: Array, bias: Array, hidden: int) -> AffineLift:
    """The lift $v(0) = W x + c$, padded with zeros to the size of the hidden state."""
    extra, dim = hidden - bias.shape[0], weight.shape[1]
    padded = jnp.pad(weight, ((0, extra), (0, 0))), jnp.pad(bias, (0, extra))
    lift = AffineLift(dim, hidden, key=jax.random.key(0))
    return eqx.tree_at(lambda lift: (lift.weight, lift.bias), lift, padded)


def updown_from_hidden_layer(
    path: HiddenLayerPath,
    *,
    activation: str | Callable[[Array], Array] = "tanh",
    T: float = 1.0,
    integrator: sx.extend.AbstractIntegrator = sx.RK4(steps=50),
) -> sx.Net:
    """Construct the UpDown net with the flow of a hidden layer with smooth weights (ThLemma1).

    The net maps $x$ to $x(T)$. If the width is not a multiple of the dimension, zero neurons are added.

    !!! example

        ```python
        import jax.numpy as jnp
        from shootax import theory

        def path(t):
            turn = jnp.array([[jnp.cos(t), jnp.sin(t)], [-jnp.sin(t), jnp.cos(t)]])
            return {"theta1": jnp.eye(2), "theta2": turn, "b1": jnp.ones(2), "b2": jnp.array([t, 0.0])}

        net = theory.updown_from_hidden_layer(path)
        print(net(jnp.ones((3, 2))).shape)  # (3, 2)
        ```

    **Arguments:**

    - `path`: maps a time to the weights `theta1` $(d, h)$, `theta2` $(h, d)$, `b1` $(d)$ and `b2` $(h)$
        of $θ_1 σ(θ_2 x + b_2) + b_1$, in JAX. `theta2` and `b2` must be continuously differentiable. For
        weights that jump, use [`shootax.theory.updown_from_pieces`][].
    - `activation`: σ, as in [`shootax.UpDown`][].
    - `T`: the final time.
    - `integrator`: the integrator of the net.
    """
    dim, width = _check(path, 0.0)
    field = sx.UpDown(dim, -(-width // dim), activation=activation)
    control = sx.FunctionControl(field, UpDownPath(path, field.hidden_size), T=T)
    first = path(jnp.asarray(0.0))
    lift = start(first["theta2"], first["b2"], field.hidden_size)
    return sx.Net(field, control, lift=lift, integrator=integrator, key=jax.random.key(0))


class PiecePath(eqx.Module):
    """The packed weights of the UpDown model for a hidden layer with several pieces."""

    field: AbstractBlockField
    pieces: tuple[HiddenLayerPath, ...]
    times: tuple[float, ...] = eqx.field(static=True)

    def __call__(self, moment: TimePoint) -> Array:
        jumps = jnp.asarray(self.times[1:-1], jnp.result_type(float))
        active = jnp.sum(moment.inside >= jumps) if len(self.pieces) > 1 else jnp.asarray(0)
        branches = [
            lambda t, i=i: self.field.pack(self.theta(i, t)) for i in range(len(self.pieces))
        ]
        return jax.lax.switch(active, branches, jnp.asarray(moment.t, jnp.result_type(float)))

    def theta(self, active: int, t: Any) -> Weights:
        """The weights while a piece is active: its block follows ThLemma1, later blocks follow
        $v_i = θ_2^i(t_i) x + b_2^i(t_i)$, and earlier blocks do not move."""
        now, _ = _rates(self.pieces[active], t)
        dim, width = now["theta1"].shape
        lines, biases, maps = [], [], []
        for i, piece in enumerate(self.pieces):
            if i == active:
                own = _theta(piece, t, width)
                line, bias, up = own["theta3"], own["b2"], own["theta2"]
            elif i > active:
                ahead = piece(jnp.asarray(self.times[i], jnp.result_type(float)))["theta2"]
                line, bias = ahead @ now["theta1"], ahead @ now["b1"]
                up = jnp.zeros_like(ahead)
            else:
                line, bias = jnp.zeros((width, width)), jnp.zeros(width)
                up = jnp.zeros((width, dim))
            around = (active * width, (len(self.pieces) - 1 - active) * width)
            lines.append(jnp.pad(line, ((0, 0), around)))
            biases.append(bias)
            maps.append(up)
        theta = {
            "theta1": jnp.pad(now["theta1"], ((0, 0), around)),
            "b1": now["b1"],
            "theta2": jnp.concatenate(maps),
            "b2": jnp.concatenate(biases),
            "theta3": jnp.concatenate(lines),
        }
        return _padded(theta, self.field.hidden_size)


class PieceControl(sx.extend.AbstractControl):
    """Weights of the UpDown model that jump at the same times as those of the hidden layer."""

    path: PiecePath
    penalty: sx.AbstractPenalty
    T: float = eqx.field(static=True)
    points: int = eqx.field(static=True, default=16)

    def system(self, field: sx.AbstractField, batch: int) -> PathSystem:
        return PathSystem(field, self.path, self.path.times[1:-1])

    def quadrature(self, integrator: sx.extend.AbstractIntegrator) -> Quadrature:
        nodes, weights = np.polynomial.legendre.leggauss(self.points)
        edges = np.asarray(self.path.times)
        half, middle = np.diff(edges) / 2, (edges[:-1] + edges[1:]) / 2
        times = (middle[:, None] + half[:, None] * nodes).ravel()
        return Quadrature.at(times, (half[:, None] * weights).ravel())

    def cost(
        self, field: sx.AbstractField, integrator: sx.extend.AbstractIntegrator
    ) -> Float[Array, ""]:
        rule = self.quadrature(integrator)
        times = jnp.asarray(rule.points.t, jnp.result_type(float))
        none = jnp.asarray(-1)

        def penalty_at(t: Array) -> Array:
            packed = self.path(TimePoint(t, t, none, none))
            return self.penalty(self.path.field.unpack(packed))

        return jnp.sum(jnp.asarray(rule.weights, times.dtype) * jax.lax.map(penalty_at, times))


def updown_from_pieces(
    pieces: Sequence[HiddenLayerPath],
    jumps: Sequence[float],
    *,
    activation: str | Callable[[Array], Array] = "tanh",
    T: float = 1.0,
    integrator: sx.extend.AbstractIntegrator = sx.RK4(steps=60),
) -> sx.Net:
    """Construct the UpDown net with the flow of a hidden layer with weights that jump (lem:updown_shl).

    Every piece has its own block of the hidden state, so the inflation is the number of pieces times the
    width, divided by the dimension. The lemma assumes that the weights are piecewise continuous. Its
    proof differentiates `theta2` and `b2`, so these must be continuously differentiable on each piece.

    **Arguments:**

    - `pieces`: one function for each piece, as `path` in [`shootax.theory.updown_from_hidden_layer`][],
        all with the same width.
    - `jumps`: the times between the pieces, increasing and inside $(0, T)$, one fewer than pieces. A
        fixed-step integrator only has its full order if they are grid points.
    - `activation`, `T`, `integrator`: as in [`shootax.theory.updown_from_hidden_layer`][].

    !!! example

        ```python
        import jax.numpy as jnp
        from shootax import theory

        def first(t):
            return {"theta1": jnp.eye(2), "theta2": jnp.eye(2), "b1": jnp.ones(2), "b2": jnp.zeros(2)}

        def second(t):
            return {**first(t), "theta2": -jnp.eye(2)}

        net = theory.updown_from_pieces([first, second], jumps=[0.5])
        print(net(jnp.ones((3, 2))).shape)  # (3, 2)
        ```
    """
    pieces = checks.sequence(pieces, "pieces", "updown_from_pieces([first, second], jumps=[0.5])")
    jumps = checks.sequence(jumps, "jumps", "updown_from_pieces([first, second], jumps=[0.5])")
    if not pieces:
        raise ValueError(
            "pieces must contain at least one function from a time to weights, got none."
        )
    times = (0.0, *(checks.number(t, "A jump") for t in jumps), checks.positive_number(T, "T"))
    if len(jumps) != len(pieces) - 1 or not all(a < b for a, b in itertools.pairwise(times)):
        raise ValueError(
            f"{len(pieces)} pieces need {len(pieces) - 1} jumps, increasing and inside (0, {T:g}); got "
            f"{list(jumps)}."
        )
    sizes = {_check(piece, time) for piece, time in zip(pieces, times, strict=False)}
    if len(sizes) > 1:
        raise ValueError(
            f"All pieces must have the same dimension and width, got {sorted(sizes)}. Pad the narrow "
            "pieces with neurons whose weights are zero."
        )
    dim, width = sizes.pop()
    field = sx.UpDown(dim, -(-width * len(pieces) // dim), activation=activation)
    path = PiecePath(field, tuple(pieces), times)
    penalty = sx.Quadratic(theta3=10.0)
    firsts = [piece(jnp.asarray(t)) for piece, t in zip(pieces, times, strict=False)]
    lift = start(
        jnp.concatenate([first["theta2"] for first in firsts]),
        jnp.concatenate([first["b2"] for first in firsts]),
        field.hidden_size,
    )
    control = PieceControl(path=path, penalty=penalty, T=float(T))
    return sx.Net(field, control, lift=lift, integrator=integrator, key=jax.random.key(0))


def _check(path: HiddenLayerPath, t: float) -> tuple[int, int]:
    """Check the weights of a hidden layer, and return its dimension and width."""
    checks.function(path, "path", "a function from a time to the weights of a hidden layer")
    weights = jax.eval_shape(path, jnp.asarray(t))
    got = (
        {name: jnp.shape(leaf) for name, leaf in weights.items()}
        if isinstance(weights, dict)
        else None
    )
    if got is not None and set(got) == set(NAMES) and len(got["theta1"]) == 2:
        dim, width = got["theta1"]
        if got == {"theta1": (dim, width), "theta2": (width, dim), "b1": (dim,), "b2": (width,)}:
            return dim, width
    raise ValueError(
        "A path must be a function that maps a time to a dictionary with the weights theta1 (d, h), "
        f"theta2 (h, d), b1 (d) and b2 (h) of a single hidden layer, got {got or type(weights).__name__}."
    )
