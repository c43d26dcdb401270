"""Data moved by particles whose path is known: the kernel form without the particles' own equations."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from shootax._fields import AbstractBlockField
from shootax._penalties import Quadratic
from shootax._systems.base import AbstractSystem, State, TimePoint
from shootax._systems.choice import operations
from shootax._systems.costs import form_costs
from shootax._systems.dense import matrix_star
from shootax._systems.kernel import mix, plan, scale, sum_by


class CarriedSystem(AbstractSystem):
    """$\\dot z = f(z, θ(t))$ (Eq. EqFlow), with θ(t) given by the particles at each stage of each step
    and never built."""

    field: AbstractBlockField
    penalty: Quadratic
    q: Float[Array, "steps stages particles state"]
    p: Float[Array, "steps stages particles state"]

    def jumps(self) -> tuple[float, ...]:
        return ()

    def start(self) -> None:
        return None

    def join(self, particles: None, z: Float[Array, "batch state"]) -> State:
        return State(tuple(z[:, c] for c in self.field.layout.part_slices().values()), None)

    def split(self, y: State) -> tuple[None, Float[Array, "batch state"]]:
        return None, jnp.concatenate(y.z, axis=1)

    def __call__(self, point: TimePoint, y: State) -> State:
        chosen, places = plan(self.field, self.penalty), self.field.layout.part_slices()
        q, p = self.q[point.step, point.stage], self.p[point.step, point.stage]
        parts = [(q[:, c], p[:, c]) for c in places.values()]
        sources = zip(chosen.features, chosen.sources, strict=True)
        grams = [jnp.dot(f.function(y.z[a]), f.function(parts[a][0]).T) for f, a in sources]
        moves, size = [], (y.z[0].shape[0], len(q))  # the batch may be symbolic, for export
        for group in chosen.groups:
            mixed = mix(group.factors, grams, group.constant, size, p)
            moves.append((group.part, jnp.dot(mixed, scale(group, parts[group.part][1]))))
        velocity = sum_by(moves, y.z)
        rates = dict(self.field.layout.damping)
        decays = [rates.get(part, 0.0) for part in places]
        return State(
            tuple(v - c * z if c else v for v, c, z in zip(velocity, decays, y.z, strict=True)),
            None,
        )

    def packed_theta(self, point: TimePoint, y: State) -> Float[Array, "state features"]:
        q, p = self.q[point.step, point.stage], self.p[point.step, point.stage]
        return matrix_star(self.field, self.penalty, self.field.features(q), p)


def carried_pays(field: AbstractBlockField, particles: int) -> bool:
    """Whether particles move a sample of a large batch in less time than weights do."""
    without, one = (operations(field, particles, batch) for batch in (0, 1))
    kernel = one["kernel"] - without["kernel"] + form_costs().gram_element * particles
    return kernel < one["dense"] - without["dense"]
