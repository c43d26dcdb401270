"""The flow of a trained model on a fine grid, and its derivative."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

import shootax as sx
from shootax.theory._model import WeightPath

LARGEST_STATE = 600
"""The largest number of entries of a state for which the Jacobian is computed. For larger states, slopes
between samples are measured instead."""


class Measured(NamedTuple):
    """Values measured on the data: states `(nodes, samples, state)`, the largest speed, singular values
    of the Jacobian at the end `(points, state)`, if it was computed, and the error of flowing back."""

    states: np.ndarray
    speed: float
    jacobians: np.ndarray | None
    singular_values: np.ndarray | None
    inverse_error: float
    quotients: np.ndarray


def measure(net: sx.Net, path: WeightPath, start: Array, points: int) -> Measured:
    """Integrate the states `start` with the weights of `path`, to the end and back."""
    shape = start.shape[1:]
    flat = jnp.reshape(start, (len(start), -1))
    h = jnp.asarray(path.T / path.steps, flat.dtype)
    states, speeds = _forward(net.field, path.theta, flat, h, shape)
    turned = jax.tree.map(lambda leaf: leaf[::-1, ::-1], path.theta)
    back, _ = _forward(net.field, turned, states[-1], -h, shape)
    nodes = np.asarray(states)
    if not np.isfinite(nodes).all():
        raise ValueError(
            "The data leave every bounded region in this model (its states are not finite), so there is "
            "nothing to certify. Train the model with a larger penalty strength."
        )
    jacobians = singular = None
    if flat.shape[1] <= LARGEST_STATE:
        jacobians = np.asarray(_tangent(net.field, path.theta, flat[:points], h, shape))
        singular = np.linalg.svd(jacobians, compute_uv=False)
    return Measured(
        states=nodes,
        speed=float(speeds.max()),
        jacobians=jacobians,
        singular_values=singular,
        inverse_error=float(jnp.abs(back[-1] - flat).max()),
        quotients=_quotients(nodes[0], nodes[-1]),
    )


def _quotients(before: np.ndarray, after: np.ndarray, most: int = 200) -> np.ndarray:
    """$|φ(a) - φ(b)|/|a - b|$ for pairs of samples."""
    i, j = np.triu_indices(min(len(before), most), k=1)
    apart = np.linalg.norm(before[i] - before[j], axis=1)
    keep = apart > 1e-6 * (1 + np.abs(before).max())  # below this, rounding errors dominate
    return np.linalg.norm(after[i[keep]] - after[j[keep]], axis=1) / apart[keep]


@eqx.filter_jit
def _forward(
    field: sx.AbstractField, theta: PyTree, z: Float[Array, "samples state"], h: Array, shape: tuple
) -> tuple[Array, Array]:
    """The states at all nodes, and the largest speed in each step, by RK4."""

    def velocity(z: Array, theta: PyTree) -> Array:
        return jax.vmap(lambda one: jnp.ravel(field(one.reshape(shape), theta)))(z)

    def step(z: Array, thetas: PyTree) -> tuple[Array, tuple[Array, Array]]:
        first, middle, last = (jax.tree.map(lambda leaf: leaf[i], thetas) for i in range(3))  # noqa: B023
        k1 = velocity(z, first)
        k2 = velocity(z + h / 2 * k1, middle)
        k3 = velocity(z + h / 2 * k2, middle)
        k4 = velocity(z + h * k3, last)
        new = z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return new, (new, jnp.max(jnp.linalg.norm(k1, axis=1)))

    _, (nodes, speeds) = jax.lax.scan(step, z, theta)
    return jnp.concatenate([z[None], nodes]), speeds


@eqx.filter_jit
def _tangent(
    field: sx.AbstractField, theta: PyTree, z: Float[Array, "points state"], h: Array, shape: tuple
) -> Array:
    """The Jacobian of the flow at the end: $\\dot J = Df(z, θ) J$, $J(0) = 1$."""

    def velocity(y: tuple, theta: PyTree) -> tuple[Array, Array]:
        z, J = y

        def one(z: Array) -> Array:
            return jnp.ravel(field(z.reshape(shape), theta))

        return jax.vmap(one)(z), jax.vmap(jax.jacfwd(one))(z) @ J

    def add(y: tuple, k: tuple, factor: Array) -> tuple:
        return jax.tree.map(lambda a, b: a + factor * b, y, k)

    def step(y: tuple, thetas: PyTree) -> tuple[tuple, None]:
        first, middle, last = (jax.tree.map(lambda leaf: leaf[i], thetas) for i in range(3))  # noqa: B023
        k1 = velocity(y, first)
        k2 = velocity(add(y, k1, h / 2), middle)
        k3 = velocity(add(y, k2, h / 2), middle)
        k4 = velocity(add(y, k3, h), last)
        total = jax.tree.map(lambda a, b, c, d: a + 2 * b + 2 * c + d, k1, k2, k3, k4)
        return add(y, total, h / 6), None

    eye = jnp.eye(z.shape[1], dtype=z.dtype)
    start = (z, jnp.broadcast_to(eye, (len(z), *eye.shape)))
    (_, J), _ = jax.lax.scan(step, start, theta)
    return J
