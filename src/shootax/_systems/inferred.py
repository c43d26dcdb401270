"""A user's field with an inferred block layout, which moves as the block field does."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from shootax._fields import AbstractField
from shootax._fields.inference import InferredField
from shootax._maximisers import AbstractMaximiser
from shootax._penalties import Quadratic, SPDMatrix
from shootax._systems.base import AbstractSystem, ParticleState, State, TimePoint


class InferredSystem(AbstractSystem):
    """The system of the block field. Outside, states are those of the user's field; inside, vectors.

    Only the weights, if requested, come from the user's field itself.
    """

    field: AbstractField
    penalty: Quadratic
    maximiser: AbstractMaximiser
    particles: ParticleState
    blocks: AbstractSystem

    def jumps(self) -> tuple[float, ...]:
        return ()

    def start(self) -> ParticleState:
        return self.particles

    def join(self, particles: ParticleState, z: PyTree[Array]) -> State:
        return self.blocks.join(vectors(particles), matrix(z))

    def split(self, y: State) -> tuple[ParticleState, PyTree[Array]]:
        particles, z = self.blocks.split(y)
        assert particles is not None
        q, p = (self._states(vectors) for vectors in particles[:2])
        return ParticleState(q, p), self._states(z)

    def __call__(self, point: TimePoint, y: State) -> State:
        return self.blocks(point, y)

    def packed_theta(self, point: TimePoint, y: State) -> PyTree[Array]:
        q, p, _ = self.split(y)[0]
        return self.field.pack(self.maximiser(self.field, self.penalty, q, p, None).theta)

    def _states(self, vectors: Float[Array, "batch state"]) -> PyTree[Array]:
        leaves, tree = jax.tree.flatten(self.field.state)
        out, start = [], 0
        for leaf in leaves:
            columns = vectors[:, start : start + leaf.size]
            out.append(columns.reshape(len(vectors), *leaf.shape))
            start += leaf.size
        return jax.tree.unflatten(tree, out)


def matrix(states: PyTree[Array]) -> Float[Array, "batch state"]:
    """A batch of states as one matrix, with a row for each state."""
    leaves = jax.tree.leaves(states)
    flat = [leaf.reshape(len(leaf), math.prod(leaf.shape[1:])) for leaf in leaves]
    return flat[0] if len(flat) == 1 else jnp.concatenate(flat, axis=1)


def vectors(particles: ParticleState) -> ParticleState:
    """The particles with vectors as states."""
    return ParticleState(matrix(particles.q), matrix(particles.p))


def block_penalty(inferred: InferredField, penalty: Quadratic) -> Quadratic | None:
    """The penalty by blocks; `None` if the strength of an entry of θ that the layout splits or
    transposes is a matrix. A block $cθ$ has the strength $m/c^2$."""
    strengths = {}
    for block, entry, whole, scale in inferred.sources:
        strength = penalty.strength(entry)
        if not isinstance(strength, SPDMatrix):
            strengths[block] = strength / scale**2
        elif whole:
            same = scale**2 == 1
            strengths[block] = strength if same else SPDMatrix(strength.values / scale**2, entry)
        else:
            return None
    return Quadratic(strengths)
