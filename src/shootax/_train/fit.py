"""Training on arrays, in one call."""

import os
from typing import Any, TypedDict

import optax
from jax.sharding import Mesh
from jaxtyping import Array, PyTree

from shootax._errors import DivergedError
from shootax._fork import refuse_after_fork
from shootax._train.checkpoint import Checkpoint
from shootax._train.engine import train
from shootax._train.losses import Loss
from shootax._train.optimizer import Optimizer
from shootax._train.polish import LBFGS
from shootax._train.problem import check_model, make_problem
from shootax._train.progress import Show
from shootax._train.results import Callback, FitResult
from shootax._train.samples import AbstractSampler
from shootax._train.stream_problem import example, of_stream, opened
from shootax._train.streaming import train_on_stream
from shootax._train.streams import is_stream
from shootax._train.validation import Validation


def fit(
    net: Any,
    x: PyTree[Array] | AbstractSampler,
    y: PyTree[Array] | None = None,
    *,
    epochs: int = 500,
    batch_size: int = 50,
    steps_per_epoch: int | None = None,
    loss: str | Loss = "mse",
    data_strength: float = 100.0,
    penalty_strength: float = 1.0,
    times: Any = None,
    sample_weight: Any = None,
    optimizer: Optimizer | optax.GradientTransformation | None = None,
    polish: LBFGS | None = None,
    validation: float | tuple[PyTree[Array], ...] | Validation | None = None,
    checkpoint: str | os.PathLike | Checkpoint | None = None,
    callbacks: list[Callback] | tuple[Callback, ...] = (),
    seed: int = 0,
    mesh: Mesh | str | None = None,
    progress: bool | Show | None = None,
) -> FitResult:
    """Minimises `data_strength` · mean loss + `penalty_strength` · $∫R\\, dt$.

    Epochs run inside one compiled program. The same seed gives the same numbers.

    **Arguments:**

    - `net`: a [`shootax.Net`][], or any `equinox.Module` that maps a batch to a batch and holds one.
    - `x`, `y`: inputs and targets, with samples along the leading axis: arrays, lists of numbers or
        data frames; or, as `x` alone, an [`shootax.AbstractSampler`][] that draws fresh ones for
        every epoch; or a stream of batches: a generator, a Grain loader, a PyTorch `DataLoader` or
        anything else that yields `(x, y)`, `(x, y, sample_weight)`, `(x, y, sample_weight, times)` or
        a dictionary with these names. Targets of shape `(samples,)` will do for a model with one
        output.
    - `epochs`, `batch_size`: as usual. The batches of a stream have the size that they have.
    - `steps_per_epoch`: for a stream, the number of batches of an epoch; by default one pass, where
        the stream has a length.
    - `loss`: `"mse"`, `"cross_entropy"` (targets are class numbers from 0 on), or a function of one
        prediction and one target.
    - `data_strength`, `penalty_strength`: the factors of the two terms of the objective.
    - `times`: the times at which trajectories are compared with the targets: `(times,)` for all
        samples, or `(samples, times)` for each its own. Targets then have a time axis after the first.
    - `sample_weight`: weights of the samples in the mean loss.
    - `optimizer`: an [`shootax.Optimizer`][], which is Adam with a cosine schedule unless you say
        otherwise; or a complete Optax optimiser such as `optax.lion(1e-3)`, whose updates are used as
        they are. By default [`shootax.extend.recommended`][] chooses one for the model.
    - `polish`: an [`shootax.LBFGS`][] that goes on from there on all samples at once, until the
        objective is as low as it gets. Its epochs are added to those of the history.
    - `validation`: a fraction of the samples to hold out, or `(x, y)`, `(x, y, sample_weight)` or
        `(x, y, sample_weight, times)`; or a [`shootax.Validation`][] for early stopping.
    - `checkpoint`: a file that holds the state of the training, renewed every 30 seconds and at the
        end. If it exists, training resumes from it, bit for bit.
    - `callbacks`: functions that are called after every epoch with a
        [`shootax.extend.EpochReport`][]. The training stops after the epoch if one returns `True`. If
        one raises an error, the checkpoint is written first. Numbers are the same with and without
        callbacks.
    - `seed`: of the order of the samples and of the validation split.
    - `mesh`: devices that train together, with the results of one device to rounding: `"auto"` for all
        there are, or a `jax.sharding.Mesh` with an axis `"data"`, over which every batch is shared
        out, and for very many particles an axis `"particles"`. On a CPU, `"auto"` means one device
        where a step is too short to be shared, and is the default after [`shootax.use_cores`][].
    - `progress`: whether to show a progress bar; by default in a terminal only. Or a function that is
        called with the number of epochs done and a text.

    **Returns:** a [`shootax.FitResult`][] with the trained `net`, the `history` and the `seconds`.

    **Raises:** [`shootax.DivergedError`][] when the loss is not finite. It says when and why, and
    holds the last good model and the history in its `result`.

    !!! example

        ```python
        import io
        import json

        import jax
        import numpy as np
        import shootax as sx

        x = np.linspace(-1, 1, 40)[:, None]
        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        log = io.StringIO()  # or open("log.jsonl", "a")


        def write(report):
            log.write(json.dumps(report.numbers()) + "\\n")
            return report.objective < 1e-3


        result = sx.fit(net, x, x**2, epochs=3, callbacks=[write])
        print(len(log.getvalue().splitlines()))  # 3
        ```
    """
    refuse_after_fork()  # the problem is already made by JAX
    stream, steps = None, 0
    if is_stream(x):
        check_model(net, x)
        if polish is not None:
            raise ValueError(
                "polish needs all samples at once, and a stream has them one batch after the other. "
                "Polish on arrays, by another call of fit from the model of this one."
            )
        stream, steps = opened(x, y, sample_weight, times, validation, steps_per_epoch)
        x, y, batch_size, times = example(stream, times)
    elif steps_per_epoch is not None:
        raise ValueError("steps_per_epoch is for streams; arrays have an epoch of their own.")
    problem = make_problem(
        net,
        x,
        y,
        epochs=epochs,
        batch_size=batch_size,
        loss=loss,
        data_strength=data_strength,
        penalty_strength=penalty_strength,
        times=times,
        sample_weight=sample_weight,
        optimizer=optimizer,
        polish=polish,
        validation=validation,
        callbacks=callbacks,
        seed=seed,
        mesh=mesh,
    )
    if stream is not None:
        problem = of_stream(problem, stream, steps)
        outcome = train_on_stream(net, problem, stream, steps, progress, Checkpoint.at(checkpoint))
    else:
        (outcome,) = train([net], [int(seed)], problem, progress, Checkpoint.at(checkpoint))
    if isinstance(outcome, DivergedError):
        raise outcome
    return outcome


class FitOptions(TypedDict, total=False):
    """The options that [`shootax.fit_many`][] shares with `fit`, where their defaults are."""

    epochs: int
    batch_size: int
    loss: str | Loss
    data_strength: float
    penalty_strength: float
    times: Any
    sample_weight: Any
    optimizer: Optimizer | optax.GradientTransformation | None
    polish: LBFGS | None
    validation: float | tuple[PyTree[Array], ...] | Validation | None
    mesh: Mesh | str | None
    callbacks: list[Callback] | tuple[Callback, ...]
