"""Nets with preprocessing and postprocessing, such as estimators."""

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
    """A net with its preprocessing and postprocessing, which are in double precision.

    **Arguments:**

    - `net`: the net, or another module, possibly in single precision.
    - `one`: the shapes of one sample of raw input.
    - `prepare`: a function from raw samples to the input of the net. It is traced.
    - `finish`: a function from the output of the net to the predictions. It is traced.
    - `about`: a description of the columns and the outputs, for the JSON file of an export.
    - `sample`: `sample(generator, samples)` returns raw samples similar to the training data.
    - `reference`: a function from raw samples to the predictions of the original model.
    - `beside`: a function from raw samples to a term that is added to the predictions. It is traced.
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
        """The predictions, with the net in the precision `dtype`. JAX's x64 mode must be on."""
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
    """A context manager that switches JAX's double precision on or off."""
    context: Any = getattr(jax, "enable_x64", None)
    if context is None:  # before version 0.8
        context = importlib.import_module("jax.experimental").enable_x64
    return context(on)
