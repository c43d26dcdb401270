"""The loop over epochs, for one net or for many at once."""

import time
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from shootax._cache import make_room
from shootax._disk_cache import keeping_programs
from shootax._errors import DivergedError
from shootax._train.checkpoint import Checkpoint
from shootax._train.compiler_options import compiler_options
from shootax._train.epoch import Progress, start
from shootax._train.fingerprint import fingerprint, is_number
from shootax._train.hosts import highest, leads, naming_lost_processes, of_the_first
from shootax._train.ledger import Ledger
from shootax._train.loop import program
from shootax._train.problem import Problem
from shootax._train.progress import Show, progress_bar
from shootax._train.results import EpochReport, FitResult
from shootax._train.stopping import RUNNING, STOPPED
from shootax._train.update import Frame, take_apart

CALL = 0.5
"""Seconds that one call of the compiled program should take."""


@keeping_programs
@naming_lost_processes()
def train(
    nets: Sequence[Any],
    seeds: Sequence[int],
    problem: Problem,
    progress: bool | Show | None = None,
    checkpoint: Checkpoint | None = None,
    first: int = 0,
) -> list[FitResult | DivergedError]:
    """Trains all nets, which differ in their arrays alone, as one program.

    A net that diverges stops there with its last good state, and one whose patience is over with its
    best; the others go on. `stopping` decides both, inside the program. Callbacks know the nets by
    their numbers from `first` on.
    """
    if checkpoint is not None:
        checkpoint.check()
    make_room()
    apart = [take_apart(net) for net in nets]
    frame, alone = apart[0][1], len(nets) == 1
    state = first_state([vector for vector, _ in apart], frame, problem)
    ledger, mark = Ledger.empty(len(nets)), ""
    if checkpoint is not None:
        mark = fingerprint(problem, frame, state, seeds)
        found = checkpoint.read(mark, state)
        if found is not None:
            ledger = Ledger.restored(*found[1:], nets=len(nets), path=checkpoint.path)
            state = found[0]
    orders = problem.orders(seeds)
    orders.skip(ledger.epochs)
    size = apart[0][0].size
    options = compiler_options(size, problem.steps * len(nets), state)
    problem = problem.placed()
    sharing = problem.recipe.sharing
    everywhere = jax.device_put if sharing is None else sharing.replicated
    if sharing is not None:
        state = everywhere(state)
    run = program(not alone, options, sharing)
    inputs = (problem.data, problem.validation, problem.settings, problem.recipe)
    inputs = (frame if sharing is None else everywhere(frame), *inputs)
    batches = int(problem.settings.size.filled)
    began, length = time.perf_counter() - ledger.seconds, 1

    def save() -> None:
        if checkpoint is not None:
            record = ledger.record(time.perf_counter() - began)
            checkpoint.write(mark, state, ledger.histories, record)

    with progress_bar("Training", problem.epochs, progress if leads() else False) as show:
        while ledger.epochs < problem.epochs and _running(state):
            called = time.perf_counter()
            number = (
                1 if problem.callbacks else min(length, problem.epochs - ledger.epochs, orders.most)
            )
            number = int(of_the_first(np.array(number)))  # as long as its clock says
            order = orders.draw(number)
            if alone:
                order = jax.tree.map(lambda leaf: leaf[0], order)
            given = everywhere((np.asarray(number, jnp.result_type(int)), order))
            state, reports = run(given[0], state, given[1], *inputs)
            reports = jax.device_get(reports)
            if alone:
                reports = jax.tree.map(lambda leaf: leaf[None], reports)
            reached = ledger.add(reports, number, batches)
            taken = time.perf_counter() - called
            # Calls long enough not to matter, short enough to show how it goes. The first compiles.
            length = (
                int(np.clip(number * CALL / taken, 1, orders.most)) if number > 1 else 2 * length
            )
            try:
                seconds = time.perf_counter() - began
                status = call_back(problem, state, frame, ledger, reached, seconds, first)
                if status is not None:
                    status = highest(status).astype(status.dtype)  # who stops, stops all
                    state = state._replace(status=everywhere(status))
            except BaseException:
                save()  # so that nothing is lost with the error of a callback
                raise
            over = ledger.epochs == problem.epochs or not _running(state)
            if over or (checkpoint is not None and checkpoint.is_due()):
                save()
            show(ledger.epochs, ledger.describe())
    seconds = time.perf_counter() - began
    outcomes: list[FitResult | DivergedError] = []
    for i, history in enumerate(ledger.histories):
        columns = {name: np.array(column) for name, column in history.items()}
        result = FitResult(frame.model(of_net(state.model, i, alone)), columns, seconds)
        failed = i in ledger.failures
        outcomes.append(DivergedError(ledger.failures[i], result) if failed else result)
    return outcomes


def first_state(vectors: Sequence[Array], frame: Frame, problem: Problem) -> Progress:
    states = [start(vector, frame, problem.recipe) for vector in vectors]
    alone = len(states) == 1
    state = states[0] if alone else jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    return jax.tree.map(_strong, state)


def _strong(leaf: Array) -> Array:
    """Without a weak type, as after an epoch: else the program would be compiled twice."""
    weak = is_number(leaf) and leaf.weak_type  # pyright: ignore[reportAttributeAccessIssue]
    return jax.lax.convert_element_type(leaf, leaf.dtype) if weak else leaf


def _running(state: Progress) -> bool:
    return bool(np.any(np.asarray(state.status) == RUNNING))


def of_net(values: Array, i: int, alone: bool) -> Array:
    """The parameters of one net, on one device."""
    if len(values.devices()) > 1:
        values = jnp.asarray(np.asarray(values))
    return values if alone else values[i]


def call_back(
    problem: Problem,
    state: Progress,
    frame: Frame,
    ledger: Ledger,
    reached: Sequence[int],
    seconds: float,
    first: int,
) -> np.ndarray | None:
    """Calls the callbacks for the nets that came through the last epoch, and returns the new status:
    nets stop for which one returned `True`. Anything else that a callback returns, such as what `write`
    does, is ignored."""
    if not problem.callbacks:
        return None
    alone = len(ledger.histories) == 1
    current, status = state.moving.model, np.array(state.status)
    for i in reached:
        report = EpochReport(
            ledger.epochs,
            ledger.last(i),
            seconds,
            first + i,
            lambda i=i: frame.model(of_net(current, i, alone)),
        )
        answers = [callback(report) for callback in problem.callbacks]
        if any(isinstance(answer, bool | np.bool_) and answer for answer in answers):
            status[() if alone else i] = STOPPED
    return status
