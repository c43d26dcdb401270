"""The four formulations that the paper compares, under the paper's names."""

from jaxtyping import PRNGKeyArray

from shootax import _checks as checks
from shootax._controls.base import AbstractControl
from shootax._controls.direct import Piecewise, Static
from shootax._controls.particles import FrozenParticles, Particles
from shootax._fields import AbstractField

FORMULATIONS = ("static-direct", "static-particles", "dynamic-particles", "dynamic-direct")


def formulation(
    name: str, field: AbstractField, *, particles: int = 15, key: PRNGKeyArray, **options
) -> AbstractControl:
    """The control of a formulation of the paper.

    **Arguments:**

    - `name`: `"static-direct"`, `"static-particles"`, `"dynamic-particles"` or `"dynamic-direct"`.
    - `field`: the field the control is for.
    - `particles`: the number of particles, for the formulations that have particles.
    - `key`: a JAX random key.
    - `options`: arguments of the control's constructor: `T`, `penalty`, and so on.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.UpDown(dim=1, inflation=4)
        for name in sx.FORMULATIONS:
            control = sx.formulation(name, field, particles=3, T=2.0, key=jax.random.key(0))
        ```
    """
    checks.one_of(name, FORMULATIONS, "formulation")
    example = 'formulation("dynamic-particles", UpDown(dim=2), key=key)'
    checks.instance(field, AbstractField, "field", example)
    checks.random_key(key)
    checks.positive_integer(particles, "particles")
    if name == "static-direct":
        return Static(field, key=key, **options)
    if name == "dynamic-direct":
        return Piecewise(field, key=key, **options)
    kind = Particles if name == "dynamic-particles" else FrozenParticles
    return kind.draw(field, particles, key=key, **options)
