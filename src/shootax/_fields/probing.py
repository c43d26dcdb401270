"""Random points at which a field is tried out.

A field need not be defined everywhere: `sqrt` wants positive numbers, `arcsin` small ones. So points are
drawn in several ways, and a comparison counts where it has finite numbers on both sides.
"""

from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

Sampler = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]

SAMPLERS: tuple[Sampler, ...] = (
    lambda rng, shape: rng.normal(size=shape),
    lambda rng, shape: rng.uniform(0, 1, shape),
    lambda rng, shape: rng.uniform(1, 3, shape),
    lambda rng, shape: rng.uniform(-1, 0, shape),
)


def mixed(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Each entry in one of the ways, for fields that want different ranges of different entries."""
    ways = np.stack([sample(rng, shape) for sample in SAMPLERS])
    return np.take_along_axis(ways, rng.integers(len(SAMPLERS), size=(1, *shape)), 0)[0]


def samplers(usual: int, unusual: int) -> Iterator[Sampler]:
    """Normal numbers `usual` times, then every way to draw `unusual` times."""
    yield from (SAMPLERS[0],) * usual
    yield from (*SAMPLERS[1:], *(mixed,) * 4) * unusual


def draw(template: PyTree, sample: Sampler, rng: np.random.Generator) -> list[np.ndarray]:
    """Random numbers of the default precision for each leaf of a state or of θ."""
    dtype = jnp.result_type(float)
    return [np.asarray(sample(rng, leaf.shape), dtype) for leaf in jax.tree.leaves(template)]


def flat(leaves: list[np.ndarray]) -> np.ndarray:
    """All entries as one vector of doubles."""
    return np.concatenate([np.zeros(0), *(np.ravel(leaf).astype(float) for leaf in leaves)])
