"""θ* of a single hidden layer under the Barron penalty, by projected sub-gradient ascent."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from shootax import checks
from shootax.fields import AbstractField, SingleHiddenLayer
from shootax.maximisers.base import AbstractIterative, Maximum, precision
from shootax.maximisers.layer import incoming, pulls, weights
from shootax.penalties import Barron, Penalty


class Projected(AbstractIterative):
    """Each neuron climbs on the sphere $\\|w\\|_1 + |b| = 1$, where rescaling is used up.

    With $g(w, b) = Σ_i p_i\\, σ(⟨w, q_i⟩ + b)$ the best outgoing weights of a neuron are $d'g$, and
    they contribute $\\tfrac{d'}2 |g|^2$ to H. What is left is to maximise $|g(w, b)|$ over the
    sphere, for each neuron by itself. Both ReLU and the sphere have corners, where a maximum likes
    to sit; hence sub-gradient steps of decreasing size, each projected onto the $\\ell_1$ ball and
    scaled back to its surface. The training gradient goes back through the steps.
    """

    steps: int = eqx.field(static=True, default=5)
    rate: float = eqx.field(static=True, default=0.1)
    warmup: int = eqx.field(static=True, default=200)
    tolerance: float | None = eqx.field(static=True, default=None)
    spread: float = eqx.field(static=True, default=1.0)
    seed: int = eqx.field(static=True, default=0)

    def __check_init__(self):
        """**Arguments:**

        - `steps`, `rate`: number and first size of the steps; the $k$-th has size
            $rate/\\sqrt{k + 1}$.
        - `warmup`: steps of the first search, at $t = 0$, from directions drawn with `seed`.
        - `tolerance`: how far, relative to the size of the steps, the directions may still move in
            the last step to be called converged; by default 0.1.
        """
        checks.positive_integer(self.steps, "steps")
        checks.positive_integer(self.warmup, "warmup")
        checks.positive_number(self.rate, "rate")

    def __call__(
        self,
        field: AbstractField,
        penalty: Penalty,
        q: PyTree[Array],
        p: PyTree[Array],
        guess: PyTree[Array] | None,
    ) -> Maximum:
        assert isinstance(field, SingleHiddenLayer)
        assert isinstance(penalty, Barron)
        assert guess is not None
        start = incoming(jax.lax.stop_gradient(guess))
        directions, last = self._climb(field, q, p, start, self.steps)
        theta = _weights(field, penalty, q, p, directions)
        residual = jax.lax.stop_gradient(jnp.max(jnp.abs(directions - last)) / self.rate)
        converged = residual <= (0.1 if self.tolerance is None else self.tolerance)
        return Maximum(theta, converged, residual, jnp.array(self.steps))

    def search(
        self, field: AbstractField, penalty: Penalty, q: PyTree[Array], p: PyTree[Array]
    ) -> PyTree[Array]:
        assert isinstance(field, SingleHiddenLayer)
        assert isinstance(penalty, Barron)
        start = on_sphere(incoming(self.draw(field, precision(q))))
        directions, _ = self._climb(field, q, p, start, self.warmup)
        return _weights(field, penalty, q, p, directions)

    def _climb(
        self, field: SingleHiddenLayer, q: Array, p: Array, start: Array, steps: int
    ) -> tuple[Array, Array]:
        def height(directions: Array) -> Array:
            # The logarithm makes steps independent of the scale of the momenta.
            pull = pulls(field, q, p, directions)
            return jnp.sum(0.5 * jnp.log(jnp.sum(pull**2, axis=1) + 1e-12))

        def step(carry: tuple[Array, Array], k: Array) -> tuple[tuple[Array, Array], None]:
            directions, _ = carry
            size = self.rate / jnp.sqrt(k)
            slope = jnp.clip(jax.grad(height)(directions), -1, 1)
            new = on_sphere(project(directions + size * slope))
            return (new, directions), None

        return jax.lax.scan(step, (start, start), jnp.arange(1, steps + 1, dtype=q.dtype))[0]


def project(directions: Float[Array, "width dim_1"]) -> Float[Array, "width dim_1"]:
    """The nearest point of the ball $\\|u\\|_1 ≤ 1$ for each row: a soft threshold."""
    sizes = jnp.abs(directions)
    ordered = jnp.flip(jnp.sort(sizes, axis=1), axis=1)
    excess = jnp.cumsum(ordered, axis=1) - 1
    counts = jnp.arange(1, directions.shape[1] + 1, dtype=directions.dtype)[None]
    thresholds = jnp.where(ordered * counts > excess, excess / counts, -jnp.inf)
    threshold = jnp.maximum(jnp.max(thresholds, axis=1, keepdims=True), 0)
    return jnp.sign(directions) * jnp.maximum(sizes - threshold, 0)


def on_sphere(directions: Float[Array, "width dim_1"]) -> Float[Array, "width dim_1"]:
    """Each row scaled to $\\|u\\|_1 = 1$."""
    return directions / (jnp.sum(jnp.abs(directions), axis=1, keepdims=True) + 1e-30)


def _weights(
    field: SingleHiddenLayer, penalty: Barron, q: Array, p: Array, directions: Array
) -> dict[str, Array]:
    theta = weights(field.width * pulls(field, q, p, directions), directions)
    return {**theta, "b1": jnp.sum(p, axis=0) / penalty.bias} if field.bias else theta
