"""Models around a net that prepare their input and finish their output, such as estimators."""

import abc
import contextlib
import dataclasses
import importlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree


@dataclasses.dataclass(frozen=True)
class Whole:
    """A net with what happens before and after it, in double precision: raw samples in, answers out.

    **Arguments:**

    - `net`: the net, or another module; its numbers can be of single precision.
    - `one`: the shapes of one sample of raw input.
    - `prepare`: from raw samples to the input of the net; `finish`: from its output to the answer.
        Both are traced.
    - `about`: for the JSON file beside an export: what the columns and the outputs are.
    - `sample`: `sample(generator, samples)` gives raw samples like those of the training.
    - `reference`: the answers of the original for raw samples, by its own code.
    - `beside`: what is added to the answer, from raw samples; traced.
    """

    net: Any
    one: PyTree
    prepare: Callable[[Any], Any]
    finish: Callable[[Any], Any]
    about: dict[str, Any]
    sample: Callable[[np.random.Generator, int], PyTree]
    reference: Callable[[PyTree], np.ndarray]
    beside: Callable[[Any], Any] | None = None

    def answer(self, net: Any, x: PyTree, dtype: Any) -> Any:
        """The answers by a net of some precision. Double precision must be switched on."""
        z = self.prepare(x).astype(dtype)
        with doubles(jnp.dtype(dtype) == np.float64):
            y = net(z)
        answer = self.finish(y.astype(np.float64))
        return answer if self.beside is None else answer + self.beside(x)


class Exportable(abc.ABC):
    """A model that [`shootax.export.write`][] exports together with its preprocessing, such as an
    estimator.
    """

    @abc.abstractmethod
    def _exported(self) -> Whole:
        """The net with its preprocessing."""


def doubles(on: bool = True) -> contextlib.AbstractContextManager:
    """Double precision in JAX, on or off, for a while."""
    context: Any = getattr(jax, "enable_x64", None)
    if context is None:  # before version 0.8
        context = importlib.import_module("jax.experimental").enable_x64
    return context(on)
