"""What a plain network costs, and what fewer steps cost in accuracy."""

import dataclasses
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from shootax import _checks as checks
from shootax._arrays import as_arrays
from shootax._bake import bake
from shootax._controls import AbstractParticleControl, Particles
from shootax._disk_cache import keeping_programs
from shootax._fields import AbstractField, infer_layout
from shootax._integrators import AbstractFixedStep
from shootax._measures import count
from shootax._net import Net
from shootax._paths import one_net
from shootax._systems import cheaper, operations


class Baked(NamedTuple):
    """One line of [`shootax.bake_report`][].

    **Arguments:**

    - `steps`: the number of steps of the baked network.
    - `error`, `largest`: root mean square and largest difference from the outputs of the live model.
    - `parameters`: the number of weights of the baked network.
    - `evaluations`: how often each sample goes through the field.
    - `operations`: additions and multiplications for one sample.
    - `live_operations`: those of the live model, its particles shared among the batch.
    """

    steps: int
    error: float
    largest: float
    parameters: int
    evaluations: int
    operations: int
    live_operations: int


@keeping_programs
def bake_report(
    net: Net, x: PyTree[Array], *, steps: Iterable[int] | None = None
) -> tuple[Baked, ...]:
    """For several numbers of steps: how far the baked net is from the live one, and what it costs.

    θ(t) is always that of the live net; only the data take fewer steps. The first line is the net's
    own number of steps, where the two differ by rounding alone.

    **Arguments:**

    - `net`: a net that is not baked, with a fixed-step integrator.
    - `x`: a batch of inputs to compare on. The live model's cost is shared among its samples.
    - `steps`: the numbers of steps; by default those of the net, and one, two and so on to eight
        times fewer.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        x = jax.random.normal(jax.random.key(1), (100, 1))
        for line in sx.bake_report(net, x, steps=(10, 5)):
            print(line.steps, line.error, line.operations)
        plain = sx.bake(net, integrator=sx.RK4(steps=5))
        ```
    """
    one_net(net, "bake_report")
    own = _fixed_step(net)
    if steps is None:
        steps = sorted({-(-own.steps // n) for n in range(1, 9)}, reverse=True)
    x = as_arrays(x)
    truth = net(x)
    batch = jax.tree.leaves(x)[0].shape[0]
    live = _live_operations(net, batch) * own.steps * len(own.fractions)
    lines = []
    for number in checks.sequence(steps, "steps", "steps=(10, 5)"):
        number = checks.positive_integer(number, "steps")
        coarse = dataclasses.replace(own, steps=number)
        plain = bake(net, integrator=coarse)
        gap = jax.tree.map(jnp.subtract, plain(x), truth)
        gaps = jax.tree.leaves(gap)
        mean = sum(float(jnp.sum(g**2)) for g in gaps) / sum(g.size for g in gaps)
        evaluations = number * len(own.fractions)
        lines.append(
            Baked(
                steps=number,
                error=mean**0.5,
                largest=_largest(gap),
                parameters=count(plain),
                evaluations=evaluations,
                operations=evaluations * _sample_operations(net.field, plain.control.theta),
                live_operations=int(live),
            )
        )
    return tuple(lines)


@keeping_programs
def bake_within(net: Net, x: PyTree[Array], tolerance: float = 1e-3) -> Net:
    """The plain network with the fewest steps whose outputs stay close to those of the net.

    θ(t) is that of the net, and the data take as few of its steps as `tolerance` lets them.

    **Arguments:**

    - `net`: a net that is not baked, with a fixed-step integrator.
    - `x`: a batch of inputs to compare on, of the kind that the network is for.
    - `tolerance`: the largest difference of an output, as a part of the largest output.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        x = jax.random.normal(jax.random.key(1), (100, 1))
        plain = sx.bake_within(net, x, tolerance=1e-3)
        print(plain.integrator.steps)
        ```
    """
    one_net(net, "bake_within")
    tolerance = checks.positive_number(tolerance, "tolerance")
    own, truth = _fixed_step(net), net(x)
    allowed = tolerance * _largest(truth)
    low, high = 1, own.steps
    while low < high:  # errors fall with the number of steps, so halving finds the least
        middle = (low + high) // 2
        plain = bake(net, integrator=dataclasses.replace(own, steps=middle))
        close = _largest(jax.tree.map(jnp.subtract, plain(x), truth)) <= allowed
        low, high = (low, middle) if close else (middle + 1, high)
    return bake(net, integrator=dataclasses.replace(own, steps=high))


def _largest(tree: PyTree[Array]) -> float:
    return max(float(jnp.max(jnp.abs(leaf))) for leaf in jax.tree.leaves(tree))


def _fixed_step(net: Net) -> AbstractFixedStep:
    own = net.integrator
    if not isinstance(own, AbstractFixedStep):
        raise ValueError(
            f"{type(own).__name__} has no steps of its own to compare with. Give the net a fixed-step "
            "integrator, as in sx.RK4(steps=20)."
        )
    return own


def _sample_operations(field: AbstractField, theta: PyTree[Array]) -> int:
    """Of one evaluation for one sample: twice the entries of the matrices, in every place of an image."""
    blocks = field.as_blocks()
    if blocks is not None:
        sizes = [blocks.layout.feature_size(feature) for feature in blocks.layout.features]
        return 2 * blocks.layout.state_size * sum(sizes)
    places = 1
    leaves = jax.tree.leaves(field.state)
    if len(leaves) == 1 and len(leaves[0].shape) > 1:
        places = leaves[0].size // leaves[0].shape[0]
    return 2 * places * sum(math.prod(leaf.shape[2:]) for leaf in jax.tree.leaves(theta))


def _live_operations(net: Net, batch: int) -> float:
    """Of one evaluation, particles included, for one sample of a batch of so many."""
    field, control = net.field, net.control
    blocks = field.as_blocks() or infer_layout(field)
    if blocks is not None and isinstance(control, Particles):
        particles = control.ensemble.particles
        costs = operations(blocks, particles, batch)
        form: Any = control.form if control.form in costs else cheaper(blocks, particles, batch)
        return costs[form] / batch
    theta = jax.eval_shape(lambda: jax.tree.map(lambda leaf: leaf[None, None], _theta(net)))
    one = _sample_operations(field, theta)
    more = 3 * control.ensemble.particles if isinstance(control, Particles) else 0
    return one * (batch + more) / batch


def _theta(net: Net) -> PyTree[Array]:
    if isinstance(net.control, AbstractParticleControl):
        return net.control.theta_at_start(net.field)
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape), net.field.theta)
