"""Training on arrays, in one call."""

from collections.abc import Mapping, Sequence
from typing import Any

import optax
from jaxtyping import Array, PyTree

from shootax.errors import DivergedError
from shootax.measures import nets as nets_in
from shootax.train.engine import Fit, make_problem, train
from shootax.train.losses import Loss
from shootax.train.schedules import AbstractSchedule, Cosine


def fit(
    net: Any,
    x: PyTree[Array],
    y: PyTree[Array],
    *,
    epochs: int = 500,
    batch_size: int = 50,
    learning_rate: float = 0.01,
    schedule: AbstractSchedule = Cosine(),
    loss: str | Loss = "mse",
    data_weight: float = 100.0,
    penalty_weight: float = 1.0,
    freeze: Mapping[str, int | None] | None = None,
    clip: float | None = None,
    validation: float | tuple[PyTree[Array], ...] | None = None,
    times: Any = None,
    weights: Array | None = None,
    optimizer: optax.GradientTransformation | None = None,
    patience: int | None = None,
    weight_decay: Mapping[str, float] | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> Fit:
    """Minimises `data_weight` · mean loss + `penalty_weight` · $∫R\\, dt$ by Adam.

    Every epoch is one compiled program. The same seed gives the same numbers.

    **Arguments:**

    - `net`: a [`shootax.Net`][], or any `equinox.Module` that maps a batch to a batch and holds one.
    - `x`, `y`: inputs and targets, with samples along the leading axis.
    - `epochs`, `batch_size`, `learning_rate`: as usual.
    - `schedule`: [`shootax.Cosine`][], [`shootax.Plateau`][] or [`shootax.Constant`][]. A plateau is
        one of the validation loss if there is one, else of the objective.
    - `loss`: `"mse"`, `"cross_entropy"` (targets are class numbers), or a function of one prediction
        and one target.
    - `freeze`: names of parts and for how many first epochs they are held still (`None`: always),
        as in `{"positions": 50, "lift": None}`.
    - `clip`: an upper limit for the norm of the gradient.
    - `validation`: a fraction of the samples to hold out, or `(x, y)`, `(x, y, weights)` or, where
        each sample has its own times, `(x, y, weights, times)`.
    - `times`: when the net is asked for trajectories: `(times,)` for all samples, or
        `(samples, times)` for each its own. Targets then have a time axis after the first.
    - `weights`: of the samples, in the mean loss.
    - `optimizer`: instead of Adam, an Optax transformation without a learning rate, for instance
        `optax.scale_by_lion()`.
    - `patience`: stop after so many epochs in a row without a lower validation loss (or objective, if
        nothing is held out), and return the best model of all epochs instead of the last.
    - `weight_decay`: names of parts, as for `freeze`, and what fraction of themselves they lose in a
        step of rate one, as in AdamW.
    - `seed`: of the order of the samples and of the validation split.
    - `progress`: whether to show a progress bar; by default in a terminal.

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
        clip=clip,
        validation=validation,
        times=times,
        weights=weights,
        optimizer=optimizer,
        patience=patience,
        weight_decay=weight_decay,
        split_seed=seed,
    )
    (outcome,) = train([net], [seed], problem, progress)
    if isinstance(outcome, DivergedError):
        raise outcome
    return outcome


def fit_many(
    nets: Sequence[Any],
    x: PyTree[Array],
    y: PyTree[Array],
    *,
    seeds: Sequence[int] | None = None,
    together: bool | None = None,
    progress: bool | None = None,
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
    - `progress`: whether to show a progress bar; by default in a terminal.
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
        together = _pays_together(nets[0], problem.recipe.batch_size)
    if together:
        return train(nets, seeds, problem, progress)
    pairs = zip(nets, seeds, strict=True)
    return [train([net], [seed], problem, progress)[0] for net, seed in pairs]


# Above this many numbers in the states of one evaluation, products take the time and not overhead.
_LARGE = 8_000


def _pays_together(model: Any, batch_size: int) -> bool:
    sizes = [net.work(batch_size) for net in nets_in(model)]
    return max(sizes, default=0) <= _LARGE
