"""Lower estimates of the Rademacher complexity, from flows that are fitted to random signs."""

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray, PyTree

import shootax as sx
from shootax import _checks as checks
from shootax.theory._certify import initial_states
from shootax.theory._model import is_conserved


@dataclasses.dataclass(frozen=True)
class RademacherEstimate:
    """The result of [`shootax.theory.rademacher_estimate`][].

    Gradient ascent finds local maxima over ensembles with a given number of particles. In expectation,
    the estimate is therefore at most the complexity of the class.

    **Arguments:**

    - `value`: the mean over the draws of random signs.
    - `standard_error`: the standard error of this mean.
    - `draws`: the best value found for each draw.
    """

    value: float
    standard_error: float
    draws: np.ndarray


def rademacher_estimate(
    net: sx.Net,
    x: Any,
    *,
    draws: int = 8,
    iterations: int = 60,
    learning_rate: float = 0.1,
    component: int = 0,
    key: PRNGKeyArray,
) -> RademacherEstimate:
    """Estimate $\\frac1n E \\sup Σ_i ε_i z_k(T; x_i)$ over ensembles with this model's norm, from below.

    For each draw of signs ε, Adam optimises the positions and momenta of the particles. The momenta are
    rescaled so that $2R$ is that of the model. The lift is unchanged.

    **Arguments:**

    - `net`: a net with [`shootax.Particles`][], whose field is linear in θ with a quadratic penalty.
    - `x`: the data.
    - `draws`: the number of draws of signs. One program runs all draws.
    - `iterations`, `learning_rate`: the number of iterations and the learning rate of Adam.
    - `component`: $k$, the index in the flattened state.
    - `key`: a JAX random key.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx
        from shootax import theory

        net = sx.Net(sx.UpDown(dim=1, inflation=2), particles=3, key=jax.random.key(0))
        x = jnp.linspace(-1, 1, 10)[:, None]
        found = theory.rademacher_estimate(net, x, draws=2, iterations=5, key=jax.random.key(1))
        print(found.draws.shape)  # (2,)
        ```
    """
    checks.instance(net, sx.Net, "net", "rademacher_estimate(net, x, key=key) with one Net")
    control = net.control
    if not (isinstance(control, sx.Particles) and is_conserved(control)):
        raise ValueError(
            "The estimate needs a net with a Particles control and a conserved norm, that is, a field "
            f"linear in θ with a quadratic penalty; got the control {type(control).__name__}."
        )
    start = initial_states(net, x)
    draws = checks.positive_integer(draws, "draws")
    iterations = checks.positive_integer(iterations, "iterations")
    learning_rate = checks.positive_number(learning_rate, "learning_rate")
    size = start[0].size
    if isinstance(component, bool) or component not in range(size):
        raise ValueError(
            f"component must be an integer from 0 to {size - 1}, the index of an entry of the state; "
            f"got {component!r}."
        )
    checks.random_key(key)
    level = control.penalty_at_start(net.field)
    sign_key, start_key = jax.random.split(key)
    signs = jax.random.rademacher(sign_key, (draws, len(start)), start.dtype)
    best = _best(
        net,
        start,
        signs,
        level,
        jax.random.split(start_key, draws),
        iterations,
        learning_rate,
        component,
    )
    values = np.asarray(best)
    error = float(values.std(ddof=1) / math.sqrt(draws)) if draws > 1 else math.inf
    return RademacherEstimate(float(values.mean()), error, values)


def _with(control: sx.Particles, particles: PyTree, level: Array, field: Any) -> sx.Particles:
    """The control with these particles, whose momenta are rescaled to the penalty `level`."""
    moved = eqx.tree_at(lambda c: (c.ensemble.q, c.ensemble.p), control, particles)
    factor = jnp.sqrt(level / (moved.penalty_at_start(field) + 1e-12 * level))
    scaled = jax.tree.map(lambda leaf: factor * leaf, particles[1])
    return eqx.tree_at(lambda c: c.ensemble.p, moved, scaled)


@eqx.filter_jit
def _best(
    net: sx.Net,
    start: Array,
    signs: Array,
    level: Array,
    keys: PRNGKeyArray,
    iterations: int,
    learning_rate: float,
    component: int,
) -> Array:
    control: Any = net.control
    given = (control.ensemble.q, control.ensemble.p)

    def value(particles: PyTree, sign: Array) -> Array:
        moved = _with(control, particles, level, net.field)
        z = sx.flow(net.field, moved, start, integrator=net.integrator)
        # The identity has complexity zero. Subtracting it keeps the mean and reduces the variance.
        return jnp.mean(sign * (z - start).reshape(len(start), -1)[:, component])

    def ascend(sign: Array, key: PRNGKeyArray) -> Array:
        leaves, tree = jax.tree.flatten(given)
        parts = jax.random.split(key, len(leaves))
        fresh = [jax.random.normal(k, leaf.shape, leaf.dtype) for k, leaf in zip(parts, leaves)]  # noqa: B905
        particles = jax.tree.unflatten(tree, fresh)
        zero = jax.tree.map(jnp.zeros_like, particles)

        def step(carry: tuple, i: Array) -> tuple[tuple, Array]:
            particles, mean, square = carry
            now, slope = jax.value_and_grad(value)(particles, sign)
            mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slope)
            square = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g**2, square, slope)
            age = (i + 1).astype(start.dtype)
            particles = jax.tree.map(
                lambda a, m, s: (
                    a
                    + learning_rate * (m / (1 - 0.9**age)) / (jnp.sqrt(s / (1 - 0.99**age)) + 1e-8)
                ),
                particles,
                mean,
                square,
            )
            return (particles, mean, square), now

        _, seen = jax.lax.scan(step, (particles, zero, zero), jnp.arange(iterations))
        return jnp.max(seen)

    return jax.vmap(ascend)(signs, keys)
