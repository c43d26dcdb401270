"""The limit of the machine: the time of the necessary operations at the machine's best rate.

For UpDown with $H = αd$, $K$ particles and a batch of $N$, one evaluation of the equations needs

- with θ built, $2(H^2 + 2dH)(N + 3K)$ operations: θ from the particles, the velocities of data and
    particles, and the forces on the particles;
- by kernels, $4K(H + d)(N + 2K)$: Gram matrices and velocities of data and particles, and the same two
    products again among the particles for their forces.

A reverse pass has two products for each product of the forward pass, so a training step needs three times
the operations of its forward pass. Biases, activations, Adam and the lift are not counted.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.speed.cases import Case

STAGES = 4
SIZE = 512


def evaluation_flops(case: Case) -> dict[str, int]:
    """Additions and multiplications of one evaluation of the equations, in either form."""
    d, hidden, count, batch = case.dim, case.hidden, case.particles, case.batch
    return {
        "dense": 2 * (hidden**2 + 2 * d * hidden) * (batch + 3 * count),
        "kernel": 4 * count * (hidden + d) * (batch + 2 * count),
    }


def step_flops(case: Case) -> int:
    """Additions and multiplications of a training step in the cheaper form."""
    return 3 * STAGES * case.steps * min(evaluation_flops(case).values())


def product_runner() -> Callable[[], Any]:
    """A product of two 512 × 512 matrices of single precision."""
    a = jax.random.normal(jax.random.key(0), (SIZE, SIZE), jnp.float32)
    product = jax.jit(jnp.dot)
    return lambda: jax.block_until_ready(product(a, a))


def rate(seconds: float) -> float:
    """Operations per second, given the seconds of one product."""
    return 2 * SIZE**3 / seconds
