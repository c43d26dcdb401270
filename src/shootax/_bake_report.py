"""The cost of a plain network, and the accuracy that it loses with fewer steps."""

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
    - `evaluations`: how often the field is evaluated for each sample.
    - `operations`: additions and multiplications for one sample.
    - `live_operations`: the same for the live model, with its particles shared among the batch.
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
    """Report the error and the cost of the baked net for several numbers of steps.

    θ(t) is always that of the live net; only the data take fewer steps. By default the first line is for
    the net's own number of steps, where baked and live outputs differ only by rounding.

    **Arguments:**

    - `net`: a net that is not baked, with a fixed-step integrator.
    - `x`: a batch of inputs to compare on. The live model's cost is shared among its samples.
    - `steps`: the numbers of steps; by default that of the net, divided by 1, 2, ..., 8.

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
    """Bake a net with the fewest steps that keep its outputs within `tolerance`.

    θ(t) is that of the net; only the data take fewer steps.

    **Arguments:**

    - `net`: a net that is not baked, with a fixed-step integrator.
    - `x`: a batch of typical inputs to compare on.
    - `tolerance`: the largest allowed difference of an output, relative to the largest output.

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
    while low < high:  # bisection: errors fall with the number of steps
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
            f"{type(own).__name__} has no fixed steps to compare with. Give the net a fixed-step "
            "integrator, as in sx.RK4(steps=20)."
        )
    return own


def _sample_operations(field: AbstractField, theta: PyTree[Array]) -> int:
    """The operations of one evaluation for one sample: twice the entries of the matrices, per pixel."""
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
    """The operations of one evaluation per sample of a batch, including those for the particles."""
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
