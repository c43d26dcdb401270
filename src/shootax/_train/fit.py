"""Training on arrays, in one call."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import optax
from jaxtyping import Array, PyTree

from shootax._errors import DivergedError
from shootax._measures import nets as nets_in
from shootax._train.checkpoint import Checkpoint
from shootax._train.display import Show
from shootax._train.engine import Fit, make_problem, train
from shootax._train.losses import Loss
from shootax._train.samples import AbstractSampler
from shootax._train.schedules import AbstractSchedule


def fit(
    net: Any,
    x: PyTree[Array] | AbstractSampler,
    y: PyTree[Array] | None = None,
    *,
    epochs: int = 500,
    batch_size: int = 50,
    learning_rate: float | None = None,
    schedule: AbstractSchedule | None = None,
    loss: str | Loss = "mse",
    data_weight: float = 100.0,
    penalty_weight: float = 1.0,
    freeze: Mapping[str, int | None] | None = None,
    units: Mapping[str, float] | None = None,
    clip: float | None = None,
    validation: float | tuple[PyTree[Array], ...] | None = None,
    times: Any = None,
    weights: Array | None = None,
    optimizer: optax.GradientTransformation | None = None,
    patience: int | None = None,
    weight_decay: Mapping[str, float] | None = None,
    averaging: float = 0.0,
    seed: int = 0,
    progress: bool | Show | None = None,
    checkpoint: str | os.PathLike | Checkpoint | None = None,
    keep_best: bool = False,
) -> Fit:
    """Minimises `data_weight` · mean loss + `penalty_weight` · $∫R\\, dt$ by Adam.

    Epochs run inside one compiled program. The same seed gives the same numbers.

    **Arguments:**

    - `net`: a [`shootax.Net`][], or any `equinox.Module` that maps a batch to a batch and holds one.
    - `x`, `y`: inputs and targets, with samples along the leading axis: arrays, lists of numbers or
        frames of pandas; or, as `x` alone, an [`shootax.AbstractSampler`][] that draws fresh ones
        for every epoch. A column of targets `(samples,)` will do for a model with one output.
    - `epochs`, `batch_size`: as usual.
    - `learning_rate`: of Adam, by default 0.01.
    - `schedule`: of the learning rate: [`shootax.Cosine`][] (the default), [`shootax.Plateau`][] or
        [`shootax.Constant`][]. A plateau is one of the objective on the validation data if there are
        any, else on the training data.
    - `loss`: `"mse"`, `"cross_entropy"` (targets are class numbers from 0 on), or a function of one
        prediction and one target.
    - `freeze`: names of parts and for how many first epochs they are held still (`None`: always),
        as in `{"positions": 50, "lift": None}`; `"visible-positions"` is their part $x$ alone.
    - `units`: names of parts and the unit that they are trained in, as in `{"momenta": 0.1}`: the
        optimizer sees the numbers divided by it, so that Adam's steps are that much smaller.
    - `clip`: an upper limit for the norm of the gradient.
    - `validation`: a fraction of the samples to hold out, or `(x, y)`, `(x, y, weights)` or, where
        each sample has its own times, `(x, y, weights, times)`.
    - `times`: when the net is asked for trajectories: `(times,)` for all samples, or
        `(samples, times)` for each its own. Targets then have a time axis after the first.
    - `weights`: of the samples, in the mean loss.
    - `optimizer`: instead of Adam, a complete Optax optimiser such as `optax.lion(1e-3)`. Its updates
        are used as they are, so leave out `learning_rate`, `schedule` and `weight_decay`, which are
        its own matter (`optax.adamw`, `optax.cosine_decay_schedule`); the learning rates in the
        history are NaN. A bare `optax.scale_by_lion()`, which would climb, is an error.
    - `patience`: stop after so many epochs in a row without a lower validation loss (or objective, if
        nothing is held out), and return the best model of all epochs instead of the last.
    - `weight_decay`: names of parts, as for `freeze`, and what fraction of themselves they lose in a
        step of rate one, as in AdamW.
    - `averaging`: if above 0, the model is a running average of the parameters along the way, of
        which every step keeps this fraction, such as 0.99. It is also what validation looks at.
    - `seed`: of the order of the samples and of the validation split.
    - `progress`: whether to show a progress bar; by default in a terminal. Or a function that is
        called with the number of epochs done and a word on the loss.
    - `checkpoint`: a file that holds the state of the training, renewed every 30 seconds and at the
        end. If it is there already, training goes on from it, to the same bits as without a break.
    - `keep_best`: whether to return the model of the epoch with the smallest validation loss, and
        not that of the last.

    **Raises:** [`shootax.DivergedError`][] when the loss is not finite. It says when and why, and
    holds the last good model and the history in its `result`.
    """
    problem = make_problem(
        net,
        x,
        y,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        schedule=schedule,
        loss=loss,
        data_weight=data_weight,
        penalty_weight=penalty_weight,
        freeze=freeze,
        units=units,
        clip=clip,
        validation=validation,
        times=times,
        weights=weights,
        optimizer=optimizer,
        patience=patience,
        weight_decay=weight_decay,
        averaging=averaging,
        split_seed=seed,
        keep_best=keep_best,
    )
    (outcome,) = train([net], [seed], problem, progress, Checkpoint.at(checkpoint))
    if isinstance(outcome, DivergedError):
        raise outcome
    return outcome


def fit_many(
    nets: Sequence[Any],
    x: PyTree[Array] | AbstractSampler,
    y: PyTree[Array] | None = None,
    *,
    seeds: Sequence[int] | None = None,
    together: bool | None = None,
    progress: bool | Show | None = None,
    checkpoint: str | os.PathLike | Checkpoint | None = None,
    **options: Any,
) -> list[Fit | DivergedError]:
    """Trains several nets of one kind, for instance one from each of many seeds.

    Small nets spend most of a step on overhead, which they share when they train as one program;
    large ones do not, and are trained one after the other.

    **Arguments:**

    - `nets`: models that differ in the values of their arrays alone.
    - `x`, `y`: inputs and targets, the same for all.
    - `seeds`: of the order of the samples, by default 0, 1, 2, …
    - `together`: whether to train all as one program; by default chosen by their size.
    - `progress`: as in [`shootax.fit`][].
    - `checkpoint`: likewise; only for nets that train as one program.
    - `options`: as in [`shootax.fit`][]. A validation fraction is split off once for all.

    **Returns:** for each net what [`shootax.fit`][] would return, or the error it would raise: one
    that diverges does not stop the others.

    !!! example

        ```python
        import jax
        import numpy as np
        import shootax as sx

        x = np.linspace(-1, 1, 40)[:, None]
        field = sx.UpDown(dim=1, inflation=4)
        nets = [sx.Net(field, particles=3, key=jax.random.key(seed)) for seed in range(3)]
        fits = sx.fit_many(nets, x, x**2, epochs=2)
        print([fit.net.control.ensemble.particles for fit in fits])  # [3, 3, 3]
        ```
    """
    if not nets:
        raise ValueError("There are no nets to train.")
    seeds = range(len(nets)) if seeds is None else seeds
    if len(seeds) != len(nets):
        raise ValueError(f"Give one seed for each net, got {len(seeds)} for {len(nets)} nets.")
    problem = make_problem(nets[0], x, y, **options)
    if together is None:
        together = pays_together(nets[0], problem.recipe.batch_size)
    if together:
        return train(nets, seeds, problem, progress, Checkpoint.at(checkpoint))
    if checkpoint is not None:
        raise ValueError(
            "Nets that train one after the other have no common checkpoint. Use together=True, or "
            "`fit` with a file for each."
        )
    pairs = zip(nets, seeds, strict=True)
    return [train([net], [seed], problem, progress)[0] for net, seed in pairs]


# Above this many numbers in the states of one evaluation, products take the time and not overhead.
_LARGE = 8_000


def pays_together(model: Any, batch_size: int) -> bool:
    """Whether nets of this kind are faster trained as one program."""
    sizes = [net.work(batch_size) for net in nets_in(model)]
    return max(sizes, default=0) <= _LARGE
