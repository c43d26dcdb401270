"""The loop over epochs, for one net or for many at once."""

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, PyTree

from shootax import _checks as checks
from shootax._cache import make_room
from shootax._errors import DivergedError
from shootax._train.checkpoint import Checkpoint, fingerprint, is_number
from shootax._train.display import Show, progress_bar
from shootax._train.epoch import Progress, Recipe, Report, Settings, start, take_apart
from shootax._train.loop import MOST, is_good, program
from shootax._train.losses import Loss, loss_function
from shootax._train.optimizers import check_optimizer, program_of
from shootax._train.parameter_groups import decay_rates, thaw_epochs, units_of
from shootax._train.samples import AbstractSampler, Data, prepare, row_count
from shootax._train.schedules import AbstractSchedule, Constant, Cosine
from shootax._train.targets import matched

ADAM = optax.scale_by_adam()
COLUMNS = ("objective", "data", "penalty", "validation", "learning_rate")
RATE = 0.01
CALL = 0.5
"""Seconds that one call of the compiled program should take."""


class Fit(NamedTuple):
    """A trained model, how training went epoch by epoch, and how long it took."""

    net: Any
    history: dict[str, np.ndarray]
    seconds: float


class Problem(NamedTuple):
    """All that a training needs but for the nets and their seeds."""

    data: Data | AbstractSampler
    validation: Data | None
    settings: Settings
    recipe: Recipe
    epochs: int
    optimizer: str  # the program of the user's own


def make_problem(
    net: Any,
    x: PyTree[Array],
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
    validation: Any = None,
    times: Any = None,
    weights: Array | None = None,
    optimizer: optax.GradientTransformation | None = None,
    patience: int | None = None,
    weight_decay: Mapping[str, float] | None = None,
    averaging: float = 0.0,
    split_seed: int = 0,
    keep_best: bool = False,
) -> Problem:
    """Checks everything a user handed in. The options are those of [`shootax.fit`][]."""
    epochs = checks.positive_integer(epochs, "epochs")
    if patience is not None:
        patience = checks.positive_integer(patience, "patience")
    if checks.non_negative_number(averaging, "averaging") >= 1:
        raise ValueError(f"averaging must be below 1, got {averaging}; 0.999 is a usual value.")
    data, held_out, shared = prepare(x, y, weights, times, validation, split_seed)
    if keep_best and held_out is None:
        raise ValueError(
            "To keep the best model, give data to tell it by: validation=0.1, or a pair."
        )
    if optimizer is not None:
        _check_alone(learning_rate=learning_rate, schedule=schedule, weight_decay=weight_decay)
        check_optimizer(optimizer, net)
        learning_rate, schedule = math.nan, Constant()
    else:
        rate = RATE if learning_rate is None else learning_rate
        learning_rate = checks.positive_number(rate, "learning_rate")
    measure = loss_function(loss)
    data = matched(net, data, measure, shared)
    if held_out is not None:
        held_out = matched(net, held_out, measure, shared, "validation ")
    recipe = Recipe(
        loss=measure,
        optimizer=ADAM if optimizer is None else optimizer,
        own=optimizer is not None,
        schedule=Cosine() if schedule is None else schedule,
        batch_size=min(checks.positive_integer(batch_size, "batch_size"), row_count(data)),
        shared_times=shared,
        clipped=clip is not None,
        scaled=bool(units),
        decayed=bool(weight_decay),
        averaged=averaging > 0,
        stopping=keep_best or patience is not None,
        gaps=isinstance(data, Data) and bool(np.any(np.asarray(data.weight) == 0)),
    )
    settings = Settings(
        learning_rate=learning_rate,
        data_weight=checks.non_negative_number(data_weight, "data_weight"),
        penalty_weight=checks.non_negative_number(penalty_weight, "penalty_weight"),
        clip=checks.positive_number(1.0 if clip is None else clip, "clip"),
        epochs=epochs,
        thaw=_vector(net, thaw_epochs(net, freeze)),
        units=_vector(net, units_of(net, units)),
        decay=_vector(net, decay_rates(net, weight_decay)),
        averaging=averaging,
        patience=epochs if patience is None else patience,
    )
    settings = jax.tree.map(lambda value: jnp.asarray(value, jnp.result_type(float)), settings)
    program = "" if optimizer is None else program_of(optimizer, net)
    return Problem(data, held_out, settings, recipe, epochs, program)


def _check_alone(**options: Any) -> None:
    """Raises if an option is given that an optimiser of the user's own has itself."""
    for name, value in options.items():
        if value is not None:
            raise ValueError(
                f"Give either an optimizer or {name}, got both: the updates of an optimizer of your "
                "own are used as they are. Put the rate, its schedule and any decay of the weights "
                "into it, as in optax.adamw(optax.cosine_decay_schedule(1e-2, 1000))."
            )


def _vector(model: Any, numbers: PyTree) -> np.ndarray:
    """Numbers for the arrays of a model, as a vector with an entry for each parameter."""
    arrays = jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))
    pairs = zip(jax.tree.leaves(numbers), arrays, strict=True)
    parts = [np.broadcast_to(number, array.shape).ravel() for number, array in pairs]
    if not parts:
        raise ValueError(f"{type(model).__name__} has no parameters to train.")
    return np.concatenate(parts)


