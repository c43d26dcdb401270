"""What a training returns, and what it reports after every epoch."""

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
    - `history`: for each of `objective`, `data`, `penalty`, `validation` and `learning_rate` an array
        with one entry per epoch. The first three are means over the batches; the learning rate is
        that of the last batch; what does not exist is NaN.
    - `seconds`: how long the training took, including compilation and earlier parts of a training
        that was resumed.

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
    """What callbacks of [`shootax.fit`][] receive after every epoch.

    - `epoch`: its number, from 1.
    - `objective`, `data`, `penalty`: means over the batches of the epoch.
    - `validation`: the loss on the validation data after the epoch, NaN without any.
    - `learning_rate`: of the last batch, NaN with an Optax optimiser of your own.
    - `seconds`: since the training began.
    - `index`: the number of the net in [`shootax.fit_many`][], 0 in `fit`.
    - `net`: the model after the epoch (with `ema`, the averaged one), built when you access it.
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
        - `build`: returns the model.
        """

        self.epoch, self.seconds, self.index, self._build = epoch, seconds, index, build
        for name in COLUMNS:
            setattr(self, name, numbers[name])

    @property
    def net(self) -> Any:
        return self._build()

    def numbers(self) -> dict[str, float]:
        """All numbers of the report that exist, by name: ready for JSON or a logger of metrics."""
        names = ("epoch", *COLUMNS, "seconds")
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if not math.isnan(value)}

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value:.6g}" for name, value in self.numbers().items())
        return f"EpochReport({inside})"


Callback = Callable[[EpochReport], Any]
