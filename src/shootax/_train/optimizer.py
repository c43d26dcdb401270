"""The optimiser of a training, with all its options."""

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

import optax

from shootax import _checks as checks
from shootax._train.schedules import AbstractSchedule, Cosine


@dataclasses.dataclass(frozen=True)
class Optimizer:
    """Adam, or another update rule, with a learning-rate schedule: an option of [`shootax.fit`][].

    !!! example

        ```python
        import jax
        import numpy as np
        import optax
        import shootax as sx

        x = np.linspace(-1, 1, 40)[:, None]
        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        adam = sx.Optimizer(0.02, schedule=sx.Cosine(warmup=0.1), clip=10.0)
        result = sx.fit(net, x, x**2, epochs=2, optimizer=adam)
        lion = sx.Optimizer(1e-3, transform=optax.scale_by_lion(), freeze={"positions": 1})
        result = sx.fit(net, x, x**2, epochs=2, optimizer=lion)
        ```
    """

    learning_rate: float = 0.01
    _: dataclasses.KW_ONLY
    schedule: AbstractSchedule = Cosine()  # noqa: RUF009, because it is frozen
    transform: optax.GradientTransformation | None = None
    clip: float | None = None
    weight_decay: Mapping[str, float] | None = None
    ema: float = 0.0
    freeze: Mapping[str, int | None] | None = None
    lr_scale: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        checks.positive_number(self.learning_rate, "learning_rate")
        _check_schedule(self.schedule)
        if self.transform is not None and not is_optax(self.transform):
            raise ValueError(
                "transform must be an Optax gradient transformation such as optax.scale_by_lion(), "
                f"got {self.transform!r}."
            )
        if self.clip is not None:
            checks.positive_number(self.clip, "clip")
        if checks.non_negative_number(self.ema, "ema") >= 1:
            raise ValueError(f"ema must be below 1, got {self.ema}; 0.999 is a usual value.")
        for name, entry in (("weight_decay", 0.1), ("freeze", None), ("lr_scale", 0.1)):
            value = getattr(self, name)
            if value is not None and not _is_named(value):
                raise ValueError(
                    f"{name} must map names of parts of the model to numbers, as in "
                    f'{name}={{"lift": {entry}}}; got {value!r}.'
                )
        for name, number in (self.weight_decay or {}).items():
            checks.non_negative_number(number, f"The weight decay of {name!r}")
        for name, number in (self.lr_scale or {}).items():
            checks.positive_number(number, f"The lr_scale of {name!r}")
        for name, number in (self.freeze or {}).items():
            _check_freeze(name, number)


Optimizer.__init__.__doc__ = """**Arguments:**

- `learning_rate`: the learning rate, which the schedule multiplies by a factor.
- `schedule`: the schedule of the learning rate: [`shootax.Cosine`][], [`shootax.Plateau`][] or
    [`shootax.Constant`][]. A plateau watches the objective on the validation data if there are any,
    otherwise on the training data.
- `transform`: an Optax gradient transformation in place of Adam's, such as `optax.scale_by_lion()`.
    It receives the gradient as the arrays of the model; its result times the learning rate is
    subtracted.
- `clip`: an upper limit for the norm of the gradient.
- `weight_decay`: a dictionary from names of parts to their weight decay, as in AdamW: every step
    subtracts this number times the learning rate times the parameters.
- `ema`: decay of the exponential moving average (EMA) of the parameters, such as 0.99. If above 0, the
    averaged model is validated and returned.
- `freeze`: a dictionary from names of parts to the number of initial epochs in which they are frozen
    (`None`: always), as in `{"positions": 50, "lift": None}`.
- `lr_scale`: a dictionary from names of parts to factors of the learning rate, as in
    `{"momenta": 0.1}`. It is a change of variables: the optimiser sees the parameters divided by the
    factor, so the norm that `clip` limits also changes.

A name is any part of the path of an array, such as `"lift"` or `"control.ensemble.q"`, or one of
`"positions"` and `"momenta"` (those of the particles), `"visible-positions"` and `"visible-momenta"`
(only their visible part $x$).
"""


def is_optax(value: Any) -> bool:
    """Whether a value is a gradient transformation, complete or not."""
    return isinstance(value, optax.GradientTransformation)


def as_optimizer(value: Any) -> Optimizer | optax.GradientTransformation:
    """Check the option `optimizer` of `fit`."""
    if isinstance(value, Optimizer) or is_optax(value):
        return value
    expected = (
        "optimizer must be a sx.Optimizer, or a complete Optax optimiser such as optax.adam(1e-2)"
    )
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise ValueError(f"{expected}; for a learning rate, write optimizer=sx.Optimizer({value}).")
    if inspect.isclass(value) or inspect.isfunction(value):
        raise ValueError(
            f"{expected}; got {value.__name__} itself. Call it: {value.__name__}(0.01)."
        )
    raise ValueError(f"{expected}; got {value!r}.")


def _check_schedule(schedule: Any) -> None:
    if isinstance(schedule, AbstractSchedule):
        return
    advice = (
        "expected an instance of sx.Cosine, sx.Plateau, sx.Constant or your own AbstractSchedule"
    )
    if inspect.isclass(schedule) and issubclass(schedule, AbstractSchedule):
        raise ValueError(f"schedule is the class {schedule.__name__}; write {schedule.__name__}().")
    if callable(schedule):
        advice += (
            "; use an Optax schedule in an Optax optimiser, as in optimizer=optax.adam(schedule)"
        )
    raise ValueError(f"schedule must not be {schedule!r}: {advice}.")


def _check_freeze(name: str, number: Any) -> None:
    if number is None:
        return
    try:
        whole = not isinstance(number, bool) and int(number) == number and number >= 0
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise ValueError(
            f"freeze[{name!r}] must be a number of epochs of at least 0, or None for always; got "
            f"{number!r}."
        )


def _is_named(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)
