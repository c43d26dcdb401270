"""Large batches of images in chunks against all at once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from shootax._fields import chunks
from shootax._systems import LinearSystem


@pytest.mark.parametrize(
    ("batch", "floats", "expected"),
    [
        (64, 10, 64),  # all of them fit
        (64, 20_000, 16),  # 25 fit
        (50, 20_000, 25),
        (61, 20_000, 61),  # a prime
        (64, 10**7, 1),  # not even one fits
        (0, 20_000, 0),
    ],
)
def test_size_of_chunks(batch, floats, expected):
    assert chunks.chunk_size(batch, floats, 4) == expected


@pytest.mark.parametrize("field", [sx.ConvAffine(2, (3, 3), activation="tanh"),
                                   sx.ConvUpDown(1, (3, 3), 2, activation="tanh")])  # fmt: skip
def test_values_and_gradients_do_not_depend_on_chunks(field, monkeypatch):
    control = sx.Particles.draw(field, 3, key=jax.random.key(0))
    channels = field.state.shape[0]
    z = jnp.asarray(np.random.default_rng(0).normal(size=(6, channels, 5, 4)))
    assert isinstance(control.system(field, len(z)), LinearSystem)

    def loss(control, z):
        return jnp.sum(jnp.sin(sx.flow(field, control, z, integrator=sx.RK4(2))))

    found, loops = [], []
    for cache in (chunks.CACHE, 2 * 8 * 3 * channels * 20):  # two images of 8-byte floats
        monkeypatch.setattr(chunks, "CACHE", cache)
        assert field.chunk_size(field.pack_states(z)) == (6 if not found else 2)
        jax.clear_caches()
        loops.append(str(jax.make_jaxpr(loss)(control, z)).count("scan["))
        found.append(jax.value_and_grad(loss, argnums=(0, 1))(control, z))
    assert loops[1] == loops[0] + 4  # one for each stage of a step
    for one, other in zip(*map(jax.tree.leaves, found), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