def train(
    nets: Sequence[Any],
    seeds: Sequence[int],
    problem: Problem,
    progress: bool | Show | None = None,
    checkpoint: Checkpoint | None = None,
) -> list[Fit | DivergedError]:
    """Trains all nets, which differ in their arrays alone, as one program.

    A net whose loss is not finite stops there, with its last good state, and one whose patience is
    over with its best; the others go on.
    """
    make_room()
    apart = [take_apart(net) for net in nets]
    frame = apart[0][1]
    states = [
        start(vector, frame, problem.recipe, jax.random.key(seed))
        for (vector, _), seed in zip(apart, seeds, strict=True)
    ]
    alone = len(nets) == 1
    state = states[0] if alone else jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    state = jax.tree.map(_strong, state)
    histories: list[dict[str, list[float]]] = [{name: [] for name in COLUMNS} for _ in nets]
    failures: dict[int, str] = {}
    done, before, mark = 0, 0.0, ""
    if checkpoint is not None:
        mark = fingerprint(problem, state, seeds)
        found = checkpoint.read(mark, state)
        if found is not None:
            state, histories, record = found
            failures = {int(i): why for i, why in record["failures"].items()}
            done, before = record["epoch"], record["seconds"]
    patience = float(problem.settings.patience)
    finished = _finished(state, patience)
    run = program(not alone, apart[0][0].size)
    began, length = time.perf_counter(), 1
    with progress_bar("Training", problem.epochs, progress) as show:
        while done < problem.epochs and _going(nets, failures, finished):
            called = time.perf_counter()
            number = min(length, problem.epochs - done)
            state, reports = run(
                jnp.asarray(number),
                state,
                frame,
                problem.data,
                problem.validation,
                problem.settings,
                problem.recipe,
            )
            reports = jax.device_get(reports)
            for i in range(len(nets)):
                mine = reports if alone else _pick(reports, i)
                for k in range(number):
                    if i in failures or i in finished:
                        break
                    report = _pick(mine, k)
                    if not is_good(report):
                        failures[i] = _why(done + k + 1, report)
                        continue
                    _add(histories[i], report)
                    if report.waited is not None and report.waited >= patience:
                        finished.add(i)
            done += number
            taken = time.perf_counter() - called
            # Calls long enough not to matter, short enough to show how it goes. The first compiles.
            length = int(np.clip(number * CALL / taken, 1, MOST)) if number > 1 else 2 * length
            over = done == problem.epochs or not _going(nets, failures, finished)
            if checkpoint is not None and (over or checkpoint.is_due()):
                seconds = before + time.perf_counter() - began
                record = {"epoch": done, "failures": failures, "seconds": seconds}
                checkpoint.write(mark, state, histories, record)
            show(done, _says(histories))
    seconds = before + time.perf_counter() - began
    outcomes: list[Fit | DivergedError] = []
    for i, history in enumerate(histories):
        vector = state.model if alone else state.model[i]
        columns = {name: np.array(column) for name, column in history.items()}
        result = Fit(frame.model(vector), columns, seconds)
        outcomes.append(DivergedError(failures[i], result) if i in failures else result)
    return outcomes


def _going(nets: Sequence[Any], failures: dict[int, str], finished: set[int]) -> bool:
    return len(failures.keys() | finished) < len(nets)


def _finished(state: Progress, patience: float) -> set[int]:
    """The nets whose patience is over."""
    if state.best is None:
        return set()
    return {int(i) for i in np.flatnonzero(np.atleast_1d(state.best.waited) >= patience)}


def _strong(leaf: Array) -> Array:
    """Without a weak type, as after an epoch: else the program would be compiled twice."""
    return jax.lax.convert_element_type(leaf, leaf.dtype) if is_number(leaf) else leaf


def _pick(tree: PyTree, i: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[i], tree)


def _add(history: dict[str, list[float]], report: Report) -> None:
    for name, column in history.items():
        column.append(float(np.mean(getattr(report, name))))


def _says(histories: list[dict[str, list[float]]]) -> str:
    last = [history["objective"][-1] for history in histories if history["objective"]]
    return f"loss {np.mean(last):.4g}" if last else "diverged"


def _why(epoch: int, report: Report) -> str:
    bad = np.flatnonzero(~np.isfinite(report.objective))
    value = float(report.learning_rate)
    rate = "" if math.isnan(value) else f"; the learning rate was {value:.3g}"
    advice = (
        "The last good model is in the `result` of this error. Lower the learning rate, clip the "
        "gradient (clip=10), start from smaller momenta, or scale the data."
    )
    if len(bad) == 0:
        return f"Training diverged in epoch {epoch}: the gradient is not finite{rate}. {advice}"
    batch = int(bad[0])
    terms = {"data loss": report.data[batch], "penalty": report.penalty[batch]}
    named = [f"the {name} is {float(value):.4g}" for name, value in terms.items()]
    return (
        f"Training diverged in epoch {epoch}, batch {batch + 1} of {len(report.objective)}: "
        f"{' and '.join(named)}{rate}. {advice}"
    )
