"""Random fields linear in θ, written in the many ways in which users write them."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import shootax as sx

SIZE = 4


@jax.custom_jvp
def straight_through(s):
    return jnp.sign(s)


@straight_through.defjvp
def _(primals, tangents):
    return straight_through(primals[0]), tangents[0] * (1 - jnp.tanh(primals[0]) ** 2)


@jax.custom_jvp
def crossed(s):
    """Elementwise, with a derivative that is not."""
    return jnp.tanh(s)


@crossed.defjvp
def _(primals, tangents):
    return crossed(primals[0]), tangents[0][::-1] * jnp.cos(primals[0])


@jax.custom_jvp
def first_for_all(s):
    return jnp.broadcast_to(jnp.sin(s[:1]), s.shape)


@first_for_all.defjvp
def _(primals, tangents):
    (s,), (t,) = primals, tangents
    return first_for_all(s), jnp.broadcast_to(jnp.cos(s[:1]) * t[:1], s.shape)


@jax.custom_jvp
def shorter(s):
    return jnp.tanh(s[1:])


@shorter.defjvp
def _(primals, tangents):
    (s,), (t,) = primals, tangents
    return shorter(s), (1 - jnp.tanh(s[1:]) ** 2) * t[1:]


@jax.custom_vjp
def damped(s):
    return jnp.tanh(s)


damped.defvjp(lambda s: (jnp.tanh(s), s), lambda s, bar: (bar * jnp.exp(-(s**2)),))


def half(s):
    return jnp.tanh(s).astype(jnp.float16).astype(s.dtype)


def single(s):
    return jnp.sin(s.astype(jnp.float32)).astype(s.dtype)


SLICES: dict[str, Callable] = {
    "all": lambda z: z,
    "low": lambda z: z[:2],
    "high": lambda z: z[2:],
    "middle": lambda z: z[1:3],
    "strided": lambda z: z[::2],
    "odd": lambda z: z[1::2],
    "reversed": lambda z: z[::-1],
    "swapped": lambda z: jnp.concatenate([z[2:], z[:2]]),
    "permuted": lambda z: z[np.array([2, 0, 3, 1])],
    "turned": lambda z: z.reshape(2, 2).T.reshape(-1),
    "doubled": lambda z: jnp.concatenate([z[:2], z[:2]]),
}
FUNCTIONS: dict[str, Callable] = {
    "identity": lambda s: s,
    "tanh": jnp.tanh,
    "sin": jnp.sin,
    "relu": jax.nn.relu,
    "softplus": jax.nn.softplus,
    "square": lambda s: s**2,
    "cube": lambda s: s**3,
    "power": lambda s: jnp.abs(s) ** 1.5,
    "line": lambda s: 2 * s / 3 + 1,
    "bump": lambda s: jnp.exp(-s * s),
    "clip": lambda s: jnp.clip(s, -0.5, 0.6),
    "where": lambda s: jnp.where(s > 0.2, jnp.sin(s), 0.3 * s),
    "silu": lambda s: s * jax.nn.sigmoid(s),
    "sqrt": jnp.sqrt,
    "arcsin": jnp.arcsin,
    "straight-through": straight_through,
    "crossed": crossed,
    "first-for-all": first_for_all,
    "shorter": shorter,
    "custom-vjp": damped,
    "float16": half,
    "float32": single,
    "mixing": lambda s: s * s[::-1],
    "norm": lambda s: s / jnp.sqrt(1 + jnp.sum(s**2)),
    "cosines": lambda s: jnp.cos(s) * jnp.tanh(s) - s,
}
ORDINARY = [name for name in FUNCTIONS if name in (
    "identity", "tanh", "sin", "relu", "softplus", "square", "cube", "power", "line", "bump", "clip",
    "where", "silu", "sqrt", "arcsin", "straight-through", "cosines",
)]  # fmt: skip
ORDINARY_SLICES = ["all", "low", "high", "middle"]
CONSTANTS = (0.0, 1.0, 2.0, -1.5, 0.3)
PRODUCTS = ("matmul", "right", "einsum", "einsum-right", "strided", "scaled", "cast")


@dataclasses.dataclass(frozen=True)
class Recipe:
    """A field, what it is made of, and whether it wants states in (0, 1)."""

    field: sx.FunctionField
    made_of: tuple[str, ...]
    positive: bool


def random_field(seed: int) -> Recipe:
    """The field of a seed. All choices are made here, none when the field is called."""
    rng = np.random.default_rng(seed)
    theta: dict[str, Any] = {}
    made_of: list[str] = []
    shape = rng.choice(["one", "halves", "interleaved", "reversed"], p=[0.35, 0.5, 0.05, 0.1])
    made_of.append(str(shape))
    pieces = [SIZE] if shape in ("one", "reversed") else [2, 2]
    rows = [_row(rng, theta, made_of, size) for size in pieces]

    def function(z, weights):
        parts = [sum((term(z, weights) for term in row[1:]), row[0](z, weights)) for row in rows]
        if shape == "interleaved":
            return jnp.stack(parts, axis=1).reshape(-1)
        out = jnp.concatenate(parts)
        return out[::-1] if shape == "reversed" else out

    field = sx.FunctionField(function, state=sx.shape(SIZE), theta=theta)
    return Recipe(field, tuple(made_of), not {"sqrt", "arcsin"}.isdisjoint(made_of))


def _row(rng, theta: dict, made_of: list[str], size: int) -> list[Callable]:
    """The terms whose sum moves `size` entries of the state."""
    if theta and rng.random() < 0.05:
        made_of.append("still")
        return [lambda z, weights: jnp.zeros(size, z.dtype)]
    terms = [_product(rng, theta, made_of, size) for _ in range(rng.choice([1, 2], p=[0.7, 0.3]))]
    if rng.random() < 0.4:
        name = _new(theta, (size,))
        terms.append(lambda z, weights: weights[name])
        made_of.append("bias")
    if rng.random() < 0.05 and size == 2:
        name = _new(theta, (2,))
        terms.append(lambda z, weights: weights[name] * jnp.tanh(z[:2]))
        made_of.append("gate")
    return terms


def _features(rng, made_of: list[str]) -> Callable:
    """A vector of features of the state, possibly with constants among them."""
    cut = str(rng.choice(list(SLICES) if rng.random() < 0.3 else ORDINARY_SLICES))
    odd = rng.random() < 0.15
    name = str(rng.choice(list(FUNCTIONS) if odd else ORDINARY))
    constant = float(rng.choice(CONSTANTS)) if rng.random() < 0.3 else None
    # A domain of its own is not for constants of any size.
    inside = rng.random() < 0.5 and name not in ("sqrt", "arcsin")
    made_of += [cut, name]
    if constant is not None:
        made_of.append(f"constant {constant:g}{' inside' if inside else ''}")
    chosen, function = SLICES[cut], FUNCTIONS[name]

    def features(z):
        s = chosen(z)
        if constant is None:
            return function(s)
        more = jnp.full(1, constant, s.dtype)
        if inside:
            return function(jnp.concatenate([s, more]))
        return jnp.concatenate([more, function(s)])

    return features


def _product(rng, theta: dict, made_of: list[str], size: int) -> Callable:
    """Weights times features, new weights or, at times, some that are used elsewhere."""
    features = _features(rng, made_of)
    length = jax.eval_shape(features, jax.ShapeDtypeStruct((SIZE,), jnp.result_type(float))).size
    way = str(rng.choice(PRODUCTS, p=[0.3, 0.2, 0.2, 0.2, 0.06, 0.02, 0.02]))
    shape = {"right": (length, size), "einsum-right": (length, size)}.get(way, (size, length))
    if way == "strided":
        shape = (2 * size, length)
    shared = [name for name, leaf in theta.items() if leaf.shape == shape]
    if shared and rng.random() < 0.15:
        name = shared[0]
        made_of.append("shared")
    else:
        name = _new(theta, shape)
    made_of.append(way)

    def product(z, weights):
        W, phi = weights[name], features(z)
        if way == "right":
            return phi @ W
        if way == "einsum":
            return jnp.einsum("ij,j->i", W, phi)
        if way == "einsum-right":
            return jnp.einsum("ji,j->i", W, phi)
        if way == "strided":
            return W[1::2] @ phi
        if way == "scaled":
            return 0.5 * (W @ phi)
        if way == "cast":
            return (W.astype(jnp.float32) @ phi.astype(jnp.float32)).astype(z.dtype)
        return W @ phi

    return product


def _new(theta: dict, shape: tuple[int, ...]) -> str:
    name = f"w{len(theta)}"
    theta[name] = sx.shape(*shape)
    return name
