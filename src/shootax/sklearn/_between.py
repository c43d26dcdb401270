"""A baked net with outputs at fixed times, also between the grid points of its integrator."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

import shootax as sx
from shootax.extend import AbstractParticleControl


class Between(eqx.Module):
    """The outputs `(samples, times, ...)` of a net at given times, without particles.

    Between grid points it interpolates like the net itself: with the cubic polynomial that has the
    states and the velocities at both ends of a step.
    """

    net: sx.Net
    ends: PyTree[Array]
    times: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, net: sx.Net, times: Any):
        self.net = sx.bake(net)
        self.times = tuple(float(t) for t in times)
        theta = self.net.control.theta  # pyright: ignore[reportAttributeAccessIssue]
        if isinstance(net.control, AbstractParticleControl):
            # At the end of a step, the particles are where the next step starts.
            path = sx.theta_path(net, [net.control.T])
            self.ends = jax.tree.map(
                lambda stage, last: jnp.concatenate([stage[1:, 0], last]), theta, path
            )
        else:
            assert self.net.integrator.fractions[-1] == 1  # pyright: ignore
            self.ends = jax.tree.map(lambda stage: stage[:, -1], theta)

    def __call__(self, x: Float[Array, "samples n"]) -> Array:
        net, T = self.net, self.net.control.T
        theta = net.control.theta  # pyright: ignore[reportAttributeAccessIssue]
        steps = jax.tree.leaves(theta)[0].shape[0]
        h = T / steps
        nodes = net.states(x, np.linspace(0, T, steps + 1))
        found = []
        for t in self.times:
            k = min(max(int(np.floor(t / h)), 0), steps - 1)
            u = t / h - k
            first, last = nodes[:, k], nodes[:, k + 1]
            begin = jax.tree.map(lambda stage, k=k: stage[k, 0], theta)
            end = jax.tree.map(lambda stage, k=k: stage[k], self.ends)
            field = jax.vmap(net.field, in_axes=(0, None))
            z = (
                (1 + 2 * u) * (1 - u) ** 2 * first
                + u**2 * (3 - 2 * u) * last
                + h * u * (1 - u) ** 2 * field(first, begin)
                + h * u**2 * (u - 1) * field(last, end)
            )
            found.append(jax.vmap(net.readout)(z))
        return jnp.stack(found, axis=1)
