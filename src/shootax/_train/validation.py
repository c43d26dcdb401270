"""Held-out data, and early stopping."""

import dataclasses
import numbers
from typing import Any

from shootax import _checks as checks

_KINDS = (
    "a fraction such as 0.1, `(x, y)`, `(x, y, sample_weight)` or `(x, y, sample_weight, times)`"
)


@dataclasses.dataclass(frozen=True)
class Validation:
    """Held-out data, with early stopping based on their loss: an option of [`shootax.fit`][].

    !!! example

        ```python
        import jax
        import numpy as np
        import shootax as sx

        x = np.linspace(-1, 1, 40)[:, None]
        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        validation = sx.Validation(0.25, patience=5)
        result = sx.fit(net, x, x**2, epochs=20, validation=validation)
        ```
    """

    data: Any
    _: dataclasses.KW_ONLY
    patience: int | None = None
    keep_best: bool = False

    def __post_init__(self) -> None:
        _check_data(self.data)
        if self.patience is not None:
            checks.positive_integer(self.patience, "patience")
        checks.boolean(self.keep_best, "keep_best")
        if self.keep_best and self.data is None:
            raise ValueError(
                "keep_best needs validation data to find the best model. Give a fraction, as in "
                "Validation(0.1, keep_best=True), or a pair (x, y)."
            )


Validation.__init__.__doc__ = """**Arguments:**

- `data`: a fraction of the samples to hold out, or `(x, y)`, `(x, y, sample_weight)` or, if each
    sample has its own times, `(x, y, sample_weight, times)`. With `None`, nothing is held out, and
    `patience` watches the training objective.
- `patience`: stop after this number of successive epochs without a new lowest loss on the validation
    data, and return the best model of all epochs.
- `keep_best`: whether to return the model of the epoch with the lowest validation loss instead of
    the last one. `patience` implies it.
"""


def as_validation(value: Any) -> Validation:
    """Convert the option `validation` of `fit` from any of its forms."""
    return value if isinstance(value, Validation) else Validation(value)


def _check_data(data: Any) -> None:
    if data is None:
        return
    if isinstance(data, tuple):
        if len(data) not in (2, 3, 4):
            raise ValueError(f"`validation` must be {_KINDS}; got a tuple of length {len(data)}.")
        return
    if isinstance(data, bool) or not isinstance(data, numbers.Real):
        got = f"a {type(data).__name__}" if not isinstance(data, str) else repr(data)
        raise ValueError(f"`validation` must be {_KINDS}, or a sx.Validation; got {got}.")
    if not 0 < float(data) < 1:
        raise ValueError(
            "`validation` must be a fraction that leaves samples on both sides, between 0 and 1; got "
            f"{data!r}."
        )
