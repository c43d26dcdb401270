"""Programs run by NumPy give the numbers of JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_fields import FUNCTIONS

from shootax._fields.host import run

A = np.random.default_rng(0).uniform(0.1, 0.9, (3, 4))
A3 = np.random.default_rng(1).normal(size=(4, 3, 2))
PROGRAMS = {
    "elementwise": lambda a: [function(a[0]) for function in FUNCTIONS.values()],
    "erf": lambda a: (jax.nn.gelu(a, approximate=False), jax.scipy.special.erfc(a)),
    "trigonometry": lambda a: (
        jnp.tan(a),
        jnp.arctan2(a, a.T[:1, :1]),
        jnp.arcsinh(a),
        jnp.arctanh(a),
    ),
    "roots": lambda a: (jnp.cbrt(a), jax.lax.rsqrt(a), a**-2, a**0.3, jnp.exp2(a)),
    "batched": lambda a: jnp.einsum("ij,ikj->ik", a, jnp.stack([a, a + 1, a**2], axis=1)),
    "batched elsewhere": lambda a: jnp.einsum("ijb,bki->bjk", A3, jnp.stack([a[:2], a[1:]])),
    "outer": lambda a: (jnp.outer(a[0], a[:, 0]), jnp.tensordot(a, a, 2), a @ a.T),
    "padded": lambda a: (
        jnp.pad(a, ((1, 2), (0, 1))),
        jax.lax.pad(a, 0.0, ((-1, 0, 0), (0, 0, 1))),
    ),
    "moved": lambda a: (
        a[::2, ::-1],
        a.T.reshape(2, 6),
        jnp.split(a, 2, axis=1),
        jnp.squeeze(a[:1]),
    ),
    "integers": lambda a: jnp.arange(7) // 2 * (a > 0.5).sum() - jnp.abs(jnp.arange(7) - 3),
    "reduced": lambda a: (a.max(axis=0), a.sum(), jnp.cumsum(a, axis=1), jnp.sort(a)),
    "loops": lambda a: jax.lax.fori_loop(0, 3, lambda _, s: jnp.sin(s), a),
    "gradient": lambda a: jax.grad(lambda s: jnp.sum(jnp.clip(s[1:] @ a.T, 0.2, 0.8) ** 3))(a),
    "updated": lambda a: a.at[1, ::2].add(a[0, :2]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_host_computes_what_jax_computes(name):
    with jax.numpy_rank_promotion("allow"):
        function = PROGRAMS[name]
        got = run(jax.make_jaxpr(function)(A), [A])
        wanted = jax.tree.leaves(jax.jit(function)(jnp.asarray(A)))
    assert len(got) == len(wanted)
    for ours, theirs in zip(got, wanted, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        tolerance = 1e-3 if name == "elementwise" else 1e-12  # some round to half precision
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def test_arrays_that_are_being_traced_are_refused():
    def outer(scale):
        return run(jax.make_jaxpr(lambda a: a * scale)(1.0), [np.array(1.0)])[0]

    with pytest.raises(TypeError):
        jax.jit(outer)(2.0)
