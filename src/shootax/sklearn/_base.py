"""The base class of the estimators: parameters, training, and attributes after `fit`."""

import abc
import os
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

import shootax as sx
from shootax import _checks as checks
from shootax.export import Exportable
from shootax.extend import Loss
from shootax.sklearn import _model as model
from shootax.sklearn import _saving as saving
from shootax.sklearn import _training as training
from shootax.sklearn._recipe import rate_for, recipe
from shootax.sklearn._tables import Samples


class AbstractShooting(BaseEstimator, Exportable):
    """An estimator around one net: linear lift, UpDown with some formulation, linear readout."""

    loss_: float
    penalty_weight_: float
    """The value of `penalty_weight` in training, given or chosen by the number of samples."""
    max_iter_: int
    """The maximal number of epochs in training, given or chosen by the number of samples."""
    best_validation_score_: float | None = None
    """R² or accuracy on the samples that were held out for early stopping, which chose the model."""
    _table: dict[str, Any] | None = None  # from a file: the table that the model was fitted to

    def __init__(
        self,
        *,
        formulation: str = "dynamic-particles",
        width: int | None = None,
        inflation: int = 1,
        particles: int = 5,
        depth: int = 5,
        activation: str = "tanh",
        penalty_weight: float | None = None,
        weight_decay: float | None = None,
        learning_rate: float | None = None,
        batch_size: int | None = None,
        max_iter: int | None = None,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 30,
        random_state: Any = 0,
        verbose: bool = False,
        mesh: Any = None,
    ):
        """**Arguments:**

        - `formulation`: the source of the weights: `"dynamic-particles"`, `"static-particles"`,
            `"static-direct"` or `"dynamic-direct"`.
        - `width`: the size of the visible state. By default it grows with the square root of the number
            of columns: 12 for up to 12 columns, 16 for up to 20, 20 beyond.
        - `inflation`: the size of the hidden state, as a multiple of `width`.
        - `particles`: the number of particles, if the formulation uses them.
        - `depth`: the number of RK4 steps from $t = 0$ to $1$.
        - `activation`: `"tanh"`, `"relu"`, `"softplus"`, `"sigmoid"` or `"gelu"`.
        - `penalty_weight`: the weight of $∫R(θ(t))\\, dt$ in the objective. By default 0.01 for up to
            1,500 samples; beyond, it falls with the square of their number.
        - `weight_decay`: the weight decay of lift and readout, as in AdamW. By default 0.5 for up to
            1,500 samples; beyond, it falls with the square of their number.
        - `learning_rate`: the learning rate of Adam, which decays to zero along half a cosine. By
            default 0.01, and 0.02 for batches of more than 32.
        - `batch_size`: the number of samples per step. By default 32 for up to about 700 samples, 64
            for up to 1,400, and 128 beyond.
        - `max_iter`: the maximal number of epochs. By default 100 for up to 10,000 samples; beyond,
            fewer, so that training sees a million samples in total, but at least 10.
        - `early_stopping`: whether to hold out samples, stop when the loss on them has not fallen for
            `n_iter_no_change` epochs, and keep the best model.
        - `validation_fraction`: the fraction of the samples to hold out. If that is fewer than five,
            training uses all samples, and the loss on them decides when to stop.
        - `n_iter_no_change`: see `early_stopping`.
        - `random_state`: a seed. The same seed and data give the same model.
        - `verbose`: whether to show a progress bar in a terminal.
        - `mesh`: several devices that share every batch, as in [`shootax.fit`][]: a
            `jax.sharding.Mesh`, or `"auto"` for all. Files do not store it.
        """
        self.formulation = formulation
        self.width = width
        self.inflation = inflation
        self.particles = particles
        self.depth = depth
        self.activation = activation
        self.penalty_weight = penalty_weight
        self.weight_decay = weight_decay
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.verbose = verbose
        self.mesh = mesh

    @property
    def penalty_(self) -> float:
        """$∫R(θ(t))\\, dt$ of the trained net."""
        check_is_fitted(self)
        return training.measures(self.net_)[0]

    @property
    def complexity_(self) -> float:
        """$∫\\log_2 Σ_k\\|θ_k(t)\\|_F^2\\, dt$ of the trained net."""
        check_is_fitted(self)
        return training.measures(self.net_)[1]

    @property
    def energy_(self) -> float:
        """The minimised energy: mean loss on the training samples + `penalty_weight` · `penalty_`."""
        check_is_fitted(self)
        return self.loss_ + self.penalty_weight_ * self.penalty_

    @property
    def n_parameters_(self) -> int:
        """The number of trained parameters."""
        check_is_fitted(self)
        return sx.count(self.net_)

    def save(self, path: str | os.PathLike, *, record: dict[str, Any] | None = None) -> None:
        """Write the fitted estimator to one file, atomically and without pickle.

        **Arguments:**

        - `path`: the file to write; the usual suffix is `.safetensors`. [`shootax.load`][] also reads
            this file, and returns only the net.
        - `record`: a JSON-serialisable dictionary that is stored in the file.
        """
        check_is_fitted(self)
        saving.save(path, self, record or {})

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """Read an estimator written by `save`."""
        return saving.load(path, cls)

    @abc.abstractmethod
    def _state(self) -> dict[str, Any]:
        """The learned state apart from the net, as JSON-serialisable values."""

    @abc.abstractmethod
    def _restore(self, state: dict[str, Any]) -> None:
        """The inverse of `_state`."""

    def _random(self) -> np.random.Generator:
        source = check_random_state(self.random_state)
        return np.random.default_rng(source.randint(2**31 - 1))

    def _shape(self, inputs: int, outputs: int) -> model.Shape:
        checks.one_of(self.formulation, sx.FORMULATIONS, "formulation")
        whole = ("inflation", "particles", "depth")
        numbers = {name: checks.positive_integer(getattr(self, name), name) for name in whole}
        if self.width is None:
            width = model.default_width(inputs)
        else:
            width = checks.positive_integer(self.width, "width")
        return model.Shape(
            inputs,
            outputs,
            formulation=self.formulation,
            activation=self.activation,
            width=width,
            **numbers,
        )

    def _held_out_fraction(self) -> float:
        fraction = checks.positive_number(self.validation_fraction, "validation_fraction")
        if fraction >= 1:
            raise ValueError(f"validation_fraction must be below 1, got {fraction}.")
        return fraction if self.early_stopping else 0.0

    def _train(
        self,
        shape: model.Shape,
        samples: Samples,
        held_out: Samples | None,
        loss: str | Loss,
        rng: np.random.Generator,
    ) -> None:
        """Train a net, and set the attributes that describe the training."""
        patience = checks.positive_integer(self.n_iter_no_change, "n_iter_no_change")
        usual = recipe(len(samples.x))

        def chosen(name: str, default: Any, check: Callable[[Any, str], Any]) -> Any:
            given = getattr(self, name)
            return default if given is None else check(given, name)

        batch_size = chosen("batch_size", usual.batch_size, checks.positive_integer)
        options = training.Options(
            epochs=chosen("max_iter", usual.epochs, checks.positive_integer),
            batch_size=batch_size,
            learning_rate=chosen("learning_rate", rate_for(batch_size), checks.positive_number),
            penalty_weight=chosen(
                "penalty_weight", usual.penalty_weight, checks.non_negative_number
            ),
            weight_decay=chosen("weight_decay", usual.weight_decay, checks.non_negative_number),
            patience=patience if self.early_stopping else None,
            seed=int(rng.integers(2**31)),
            verbose=bool(self.verbose),
            mesh=self.mesh,
        )
        start = model.first(shape, samples.x, rng)
        fitted = training.train(start, samples, held_out, loss, options)
        self.shape_, self._table = shape, None
        self.penalty_weight_, self.max_iter_ = options.penalty_weight, options.epochs
        self.net_ = fitted.net
        self.loss_curve_ = fitted.history["objective"].tolist()
        self.validation_curve_ = (
            fitted.history["validation"].tolist() if held_out is not None else None
        )
        self.n_iter_ = len(self.loss_curve_)
        self.seconds_ = fitted.seconds

    def __getstate__(self) -> dict[str, Any]:
        """Replace the net by its parameters, because it holds functions that cannot be pickled."""
        state: dict[str, Any] = {**BaseEstimator.__getstate__(self)}  # pyright: ignore
        if "net_" in state:
            state["net_"] = model.leaves(state["net_"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "net_" in state:
            state["net_"] = model.assembled(state["shape_"], state["net_"])
        BaseEstimator.__setstate__(self, state)
