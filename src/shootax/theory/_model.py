"""The data that the theory takes from a net: weights over depth, norm, and strengths of its penalty.

The other modules of the theory do not depend on how a net stores these.
"""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

import shootax as sx
from shootax.extend import AbstractParticleControl, SPDMatrix


class WeightPath(NamedTuple):
    """θ at the start, middle and end of every step of a fine grid, `(steps, 3, ...)`, and $‖f‖^2 = 2R$
    at the same places, `(steps, 3)`."""

    theta: PyTree[Array]
    norm_squared: np.ndarray
    T: float

    @property
    def steps(self) -> int:
        return len(self.norm_squared)


def smallest_strength(penalty: sx.Quadratic, name: str) -> float:
    """The smallest eigenvalue of $M_k$ for one entry of θ."""
    strength = penalty.strength(name)
    if isinstance(strength, SPDMatrix):
        return float(np.linalg.eigvalsh(strength.values)[0])
    return float(strength)


def is_conserved(control: sx.extend.AbstractControl) -> bool:
    """Whether $R(θ(t))$ is known to be the same at all depths."""
    if isinstance(control, sx.Particles):
        return control.maximiser.conserves
    return isinstance(control, sx.FrozenParticles | sx.Static)


def norm_at_start(net: sx.Net) -> float | None:
    """$‖f(·, θ(0))‖^2 = 2R$ from the particles at $t = 0$, or `None` without particles."""
    if isinstance(net.control, AbstractParticleControl):
        return 2 * float(net.control.penalty_at_start(net.field))
    return None


def _resolution() -> float:
    return float(jnp.finfo(jnp.result_type(float)).eps)


@eqx.filter_jit
def _penalties(penalty: Any, thetas: PyTree[Array]) -> Array:
    return jax.vmap(penalty)(thetas)


def weight_path(net: sx.Net, steps: int) -> WeightPath:
    """The weights over depth on a grid with at least `steps` steps, independent of the net's grid."""
    control = net.control
    if isinstance(control, sx.extend.Stagewise):
        raise ValueError(
            "A baked model only has weights at the stages of its integrator, so its flow in continuous "
            "depth is not known. Certify the model that it was baked from."
        )
    if isinstance(control, sx.Piecewise):  # jumps must be grid points
        steps = control.blocks * math.ceil(steps / control.blocks)
    T, first = float(control.T), np.arange(steps)
    # For particles, θ is taken at the grid points. For other controls it may jump there, so it is taken
    # just inside each step.
    inset = 0.0 if isinstance(control, sx.Particles) else _resolution() ** 0.5
    places = np.stack([first + inset, first + 0.5, first + 1 - inset], axis=1) / steps * T
    times, where = np.unique(places, return_inverse=True)
    where = np.asarray(where).reshape(steps, 3)
    finer = eqx.tree_at(lambda n: n.integrator, net, sx.RK4(steps=2 * steps))
    thetas = sx.theta_path(finer, times)
    norms = 2 * np.asarray(_penalties(control.penalty, thetas))
    if not np.isfinite(norms).all():
        raise ValueError(
            "The weights of this model are not finite at all depths, because its particles blow up. "
            "There is no flow to certify. Use smaller momenta, or train with a larger penalty strength."
        )
    index = jnp.asarray(where)
    return WeightPath(jax.tree.map(lambda leaf: leaf[index], thetas), norms[where], T)
