"""Train a model with one call."""

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
    """Minimise `data_strength` · mean loss + `penalty_strength` · $∫R\\, dt$.

    Epochs run inside one compiled program. The same seed gives the same numbers.

    **Arguments:**

    - `net`: a [`shootax.Net`][], or any `equinox.Module` that maps a batch to a batch and contains one.
    - `x`, `y`: inputs and targets, with samples along the leading axis: arrays, lists of numbers or
        data frames. Instead of both, `x` can be an [`shootax.AbstractSampler`][], which draws new
        samples for every epoch, or a stream of batches: a generator, a Grain loader, a PyTorch
        `DataLoader` or anything else that yields `(x, y)`, `(x, y, sample_weight)`,
        `(x, y, sample_weight, times)` or a dictionary with these names. For a model with one output,
        targets can have shape `(samples,)`.
    - `epochs`, `batch_size`: the number of epochs, and of samples in a batch. The batches of a stream
        keep their own size.
    - `steps_per_epoch`: for a stream, the number of batches in an epoch; by default one pass, if the
        stream has a length.
    - `loss`: `"mse"`, `"cross_entropy"` (targets are class numbers, starting from 0), or a function of
        one prediction and one target.
    - `data_strength`, `penalty_strength`: the factors of the two terms of the objective.
    - `times`: the times at which trajectories are compared with the targets: `(times,)` for all
        samples, or `(samples, times)`. Targets then have a time axis after the first axis.
    - `sample_weight`: weights of the samples in the mean loss.
    - `optimizer`: an [`shootax.Optimizer`][], which by default is Adam with a cosine schedule; or a
        complete Optax optimiser such as `optax.lion(1e-3)`, whose updates are used unchanged. By
        default, [`shootax.extend.recommended`][] chooses an optimiser for the model.
    - `polish`: an [`shootax.LBFGS`][] that continues after these epochs, on all samples at once, until
        the objective does not fall any more. Its epochs are appended to the history.
    - `validation`: a fraction of the samples to hold out, or `(x, y)`, `(x, y, sample_weight)` or
        `(x, y, sample_weight, times)`; or a [`shootax.Validation`][] for early stopping.
    - `checkpoint`: a file for the state of the training, written every 30 seconds and at the end. If
        it exists, training resumes from it, bit for bit.
    - `callbacks`: functions that are called after every epoch with a
        [`shootax.extend.EpochReport`][]. Training stops after the epoch if one of them returns `True`.
        If one raises an error, the checkpoint is written first. The numbers are the same with and
        without callbacks.
    - `seed`: the seed for the order of the samples and for the validation split.
    - `mesh`: devices that train together, with the results of one device up to rounding: `"auto"` for
        all devices, or a `jax.sharding.Mesh` with an axis `"data"`, which shards every batch, and,
        for very many particles, an axis `"particles"`. On a CPU, `"auto"` uses only one device if a
        step is too short to be shared, and is the default after [`shootax.use_cores`][].
    - `progress`: whether to show a progress bar; by default only in a terminal. Or a function that is
        called with the number of completed epochs and a text.

    **Returns:** a [`shootax.FitResult`][] with the trained `net`, the `history` and the `seconds`.

    **Raises:** [`shootax.DivergedError`][] if the loss is not finite. The error says when and why, and
    its `result` holds the last good model and the history.

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
    refuse_after_fork()  # JAX is needed from here on, to make the problem
    stream, steps = None, 0
    if is_stream(x):
        check_model(net, x)
        if polish is not None:
            raise ValueError(
                "polish needs all samples at once, and a stream has them one batch after the other. "
                "Train on the stream without polish, and polish the result in another call of fit with "
                "arrays."
            )
        stream, steps = opened(x, y, sample_weight, times, validation, steps_per_epoch)
        x, y, batch_size, times = example(stream, times)
    elif steps_per_epoch is not None:
        raise ValueError(
            "steps_per_epoch is for streams; with arrays, an epoch is one pass over them."
        )
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
    """The options that [`shootax.fit_many`][] shares with `fit`, which defines their defaults."""

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
