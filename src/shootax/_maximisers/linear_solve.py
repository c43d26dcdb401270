"""θ* where H is a quadratic function of θ, by one linear solve."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, PyTree

from shootax import _checks as checks
from shootax._fields import AbstractBlockField, AbstractField
from shootax._fields.base import zeros
from shootax._hamiltonian import hamiltonian
from shootax._maximisers.base import AbstractMaximiser, Maximum, precision
from shootax._maximisers.requirements import require_quadratic, require_theta
from shootax._penalties import Penalty, Quadratic, Transport


class LinearSolve(AbstractMaximiser):
    """$θ^* = -(∂_θ^2 H)^{-1}\\, ∂_θ H(0)$, for fields linear in θ and penalties quadratic in it.

    In general this is a dense solve of the size of θ. For a block field with [`shootax.Transport`][]
    the equations split into one least-squares problem for each part of the state, of the size of
    its features or of the number of particles, whichever is smaller.

    **Arguments:**

    - `drift`: whether the field has a part that is free of θ.
    - `structured`: whether to use the structure of block fields.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.Affine(dim=2, activation="tanh")
        control = sx.Particles.draw(field, 5, penalty=sx.Transport(),
                                    maximiser=sx.maximisers.LinearSolve(), key=jax.random.key(0))
        ```
    """

    drift: bool = eqx.field(static=True, default=False)
    structured: bool = eqx.field(static=True, default=True)

    def __check_init__(self):
        checks.boolean(self.drift, "drift")
        checks.boolean(self.structured, "structured")

    @property
    def conserves(self) -> bool:
        return not self.drift

    def check(self, field: AbstractField, penalty: Penalty) -> None:
        require_theta(self, field)
        require_quadratic(self, field, penalty, (Quadratic, Transport), self.drift)

    def __call__(
        self,
        field: AbstractField,
        penalty: Penalty,
        q: PyTree[Array],
        p: PyTree[Array],
        guess: PyTree[Array] | None,
    ) -> Maximum:
        blocks = field.as_blocks() if self.structured and not self.drift else None
        if blocks is not None and isinstance(penalty, Transport):
            theta = least_squares(blocks, penalty, q, p)
        else:
            theta = _dense(field, penalty, q, p)
        return Maximum(theta, jnp.array(True), jnp.array(0.0), jnp.array(1))


def _dense(
    field: AbstractField, penalty: Penalty, q: PyTree[Array], p: PyTree[Array]
) -> PyTree[Array]:
    origin = jax.tree.map(lambda leaf: leaf.astype(precision(q)), zeros(field.theta))
    flat, unravel = ravel_pytree(origin)

    def energy(x: Array) -> Array:
        return hamiltonian(field, penalty, q, p, unravel(x))

    curvature = -jax.hessian(energy)(flat)
    return unravel(jnp.linalg.solve(curvature, jax.grad(energy)(flat)))


def least_squares(
    field: AbstractBlockField, penalty: Transport, q: Array, p: Array
) -> dict[str, Array]:
    """θ* of a block field under the transport penalty, part by part.

    With the features Φ that act on a part $a$:
    $Θ_a^⊤ = (Φ^⊤Φ/K + λ)^{-1} Φ^⊤ p_a = Φ^⊤ (ΦΦ^⊤/K + λ)^{-1} p_a$.
    """
    layout, count = field.layout, q.shape[0]
    places, columns, shapes = layout.part_slices(), layout.feature_slices(), field.theta
    phi = field.features(q)
    theta = {}
    for part, place in places.items():
        blocks = [block for block in layout.blocks if block.target == part]
        if not blocks:
            continue
        used = jnp.concatenate([phi[:, columns[block.feature]] for block in blocks], axis=1)
        if used.shape[1] <= count:
            gram = used.T @ used / count + penalty.ridge * jnp.eye(used.shape[1], dtype=q.dtype)
            matrix = jnp.linalg.solve(gram, used.T @ p[:, place])
        else:
            gram = used @ used.T / count + penalty.ridge * jnp.eye(count, dtype=q.dtype)
            matrix = used.T @ jnp.linalg.solve(gram, p[:, place])
        start = 0
        for block in blocks:
            width = columns[block.feature].stop - columns[block.feature].start
            lines = matrix[start : start + width].T
            theta[block.name] = lines.reshape(shapes[block.name].shape)
            start += width
    return {name: theta[name] for name in shapes}
