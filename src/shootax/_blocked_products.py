"""Matrix products in blocks for which XLA writes out fast code."""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from shootax._jaxpr import JaxprEqn

# XLA writes out a product of (m, k) and (k, n) for the registers of the processor if k is at most FULL,
# or if k and the larger of m and n are at most LONG and the smaller is at most SHORT. Its code for other
# products, and for transposed factors, is 10 to 20 times slower (measured on the CPU, jaxlib 0.10.2).
FULL, SHORT, LONG = 20, 32, 128


def multiplications(eqn: JaxprEqn) -> int:
    """The number of multiplications in a `dot_general`, without those of its batch."""
    (over, _), (together, _) = eqn.params["dimension_numbers"]
    left, right = (one.shape for one in _factors(eqn))
    k, batch = (math.prod(left[axis] for axis in axes) for axes in (over, together))
    return math.prod(left) * math.prod(right) // max(1, k * batch**2)


def in_blocks(eqn: JaxprEqn) -> JaxprEqn:
    """The same product in blocks, of factors that are not transposed. Products of vectors, and those with
    other types of numbers, are returned unchanged."""
    left, right = _factors(eqn)
    wanted = eqn.params["preferred_element_type"]
    floating = left.dtype == right.dtype and jnp.issubdtype(left.dtype, jnp.floating)
    # NumPy takes `None` for float64 when it compares types.
    same = wanted is None or wanted == left.dtype
    if not floating or not same or 0 in (*left.shape, *right.shape):
        return eqn
    function = functools.partial(
        _blocked,
        dimensions=eqn.params["dimension_numbers"],
        precision=eqn.params["precision"],
    )
    (call,) = jax.make_jaxpr(jax.jit(function))(left, right).eqns
    return call.replace(invars=eqn.invars, outvars=eqn.outvars)


def _factors(eqn: JaxprEqn) -> list[Any]:
    return [var.aval for var in eqn.invars]


def _blocked(a: Array, b: Array, *, dimensions: Any, precision: Any) -> Array:
    (over_a, over_b), (batch_a, batch_b) = dimensions
    free_a, free_b = (
        [axis for axis in range(one.ndim) if axis not in (*over, *batch)]
        for one, over, batch in ((a, over_a, batch_a), (b, over_b, batch_b))
    )
    batch = [a.shape[axis] for axis in batch_a]
    rows, columns = ([one.shape[i] for i in free] for one, free in ((a, free_a), (b, free_b)))
    k = math.prod(a.shape[axis] for axis in over_a)
    a = a.transpose(*batch_a, *free_a, *over_a).reshape(*batch, math.prod(rows), k)
    b = b.transpose(*batch_b, *over_b, *free_b).reshape(*batch, k, math.prod(columns))
    if min(math.prod(rows), math.prod(columns), k) > 1:
        # Otherwise XLA would multiply the transposed factors themselves.
        a, b = jax.lax.optimization_barrier((a, b))
    product = _split(a, b, functools.partial(jnp.matmul, precision=precision))
    return product.reshape(*batch, *rows, *columns)


def _split(a: Array, b: Array, matmul: Any) -> Array:
    """The product of two matrices, or batches of them, halved until every part is fast."""
    (m, k), n = a.shape[-2:], b.shape[-1]
    few, many = sorted((m, n))
    if few <= 1 or k <= FULL or (k <= LONG and few <= SHORT and many <= LONG):
        return matmul(a, b)
    if k > LONG:
        at = _half(k)
        first = _split(a[..., :at], b[..., :at, :], matmul)
        return first + _split(a[..., at:], b[..., at:, :], matmul)
    if m >= n:
        at = _half(m)
        halves = [_split(part, b, matmul) for part in (a[..., :at, :], a[..., at:, :])]
        return jnp.concatenate(halves, axis=-2)
    at = _half(n)
    halves = [_split(a, part, matmul) for part in (b[..., :at], b[..., at:])]
    return jnp.concatenate(halves, axis=-1)


def _half(size: int) -> int:
    """About half of a size, in whole registers of eight numbers."""
    return 8 * -(-size // 16)
