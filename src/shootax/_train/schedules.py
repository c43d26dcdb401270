"""Learning-rate schedules, as factors of the optimiser's learning rate."""

import abc
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from shootax import _checks as checks


class AbstractSchedule(eqx.Module):
    """A learning-rate schedule: a factor for each step, which may depend on the losses of past epochs.

    !!! example

        ```python
        import shootax as sx


        class Halved(sx.extend.AbstractSchedule):
            # The learning rate as given, and half of it in the second half of the training.
            def init(self):
                return None

            def factor(self, state, progress):
                return 1 - 0.5 * (progress >= 0.5)

            def observe(self, state, loss):
                return None


        optimizer = sx.Optimizer(0.01, schedule=Halved())
        ```
    """

    @abc.abstractmethod
    def init(self) -> Any:
        """The state before training."""

    @abc.abstractmethod
    def factor(self, state: Any, progress: Float[Array, ""]) -> Float[Array, ""]:
        """The factor of the learning rate, when the fraction `progress` of the training is done."""

    @abc.abstractmethod
    def observe(self, state: Any, loss: Float[Array, ""]) -> Any:
        """The state after an epoch with this mean loss."""


class Constant(AbstractSchedule):
    """A constant learning rate.

    !!! example

        ```python
        import shootax as sx

        optimizer = sx.Optimizer(0.01, schedule=sx.Constant())
        ```
    """

    def init(self) -> None:
        return None

    def factor(self, state: None, progress: Float[Array, ""]) -> Float[Array, ""]:
        return jnp.ones_like(progress)

    def observe(self, state: None, loss: Float[Array, ""]) -> None:
        return None


class Cosine(AbstractSchedule):
    """A linear warm-up, followed by half a cosine down to `floor`.

    !!! example

        ```python
        import shootax as sx

        optimizer = sx.Optimizer(0.02, schedule=sx.Cosine(warmup=0.1))
        ```
    """

    warmup: float = eqx.field(static=True, default=0.0)
    floor: float = eqx.field(static=True, default=0.0)

    def __check_init__(self):
        for name in ("warmup", "floor"):
            checks.number(getattr(self, name), f"The {name} of Cosine")
        if not 0 <= self.warmup < 1 or not 0 <= self.floor <= 1:
            raise ValueError(
                f"Cosine needs 0 ≤ warmup < 1 and 0 ≤ floor ≤ 1, got {self.warmup}, {self.floor}."
            )

    def init(self) -> None:
        return None

    def factor(self, state: None, progress: Float[Array, ""]) -> Float[Array, ""]:
        rise = (progress + 1e-3) / (self.warmup + 1e-3)
        fall = jnp.clip((progress - self.warmup) / (1 - self.warmup), 0, 1)
        cosine = self.floor + (1 - self.floor) * 0.5 * (1 + jnp.cos(jnp.pi * fall))
        return jnp.where(progress < self.warmup, rise, cosine)

    def observe(self, state: None, loss: Float[Array, ""]) -> None:
        return None


Cosine.__init__.__doc__ = """**Arguments:**

- `warmup`: the fraction of the training over which the learning rate rises.
- `floor`: the factor at the end of the training.
"""


class PlateauState(NamedTuple):
    factor: Array
    best: Array
    waited: Array
    epoch: Array


class Plateau(AbstractSchedule):
    """Multiply the learning rate by `drop` when the loss has stopped improving.

    The defaults are those of PyTorch's `ReduceLROnPlateau`, except `drop`, which is that of the paper.

    !!! example

        ```python
        import shootax as sx

        optimizer = sx.Optimizer(0.01, schedule=sx.Plateau(patience=5))
        ```
    """

    drop: float = eqx.field(static=True, default=0.5)
    patience: int = eqx.field(static=True, default=10)
    threshold: float = eqx.field(static=True, default=1e-4)
    floor: float = eqx.field(static=True, default=0.0)
    every: int = eqx.field(static=True, default=1)

    def __check_init__(self):
        for name in ("drop", "threshold", "floor"):
            checks.non_negative_number(getattr(self, name), f"The {name} of Plateau")
        if not 0 < self.drop < 1 or not self.threshold < 1 or not self.floor <= 1:
            raise ValueError(
                "Plateau needs 0 < drop < 1, 0 ≤ threshold < 1 and 0 ≤ floor ≤ 1, got "
                f"{self.drop}, {self.threshold}, {self.floor}."
            )
        checks.positive_integer(self.patience, "patience")
        checks.positive_integer(self.every, "every")

    def init(self) -> PlateauState:
        zero = jnp.zeros((), int)
        return PlateauState(jnp.ones(()), jnp.full((), jnp.inf), zero, zero)

    def factor(self, state: PlateauState, progress: Float[Array, ""]) -> Float[Array, ""]:
        return state.factor.astype(progress.dtype)

    def observe(self, state: PlateauState, loss: Float[Array, ""]) -> PlateauState:
        loss = loss.astype(state.best.dtype)
        better = loss < state.best * (1 - self.threshold)
        waited = jnp.where(better, 0, state.waited + 1)
        late = waited > self.patience
        factor = jnp.where(late, jnp.maximum(self.drop * state.factor, self.floor), state.factor)
        best, waited = jnp.where(better, loss, state.best), jnp.where(late, 0, waited)
        looked = PlateauState(factor, best, waited, state.epoch + 1)
        if self.every == 1:
            return looked
        look = state.epoch % self.every == 0
        passed = state._replace(epoch=state.epoch + 1)
        return PlateauState(*(jnp.where(look, *pair) for pair in zip(looked, passed, strict=True)))


Plateau.__init__.__doc__ = """**Arguments:**

- `drop`: the factor by which the learning rate drops each time.
- `patience`: the number of successive checks without improvement after which the next one lowers the
    learning rate.
- `threshold`: the loss counts as improved if it falls by more than this fraction.
- `floor`: the smallest factor of the learning rate.
- `every`: the number of epochs between checks of the loss. The first check is after the first epoch.
"""
