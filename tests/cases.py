"""Small fields, controls and integrators for parametrised tests, and helpers for them."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from shootax._storage import container

KEY = jax.random.key(0)


def usually(names, *chosen) -> list:
    """Parameters of a test: the chosen ones run always, the others only in the long run."""
    return [n if n in chosen else _long(n) for n in names]


def _long(name):
    values = name if isinstance(name, tuple) else (name,)
    return pytest.param(*values, marks=pytest.mark.slow)


class Rotor(sx.AbstractField):
    """A user's field: a rotation and a constant push."""

    state = sx.shape(2)
    theta = {"speed": sx.shape(), "push": sx.shape(2)}  # noqa: RUF012

    def __call__(self, z, theta):
        return theta["speed"] * jnp.stack([-jnp.sin(z[1]), z[0]]) + theta["push"]


class Pendulum(sx.AbstractField):
    """A user's field whose state and weights are trees."""

    state = {"x": sx.shape(2), "v": sx.shape(3)}  # noqa: RUF012
    theta = {"up": (sx.shape(3, 2), sx.shape(3)), "down": sx.shape(2, 3)}  # noqa: RUF012

    def __call__(self, z, theta):
        up, bias = theta["up"]
        return {"x": theta["down"] @ jnp.tanh(z["v"]), "v": up @ z["x"] + bias}


class Wave(eqx.Module):
    """A user's θ(t): weights that oscillate."""

    theta: Any

    def __call__(self, t):
        return jax.tree.map(lambda leaf: leaf * jnp.cos(2 * t).astype(leaf.dtype), self.theta)


def spd(size: int, seed: int = 0) -> np.ndarray:
    """A random symmetric positive definite matrix."""
    root = np.random.default_rng(seed).normal(size=(size, size))
    return root @ root.T + 0.5 * np.eye(size)


FIELDS: dict[str, Callable[[], sx.AbstractField]] = {
    "affine": lambda: sx.Affine(2, activation="tanh"),
    "updown": lambda: sx.UpDown(2, 3, activation="tanh"),
    "updown-no-theta3": lambda: sx.UpDown(1, 4, activation="softplus", theta3=False),
    "second-order": lambda: sx.UpDown(2, 1, activation="sigmoid", theta3=False),
    "rotor": Rotor,
    "pendulum": Pendulum,
}

# Classes of this file that a saved model may need.
KNOWN = [Rotor, Pendulum, Wave]


def some_theta(field: sx.AbstractField, scale: float = 0.5, seed: int = 7) -> Any:
    """Random weights θ, including biases."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: jnp.asarray(scale * rng.normal(size=leaf.shape)), field.theta)


def _full_basis(kind: str):
    """Make a basis control with all coefficients in use."""

    def make(field: sx.AbstractField, T: float = 1.0, **options) -> sx.Basis:
        control = sx.Basis(field, kind, 4, T=T, key=KEY, **options)
        terms = [some_theta(field, 0.5, seed) for seed in range(4)]
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *terms)
        return eqx.tree_at(lambda c: c.coefficients, control, stacked)

    return make


def _particles(kind: Any, **fixed):
    def make(field: sx.AbstractField, T: float = 1.0, **options):
        drawn = sx.Ensemble.draw(field, 4, position=sx.Gaussian(), momentum=0.3, key=KEY)
        return kind(field, drawn, T=T, **fixed, **options)

    return make


# Each is called as `CONTROLS[name](field, T=..., penalty=...)`.
CONTROLS: dict[str, Callable[..., sx.extend.AbstractControl]] = {
    "static": lambda field, T=1.0, **options: eqx.tree_at(
        lambda c: c.theta, sx.Static(field, T=T, key=KEY, **options), some_theta(field)
    ),
    "piecewise": lambda field, T=1.0, **options: sx.Piecewise(field, 5, T=T, key=KEY, **options),
    "frozen": _particles(sx.FrozenParticles),
    "particles": _particles(sx.Particles),
    "legendre": _full_basis("legendre"),
    "fourier": _full_basis("fourier"),
    "given": lambda field, T=1.0, **options: sx.FunctionControl(
        field, Wave(some_theta(field)), T=T, **options
    ),
}

# Each is called as `FIXED_INTEGRATORS[name](steps=..., gradient=...)`.
FIXED_INTEGRATORS: dict[str, Callable[..., sx.extend.AbstractIntegrator]] = {
    "euler": sx.Euler,
    "heun": sx.Heun,
    "rk4": sx.RK4,
    "implicit-midpoint": sx.ImplicitMidpoint,
    "symplectic-euler": sx.SymplecticEuler,
}


def make_net(
    field: str, control: str, *, integrator: Any = sx.RK4(steps=5), T: float = 1.0, **options
) -> sx.Net:
    """Build a net with the named field and control; `options` are passed to the control."""
    made = FIELDS[field]()
    return sx.Net(made, CONTROLS[control](made, T=T, **options), integrator=integrator, key=KEY)


def inputs(field: sx.AbstractField, rows: int = 3, seed: int = 1) -> Any:
    """A batch of random inputs for a net with this field."""
    rng = np.random.default_rng(seed)
    if isinstance(field, sx.extend.AbstractBlockField):
        return jnp.asarray(rng.normal(size=(rows, field.dim)))
    return jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=(rows, *leaf.shape))), field.state)


def cast(tree: Any, dtype: Any) -> Any:
    """Cast all floating-point arrays of a model or of data to another precision."""
    return jax.tree.map(
        lambda leaf: leaf.astype(dtype) if eqx.is_inexact_array(leaf) else leaf, tree
    )


def arrays(tree: Any) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree) if eqx.is_array(leaf)]


def assert_same(a: Any, b: Any) -> None:
    """Assert that two trees are equal in structure, in precision, and in every bit of every array."""
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for x, y in zip(arrays(a), arrays(b), strict=True):
        assert x.dtype == y.dtype
        assert x.shape == y.shape
        assert x.tobytes() == y.tobytes()


def assert_close(a: Any, b: Any, rtol: float = 1e-12, atol: float = 1e-12) -> None:
    """Assert that two trees of arrays agree in structure and, up to rounding, in value."""
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=rtol, atol=atol)


def rewrite_header(path: Any, **entries: str | None) -> None:
    """Change entries of the header of a model file, with a correct checksum; `None` removes an entry."""
    old = container.read(path)
    header = {key: value for key, value in {**old.header, **entries}.items() if value is not None}
    container.write(path, header, old.tensors)
