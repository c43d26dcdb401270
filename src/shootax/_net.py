"""A network of continuous depth."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray, PyTree

from shootax import _checks as checks
from shootax._arrays import as_arrays
from shootax._controls import AbstractControl, AbstractParticleControl, Particles
from shootax._fields import AbstractField
from shootax._fields.base import size
from shootax._flow import flow
from shootax._integrators import RK4, AbstractIntegrator
from shootax._lifts import AbstractLift, LinearLift, make_lift
from shootax._readouts import AbstractReadout, make_readout


class Net(eqx.Module):
    """Lift, field, control and readout: $x ↦ z(0) ↦ z(T) ↦ y$.

    A net is an `equinox.Module`: it can sit inside a larger model, be differentiated, compiled and
    mapped. It takes a batch `(rows, ...)`, so that the particles are integrated once for all rows: an
    array, a list of lists of numbers, or a frame of pandas.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=16), particles=15, key=jax.random.key(0))
        y = net(jnp.linspace(-1, 1, 7)[:, None])
        print(y.shape)  # (7, 1)
        ```
    """

    field: AbstractField
    control: AbstractControl
    lift: AbstractLift | Callable[[Any], Any]
    readout: AbstractReadout | Callable[[Any], Any]
    integrator: AbstractIntegrator

    def __init__(
        self,
        field: AbstractField,
        control: AbstractControl | None = None,
        *,
        particles: int | None = None,
        lift: str | AbstractLift | Callable[[Any], Any] | None = None,
        readout: str | int | AbstractReadout | Callable[[Any], Any] | None = None,
        integrator: AbstractIntegrator = RK4(),
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `field`: the vector field.
        - `control`: where θ(t) comes from. Instead of one, give
        - `particles`: a number of particles, for `Particles.draw(field, particles, key=...)`.
        - `lift`: `"affine"` (the default where the field has a hidden state), `"zero"`,
            `"constant"`, `"mlp"`, `"identity"`, or a module that maps one input to one state.
        - `readout`: `"x"` (the default where the field has a hidden state), `"identity"`, the number
            of outputs of a linear map, or a module that maps one state to one output.
        - `integrator`: by default RK4 with 10 steps.
        - `key`: a JAX random key.
        """
        control_key, lift_key, readout_key = jax.random.split(key, 3)
        if (control is None) == (particles is None):
            raise ValueError(
                "Give either a control or a number of particles, as in Net(field, particles=15, "
                f"key=key); got control={control!r} and particles={particles!r}."
            )
        if control is None:
            assert particles is not None
            control = Particles.draw(field, particles, key=control_key)
        self.field = field
        self.control = control
        self.lift = make_lift(lift, field, lift_key)  # pyright: ignore[reportArgumentType]
        self.readout = make_readout(readout, field, readout_key)
        self.integrator = integrator

    def __call__(self, x: PyTree[Array], times: Any = None) -> PyTree[Array]:
        """The outputs for a batch of inputs: at the end, or `(rows, times, ...)` at given times."""
        z = self.states(x, times)
        read = jax.vmap(self.readout)
        return read(z) if times is None else jax.vmap(read)(z)

    def states(self, x: PyTree[Array], times: Any = None) -> PyTree[Array]:
        """The states instead of the outputs."""
        start = self.lifted(x)
        return flow(self.field, self.control, start, times=times, integrator=self.integrator)

    def lifted(self, x: PyTree[Array]) -> PyTree[Array]:
        """The initial states for a batch of inputs."""
        x = jax.tree.map(_checked, as_arrays(x))
        if self.field.as_blocks() is not None and isinstance(self.lift, AbstractLift):
            inputs = self.lift.input_shape(self.field).shape[0]
            if isinstance(self.lift, LinearLift):
                _check_inputs(x, inputs, "the lift takes as many inputs")
            elif inputs == self.field.visible_size:
                _check_inputs(x, inputs, f"the field has dim={inputs}")
            else:
                _check_inputs(x, inputs, "the lift takes whole states")
        return jax.vmap(self.lift)(x)

    def work(self, rows: int) -> int:
        """The number of scalars that move in one evaluation with so many rows of data."""
        particles = 0
        if isinstance(self.control, AbstractParticleControl):
            particles = 2 * self.control.ensemble.particles
        return size(self.field.state) * (rows + particles)


def _checked(x: Any) -> Array:
    checks.finite(x, "The input")
    x = jnp.asarray(x)
    return x if jnp.issubdtype(x.dtype, np.inexact) else x.astype(jnp.result_type(float))


def _check_inputs(x: Any, dim: int, reason: str) -> None:
    if x.ndim != 2 or x.shape[1] != dim:
        hint = " Use x[:, None] for a column of numbers." if x.ndim == 1 and dim == 1 else ""
        raise ValueError(
            f"The input must have shape (rows, {dim}), as {reason}; got {x.shape}.{hint}"
        )
    if x.shape[0] == 0:
        raise ValueError("The input has no rows.")
