"""Many states through one θ, in the layout that is fastest for the field at hand.

For a block field θ is packed into its matrix Θ once, and a batch of states is one product; for any
other field θ stays as it is and `f` is mapped over the rows.
"""

import jax
from jaxtyping import Array, PyTree

from shootax._fields.base import AbstractField
from shootax._fields.block import AbstractBlockField


def pack(field: AbstractField, theta: PyTree[Array]) -> PyTree[Array]:
    """θ in the layout that `velocity` takes."""
    return field.pack(theta) if isinstance(field, AbstractBlockField) else theta


def unpack(field: AbstractField, packed: PyTree[Array]) -> PyTree[Array]:
    """θ as the field itself takes it."""
    return field.unpack(packed) if isinstance(field, AbstractBlockField) else packed


def velocity(field: AbstractField, z: PyTree[Array], packed: PyTree[Array]) -> PyTree[Array]:
    """$f(z_i, θ)$ for all rows $i$."""
    if isinstance(field, AbstractBlockField):
        out = field.features(z) @ packed.T
        return (
            out - field.damping_vector()[None].astype(z.dtype) * z if field.layout.damping else out
        )
    return jax.vmap(field, in_axes=(0, None))(z, packed)
