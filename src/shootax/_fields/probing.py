"""Random points at which a field is evaluated.

A field need not be defined everywhere: `sqrt` needs positive numbers, `arcsin` small ones. Points are
therefore drawn in several ways, and only numbers that are finite on both sides are compared.
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
    """Draw each entry in one of the ways, for fields that need different ranges for different entries."""
    ways = np.stack([sample(rng, shape) for sample in SAMPLERS])
    return np.take_along_axis(ways, rng.integers(len(SAMPLERS), size=(1, *shape)), 0)[0]


def samplers(usual: int, unusual: int) -> Iterator[Sampler]:
    """Yield normal numbers `usual` times, then each way to draw `unusual` times."""
    yield from (SAMPLERS[0],) * usual
    yield from (*SAMPLERS[1:], *(mixed,) * 4) * unusual


def draw(template: PyTree, sample: Sampler, rng: np.random.Generator) -> list[np.ndarray]:
    """Draw random numbers of the default precision for each leaf of a state or of θ."""
    dtype = jnp.result_type(float)
    return [np.asarray(sample(rng, leaf.shape), dtype) for leaf in jax.tree.leaves(template)]


def flat(leaves: list[np.ndarray]) -> np.ndarray:
    """All entries as one vector of doubles."""
    return np.concatenate([np.zeros(0), *(np.ravel(leaf).astype(float) for leaf in leaves)])
