"""A network of continuous depth."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, PRNGKeyArray, PyTree

from shootax import _checks as checks
from shootax._arrays import model_dtype, model_inputs
from shootax._compile import applied
from shootax._controls import AbstractControl, AbstractParticleControl, Particles
from shootax._disk_cache import keeping_programs
from shootax._fields import AbstractField
from shootax._fields.base import size
from shootax._flow import flow
from shootax._fork import refuse_after_fork
from shootax._integrators import RK4, AbstractIntegrator
from shootax._lifts import AbstractLift, make_lift
from shootax._random import split_key
from shootax._readouts import AbstractReadout, make_readout


class Net(eqx.Module):
    """Lift, field, control and readout: $x ↦ z(0) ↦ z(T) ↦ y$ with $\\dot z = f(z, θ(t))$ (EqFlow).

    A net is an `equinox.Module`: it can sit inside a larger model, be differentiated, compiled and
    mapped. It takes a batch `(batch, ...)`, so that the particles are integrated once for all
    samples. The batch is an array, a list of lists of numbers, a data frame, or a PyTorch tensor on
    the CPU.

    Inputs and times are cast to the dtype of the net's floating-point parameters (to JAX's default if
    it has none). Outputs have the same dtype.

    Input from the host (NumPy, lists, frames) is refused if it contains NaN or infinity. JAX arrays are
    not checked, because that would copy them to the host in every call: NaN in, NaN out.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=16), particles=15, key=jax.random.key(0))
        y = net(jnp.linspace(-1, 1, 7)[:, None])
        print(y.shape)  # (7, 1)
        print(net([[0.0], [1.0]], times=[0.0, 0.5, 1.0]).shape)  # (2, 3, 1)
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

        - `field`: the vector field $f$.
        - `control`: where θ(t) comes from. Give either a control or `particles`.
        - `particles`: the number of particles, for `Particles.draw(field, particles, key=...)`.
        - `lift`: `"affine"` (the default if the field has a hidden state), `"zero"`,
            `"constant"`, `"mlp"`, `"identity"`, or a module that maps one input to one state.
        - `readout`: `"x"` (the default if the field has a hidden state), `"identity"`, the number
            of outputs of a linear map, or a module that maps one state to one output.
        - `integrator`: how the equations are solved, by default RK4 with 10 steps.
        - `key`: a JAX random key.
        """
        refuse_after_fork()
        checks.instance(field, AbstractField, "field", "Net(UpDown(dim=2), particles=15, key=key)")
        checks.instance(integrator, AbstractIntegrator, "integrator", "integrator=RK4(steps=10)")
        control_key, lift_key, readout_key = split_key(checks.random_key(key), 3)
        if (control is None) == (particles is None):
            raise ValueError(
                "Give either a control or a number of particles, as in Net(field, particles=15, "
                f"key=key); got control={checks.shown(control)} and particles={particles!r}."
            )
        if control is None:
            assert particles is not None
            control = Particles.draw(field, particles, key=control_key)
        example = "Net(field, particles=15, key=key) for particles by number"
        self.field = field
        self.control = checks.instance(control, AbstractControl, "control", example)
        _check_part(lift, "lift", "the name of one")
        _check_part(readout, "readout", "the name of one, a number of outputs")
        self.lift = make_lift(lift, field, lift_key)  # pyright: ignore[reportArgumentType]
        self.readout = make_readout(readout, field, readout_key)
        self.integrator = integrator

    def __call__(self, x: PyTree[Array], times: Any = None) -> PyTree[Array]:
        """The outputs for a batch of inputs: at the end, or `(batch, times, ...)` at given times.

        **Arguments:** as in [`shootax.flow`][], with inputs `x` instead of states.
        """
        with keeping_programs:
            z = self.states(x, times)
            return applied(self.readout, z, axes=1 if times is None else 2)

    def states(self, x: PyTree[Array], times: Any = None) -> PyTree[Array]:
        """The states, before the readout, instead of the outputs."""
        start = self.lifted(x)
        return flow(self.field, self.control, start, times=times, integrator=self.integrator)

    def lifted(self, x: PyTree[Array]) -> PyTree[Array]:
        """The initial states for a batch of inputs."""
        refuse_after_fork()
        x = model_inputs(x, model_dtype(self.field, self.control, self.lift, self.readout))
        if isinstance(self.lift, AbstractLift) and self.field.visible_size is not None:
            sample = self.lift.input_shape(self.field).shape
            if self.field.free_axes and len(sample) > 1:
                _check_images(x, sample[0], self.field.free_axes)
            else:
                _check_inputs(x, sample, _reason(self.field, self.lift, sample))
        return applied(self.lift, x)

    def work(self, batch: int) -> int:
        """The number of scalars in the state of the particles and `batch` samples together."""
        particles = 0
        if isinstance(self.control, AbstractParticleControl):
            particles = 2 * self.control.ensemble.particles
        return size(self.field.state) * (batch + particles)


def _reason(field: AbstractField, lift: AbstractLift, sample: tuple[int, ...]) -> str:
    """Why the inputs of a net have this shape."""
    if sample == field.visible_state.shape:
        return f"the field has dim={sample[0]}"
    whole = sample == field.state.shape
    return "the lift passes on the whole state" if whole else "the lift takes that many inputs"


def _check_part(part: Any, name: str, others: str) -> None:
    number = isinstance(part, int) and not isinstance(part, bool) and name == "readout"
    if isinstance(part, type) or not (
        part is None or isinstance(part, str) or number or callable(part)
    ):
        raise TypeError(
            f"{name} must be {others}, or a module that is called with one sample; got "
            f"{checks.shown(part)}."
        )


def _check_inputs(x: Any, sample: tuple[int, ...], reason: str) -> None:
    shown = ", ".join(map(str, sample))
    if not isinstance(x, jax.Array):
        raise ValueError(
            f"The input must be one array of shape (batch, {shown}), got a {type(x).__name__} of "
            "arrays."
        )
    if x.shape[1:] != sample:
        column = x.ndim == 1 and sample == (1,)
        hint = " Use x[:, None] for a column of numbers." if column else ""
        hint = " Use x[None] for a single sample." if x.shape == sample != (1,) else hint
        raise ValueError(
            f"The input must have shape (batch, {shown}), as {reason}; got {x.shape}.{hint}"
        )
    if x.shape[0] == 0:
        raise ValueError("The input has no samples: its first axis has length 0.")


def _check_images(x: Any, channels: int, space: int) -> None:
    places = ", ".join(("length",) if space == 1 else ("height", "width", "depth")[:space])
    got = x.shape if isinstance(x, jax.Array) else f"a {type(x).__name__} of arrays"
    if not isinstance(x, jax.Array) or x.ndim != space + 2 or x.shape[1] != channels:
        missing = isinstance(x, jax.Array) and x.ndim == space + 1 and channels == 1
        hint = " Use x[:, None] to add the axis of channels." if missing else ""
        raise ValueError(
            f"The images must have shape (batch, {channels}, {places}), as the field has "
            f"{channels} channels; got {got}.{hint}"
        )
    if x.shape[0] == 0:
        raise ValueError("The input has no samples: its first axis has length 0.")
