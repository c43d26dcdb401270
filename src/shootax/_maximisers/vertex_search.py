"""θ* of a single hidden layer of ReLUs under the Barron penalty: neurons move from corner to corner."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from shootax import _checks as checks
from shootax._activations import relu
from shootax._fields import AbstractField, HiddenLayer
from shootax._maximisers.base import AbstractIterative, Maximum, precision
from shootax._maximisers.hidden_layer import arguments, incoming, pulls, weights
from shootax._maximisers.requirements import hidden_layer, require_theta
from shootax._penalties import Barron, Penalty


class VertexSearch(AbstractIterative):
    """Move each neuron from vertex to vertex, for ReLU and the [`shootax.Barron`][] penalty.

    Rescaling a neuron changes nothing, so each is a point on the sphere $\\|w\\|_1 + |b| = 1$.
    With $g(w, b) = Σ_i p_i\\, σ(⟨w, q_i⟩ + b)$ the best outgoing weights of a neuron are $d'g$, and
    they contribute $\\tfrac{d'}2 |g|^2$ to H. What remains is to maximise $|g(w, b)|$ over
    the sphere, for each neuron separately. The kinks $⟨w, q_i⟩ + b = 0$ and the edges of the sphere cut
    it into pieces on which $|g|$ is convex, so that a maximum is at a corner, where $d$ of these
    planes meet. The first search climbs by projected sub-gradients to the neighbourhood of one.
    From there, and from the last θ* later, a neuron moves along edges to the highest neighbouring
    corner until there is no higher one. Corners move with the particles, and so do the derivatives.

    **Arguments:**

    - `pivots`: how many times a neuron may move to another corner in one solve.
    - `warmup`, `rate`: number and first size of the sub-gradient steps of the first search, from
        directions drawn with `spread` and `seed`; the $k$-th has size $rate/\\sqrt{k}$.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.SingleHiddenLayer(dim=2, width=4, activation="relu")
        control = sx.Particles.draw(field, 5, penalty=sx.Barron(), key=jax.random.key(0))
        print(type(control.maximiser).__name__)  # VertexSearch
        ```
    """

    pivots: int = eqx.field(static=True, default=3)
    warmup: int = eqx.field(static=True, default=200)
    rate: float = eqx.field(static=True, default=0.05)
    spread: float = eqx.field(static=True, default=1.0)
    seed: int = eqx.field(static=True, default=0)

    def __check_init__(self):
        checks.positive_integer(self.pivots, "pivots")
        checks.positive_integer(self.warmup, "warmup")
        checks.positive_number(self.rate, "rate")

    @property
    def smooth(self) -> bool:
        return False

    @staticmethod
    def suits(field: AbstractField, penalty: Penalty) -> bool:
        """Whether this maximiser is for this field and penalty."""
        layer = field.as_hidden_layer()
        return layer is not None and layer.activation is relu and isinstance(penalty, Barron)

    def check(self, field: AbstractField, penalty: Penalty) -> None:
        require_theta(self, field)
        if not self.suits(field, penalty):
            raise ValueError(
                "VertexSearch is for SingleHiddenLayer with ReLU and the Barron penalty, got "
                f"{type(field).__name__} with {type(penalty).__name__}. Use Newton() or Unrolled()."
            )

    def __call__(
        self,
        field: AbstractField,
        penalty: Penalty,
        q: PyTree[Array],
        p: PyTree[Array],
        guess: PyTree[Array] | None,
    ) -> Maximum:
        assert isinstance(penalty, Barron)
        assert guess is not None
        corner, gain = _ascend(q, p, incoming(guess), self.pivots)
        theta = _weights(hidden_layer(field), penalty, q, p, corner)
        return Maximum(theta, gain <= 0, gain, jnp.array(self.pivots))

    def refine(
        self,
        field: AbstractField,
        penalty: Penalty,
        q: PyTree[Array],
        p: PyTree[Array],
        theta: PyTree[Array],
    ) -> PyTree[Array]:
        assert isinstance(penalty, Barron)
        held = jax.lax.stop_gradient((_planes(q), incoming(theta)))
        corner = jax.vmap(_nearest, in_axes=(None, 0))(*held)
        return _weights(hidden_layer(field), penalty, q, p, corner)

    def search(
        self, field: AbstractField, penalty: Penalty, q: PyTree[Array], p: PyTree[Array]
    ) -> PyTree[Array]:
        assert isinstance(penalty, Barron)
        start = on_sphere(incoming(self.draw(field, precision(q))))
        # A neuron that no particle excites would never move; its opposite is excited by all.
        opposite = heights(q, p, -start) > heights(q, p, start)
        climbed = self._climb(q, p, jnp.where(opposite[:, None], -start, start))
        corner, _ = _ascend(q, p, climbed, 8 * self.pivots)
        return _weights(hidden_layer(field), penalty, q, p, corner)

    def _climb(self, q: Array, p: Array, start: Array) -> Array:
        def height(u: Array) -> Array:
            # The logarithm makes steps independent of the scale of the momenta.
            return jnp.sum(0.5 * jnp.log(heights(q, p, u) + 1e-12))

        def step(u: Array, k: Array) -> tuple[Array, None]:
            slope = jnp.clip(jax.grad(height)(u), -1, 1)
            return on_sphere(project(u + self.rate / jnp.sqrt(k) * slope)), None

        return jax.lax.scan(step, start, jnp.arange(1, self.warmup + 1, dtype=q.dtype))[0]


class Corner(NamedTuple):
    """Where $d$ planes meet on a side of the sphere, which is given by the signs of the entries."""

    planes: Int[Array, "*width dim"]
    side: Float[Array, "*width dim_1"]


def _planes(q: Float[Array, "K dim"]) -> Float[Array, "planes dim_1"]:
    """The normals of all planes: first the edges of the sphere, then the kinks."""
    kinks = jnp.concatenate([q, jnp.ones((q.shape[0], 1), q.dtype)], axis=1)
    kinks = kinks / jnp.max(jnp.abs(kinks), axis=1, keepdims=True)
    return jnp.concatenate([jnp.eye(q.shape[1] + 1, dtype=q.dtype), kinks])


def _place(planes: Array, corner: Corner) -> Float[Array, "*width dim_1"]:
    """The point of a corner, or of many."""
    matrix = jnp.concatenate([planes[corner.planes], corner.side[..., None, :]], axis=-2)
    wanted = jnp.zeros_like(corner.side).at[..., -1].set(1)
    return on_sphere(jnp.linalg.solve(matrix, wanted[..., None])[..., 0])


def _nearest(planes: Array, u: Float[Array, " dim_1"]) -> Corner:
    """The corner of the planes nearest to a point, no two of them nearly equal."""
    side = jnp.where(u >= 0, 1.0, -1.0).astype(u.dtype)
    order = jnp.argsort(jnp.abs(planes @ u))
    # Taken in this order, each if it is independent of those before.
    basis = [side / jnp.linalg.norm(side)]
    chosen = []
    free = jnp.ones(len(planes), bool)
    for _ in range(u.size - 1):
        frame = jnp.stack(basis)
        rest = planes - (planes @ frame.T) @ frame
        new = jnp.linalg.norm(rest, axis=1) > 1e-3 * jnp.linalg.norm(planes, axis=1)
        first = order[jnp.argmax((new & free)[order])]
        free = free.at[first].set(False)
        basis.append(rest[first] / jnp.linalg.norm(rest[first]))
        chosen.append(first)
    return Corner(jnp.stack(chosen), side)


def _ascend(q: Array, p: Array, u: Array, pivots: int) -> tuple[Corner, Array]:
    """For each neuron a corner with no higher neighbour, if `pivots` moves reach one, and the largest
    relative rise that is still possible. All of it is piecewise constant."""
    q, p, u = jax.lax.stop_gradient((q, p, u))
    planes = _planes(q)
    corner = jax.vmap(_nearest, in_axes=(None, 0))(planes, u)

    def step(corner: Corner, _: None) -> tuple[Corner, Array]:
        around = jax.vmap(_neighbours, in_axes=(None, 0))(planes, corner)
        places = jax.vmap(_place, in_axes=(None, 0))(planes, around)
        here = heights(q, p, _place(planes, corner))
        there = jax.vmap(heights, in_axes=(None, None, 0))(q, p, places)
        there = jnp.where(jnp.isfinite(there), there, 0)
        best = jnp.argmax(there, axis=1)
        rise = jnp.max(there, axis=1) / jnp.maximum(here, jnp.finfo(q.dtype).tiny) - 1
        rises = rise > 100 * jnp.finfo(q.dtype).eps
        moved = jax.tree.map(
            lambda new, old: jnp.where(rises[:, None], _take(new, best), old), around, corner
        )
        return moved, jnp.where(rises & (jnp.max(there, axis=1) > 0), rise, 0)

    # The last iteration usually only checks.
    corner, rises = jax.lax.scan(step, corner, None, length=pivots + 1)
    return corner, jnp.max(rises[-1])


def _take(table: Array, index: Array) -> Array:
    return jax.vmap(lambda lines, i: lines[i])(table, index)


def _neighbours(planes: Array, corner: Corner) -> Corner:
    """The neighbours of a corner: along each edge, i.e. leaving one of its planes, in both directions."""
    u, dim = _place(planes, corner), corner.planes.size
    size = dim + 1

    def along(leave: Array, sign: Array) -> Corner:
        left = corner.planes[leave]
        # To leave an edge of the sphere is to enter the side of that sign.
        side = jnp.where(jnp.arange(size) == left, sign, corner.side)
        matrix = jnp.concatenate([planes[corner.planes], side[None]])
        way = jnp.linalg.solve(matrix, sign * jnp.eye(size, dtype=u.dtype)[leave])
        speed = planes @ way
        length = -(planes @ u) / jnp.where(speed == 0, 1, speed)
        ahead = ((speed != 0) & (length > 1e-6)).at[corner.planes].set(False)
        hit = jnp.argmin(jnp.where(ahead, length, jnp.inf))
        found = Corner(corner.planes.at[leave].set(hit), side)
        return jax.tree.map(lambda new, old: jnp.where(jnp.any(ahead), new, old), found, corner)

    leave = jnp.repeat(jnp.arange(dim), 2)
    sign = jnp.tile(jnp.array([1.0, -1.0], u.dtype), dim)
    return jax.vmap(along)(leave, sign)


def heights(q: Array, p: Array, u: Float[Array, "width dim_1"]) -> Float[Array, " width"]:
    """$|g(w, b)|^2$ of each neuron."""
    return jnp.sum((relu(arguments(q, u)) @ p) ** 2, axis=1)


def project(directions: Float[Array, "width dim_1"]) -> Float[Array, "width dim_1"]:
    """The nearest point of the ball $\\|u\\|_1 ≤ 1$ for each row: a soft threshold."""
    sizes = jnp.abs(directions)
    ordered = jnp.flip(jnp.sort(sizes, axis=1), axis=1)
    excess = jnp.cumsum(ordered, axis=1) - 1
    counts = jnp.arange(1, directions.shape[1] + 1, dtype=directions.dtype)[None]
    thresholds = jnp.where(ordered * counts > excess, excess / counts, -jnp.inf)
    threshold = jnp.maximum(jnp.max(thresholds, axis=1, keepdims=True), 0)
    return jnp.sign(directions) * jnp.maximum(sizes - threshold, 0)


def on_sphere(directions: Float[Array, "*width dim_1"]) -> Float[Array, "*width dim_1"]:
    """Each row scaled to $\\|u\\|_1 = 1$."""
    return directions / (jnp.sum(jnp.abs(directions), axis=-1, keepdims=True) + 1e-30)


def _weights(
    layer: HiddenLayer, penalty: Barron, q: Array, p: Array, corner: Corner
) -> dict[str, Array]:
    directions = _place(_planes(q), corner)
    theta = weights(layer.width * pulls(layer, q, p, directions), directions)
    return {**theta, "b1": jnp.sum(p, axis=0) / penalty.bias} if layer.bias else theta
