"""The result of a training, and the report after every epoch."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np

COLUMNS = ("objective", "data", "penalty", "validation", "learning_rate")
"""The columns of a history."""


class FitResult(NamedTuple):
    """The result of [`shootax.fit`][].

    **Arguments:**

    - `net`: the trained model.
    - `history`: for each of `objective`, `data`, `penalty`, `validation` and `learning_rate`, an array
        with one entry per epoch. The first three are means over the batches; the learning rate is
        that of the last batch. Numbers that do not exist are NaN.
    - `seconds`: the duration of the training, including compilation and, for a resumed training, the
        parts before the interruption.

    !!! example

        ```python
        import jax
        import numpy as np
        import shootax as sx

        x = np.linspace(-1, 1, 40)[:, None]
        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        result = sx.fit(net, x, x**2, epochs=2)
        prediction = result.net(x)
        print(len(result.history["objective"]))  # 2
        ```
    """

    net: Any
    history: dict[str, np.ndarray]
    seconds: float

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("A FitResult is not a model. Call its `.net`, as in fit(net, x, y).net(x).")


class EpochReport:
    """The argument of callbacks of [`shootax.fit`][] after every epoch.

    - `epoch`: the number of the epoch, starting from 1.
    - `objective`, `data`, `penalty`: means over the batches of the epoch.
    - `validation`: the loss on the validation data after the epoch, NaN if there are none.
    - `learning_rate`: the learning rate of the last batch, NaN with a complete Optax optimiser.
    - `seconds`: the time since the training began.
    - `index`: the number of the net in [`shootax.fit_many`][], 0 in `fit`.
    - `net`: the model after the epoch (with `ema`, the averaged one), constructed on access.
    """

    __slots__ = (*COLUMNS, "_build", "epoch", "index", "seconds")

    def __init__(
        self,
        epoch: int,
        numbers: dict[str, float],
        seconds: float,
        index: int,
        build: Callable[[], Any],
    ):
        """**Arguments:**

        - `epoch`, `seconds`, `index`: as above.
        - `numbers`: the five columns of the history, by name.
        - `build`: a function that returns the model.
        """

        self.epoch, self.seconds, self.index, self._build = epoch, seconds, index, build
        for name in COLUMNS:
            setattr(self, name, numbers[name])

    @property
    def net(self) -> Any:
        return self._build()

    def numbers(self) -> dict[str, float]:
        """All numbers of the report that are not NaN, by name, for JSON or a metrics logger."""
        names = ("epoch", *COLUMNS, "seconds")
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if not math.isnan(value)}

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value:.6g}" for name, value in self.numbers().items())
        return f"EpochReport({inside})"


Callback = Callable[[EpochReport], Any]
