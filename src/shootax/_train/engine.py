"""The loop over epochs, for one net or for many at once."""

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from shootax._cache import make_room
from shootax._compile import one_off
from shootax._disk_cache import keeping_programs
from shootax._errors import DivergedError, FileFormatError
from shootax._train.checkpoint import Checkpoint
from shootax._train.compiler_options import compiler_options
from shootax._train.epoch import Progress, Report, start
from shootax._train.fingerprint import fingerprint, is_number
from shootax._train.hosts import highest, leads, naming_lost_processes, of_the_first
from shootax._train.ledger import Ledger
from shootax._train.loop import polish_program, program
from shootax._train.orders import MOST
from shootax._train.polish import AT_ONCE, begin_polish, whole_data
from shootax._train.problem import Problem
from shootax._train.progress import Show, progress_bar
from shootax._train.results import EpochReport, FitResult
from shootax._train.samples import Data
from shootax._train.stopping import RUNNING, STOPPED
from shootax._train.update import Frame, take_apart

CALL = 0.5
"""The targeted duration of one call of the compiled program, in seconds."""


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
    """Train all nets, which differ only in their arrays, as one program.

    A net that diverges stops with its last good state, and a net whose patience is exhausted stops with
    its best state. The others continue. The module `stopping` decides both, inside the program.
    Callbacks identify nets by their numbers, starting from `first`.
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
        found = checkpoint.read(
            mark, lambda record: _polishing(state, problem) if "polished" in record else state
        )
        if found is not None:
            ledger = Ledger.restored(*found[1:], nets=len(nets), path=checkpoint.path)
            state = found[0]
    there = problem.placed()
    sharing = there.recipe.sharing
    everywhere = _everywhere(there)
    if sharing is not None:
        state = everywhere(state)
    given = frame if sharing is None else everywhere(frame)
    began = time.perf_counter() - ledger.seconds
    run = _Run(problem, frame, ledger, everywhere, checkpoint, mark, first, began)
    polish = problem.polish
    epochs = problem.epochs + (0 if polish is None else polish.epochs)
    with progress_bar("Training", epochs, progress if leads() else False) as show:
        if ledger.polished is None:
            state = run(_usual(problem, there, seeds, state, given, ledger.epochs), state, show)
        if polish is not None and ledger.polished is None:
            state = everywhere(_polishing(state, there))
            ledger.begin_polish()
        if ledger.polished is not None and _running(state):
            state = run(_finishing(problem, there, state, given, ledger.polished), state, show)
    seconds = time.perf_counter() - began
    outcomes: list[FitResult | DivergedError] = []
    for i, history in enumerate(ledger.histories):
        columns = {name: np.array(column) for name, column in history.items()}
        result = FitResult(frame.model(of_net(state.model, i, alone)), columns, seconds)
        failed = i in ledger.failures
        outcomes.append(DivergedError(ledger.failures[i], result) if failed else result)
    return outcomes


class _Phase(NamedTuple):
    """A phase of a training that one program runs: epochs of batches, or polishing epochs."""

    call: Callable[[int, Progress], tuple[Progress, Report]]  # runs a number of further epochs
    until: int  # the total number of epochs at its end
    most: int  # the maximal number of epochs in one call
    batches: int  # the number of batches in an epoch


def _usual(
    problem: Problem, there: Problem, seeds: Sequence[int], state: Progress, frame: Frame, done: int
) -> _Phase:
    """The epochs of batches, of which `done` are done. `there` is the problem on its devices."""
    orders, alone = problem.orders(seeds), len(seeds) == 1
    orders.skip(done)
    sharing, everywhere = there.recipe.sharing, _everywhere(there)
    options = compiler_options(_parameters(state), state, medium=problem.medium)
    run = program(not alone, options, sharing)
    inputs = (frame, there.data, there.validation, there.settings, there.recipe)

    def call(number: int, state: Progress) -> tuple[Progress, Report]:
        order = orders.draw(number)
        if alone:
            order = jax.tree.map(lambda leaf: leaf[0], order)
        given = everywhere((np.asarray(number, jnp.result_type(int)), order))
        return run(given[0], state, given[1], *inputs)

    return _Phase(call, problem.epochs, orders.most, int(there.settings.size.filled))


def _finishing(
    problem: Problem, there: Problem, state: Progress, frame: Frame, done: int
) -> _Phase:
    """The polishing epochs, after `done` other epochs."""
    assert problem.polish is not None
    assert isinstance(problem.data, Data)
    sharing, polish, everywhere = there.recipe.sharing, problem.polish, _everywhere(there)
    wanted = polish.batch_size or max(AT_ONCE, problem.recipe.batch_size)
    data, block = whole_data(problem.data, len(problem.weight), wanted, sharing)
    recipe = dataclasses.replace(there.recipe, batch_size=block)
    options = compiler_options(_parameters(state), state, medium=problem.medium)
    run = polish_program(np.ndim(state.status) == 1, options, sharing)
    inputs = (frame, data, there.validation, there.settings, recipe)

    def call(number: int, state: Progress) -> tuple[Progress, Report]:
        return run(everywhere(np.asarray(number, jnp.result_type(int))), state, *inputs)

    return _Phase(call, done + polish.epochs, MOST, 1)


def _polishing(state: Progress, problem: Problem) -> Progress:
    """The state with which polishing begins."""
    if problem.polish is None:
        raise FileFormatError("it is from a training with `polish`, but this one is without")
    memory = problem.polish.memory

    def begin(state: Progress) -> Progress:
        return begin_polish(state, problem.settings, problem.recipe, memory)

    return one_off(begin if np.ndim(state.status) == 0 else jax.vmap(begin))(state)


def _everywhere(there: Problem) -> Callable[[Any], Any]:
    """A function that puts arrays onto every device of a problem that is placed on devices."""
    sharing = there.recipe.sharing
    return jax.device_put if sharing is None else sharing.replicated


def _parameters(state: Progress) -> int:
    return state.moving.parameters.shape[-1]


class _Run(NamedTuple):
    """Call the program of a phase repeatedly, with callbacks, checkpoints and progress in between."""

    problem: Problem
    frame: Frame
    ledger: Ledger
    everywhere: Callable[[Any], Any]
    checkpoint: Checkpoint | None
    mark: str
    first: int
    began: float

    def __call__(self, phase: _Phase, state: Progress, show: Show) -> Progress:
        ledger, length = self.ledger, 1
        while ledger.epochs < phase.until and _running(state):
            called = time.perf_counter()
            number = min(length, phase.until - ledger.epochs, phase.most)
            number = 1 if self.problem.callbacks else number
            number = int(of_the_first(np.array(number)))  # processes have different clocks
            state, reports = phase.call(number, state)
            reports = jax.device_get(reports)
            if len(ledger.histories) == 1:
                reports = jax.tree.map(lambda leaf: leaf[None], reports)
            reached = ledger.add(reports, number, phase.batches)
            taken = time.perf_counter() - called
            # Calls long enough not to matter, short enough to show how it goes. The first compiles.
            length = (
                int(np.clip(number * CALL / taken, 1, phase.most)) if number > 1 else 2 * length
            )
            try:
                seconds = time.perf_counter() - self.began
                status = call_back(
                    self.problem, state, self.frame, ledger, reached, seconds, self.first
                )
                if status is not None:
                    status = highest(status).astype(status.dtype)  # one process stops all
                    state = state._replace(status=self.everywhere(status))
            except BaseException:
                self.save(state)  # so that an error in a callback loses nothing
                raise
            over = ledger.epochs == phase.until or not _running(state)
            if over or (self.checkpoint is not None and self.checkpoint.is_due()):
                self.save(state)
            show(ledger.epochs, ledger.describe())
        return state

    def save(self, state: Progress) -> None:
        if self.checkpoint is not None:
            record = self.ledger.record(time.perf_counter() - self.began)
            self.checkpoint.write(self.mark, state, self.ledger.histories, record)


def first_state(vectors: Sequence[Array], frame: Frame, problem: Problem) -> Progress:
    states = [start(vector, frame, problem.recipe) for vector in vectors]
    alone = len(states) == 1
    state = states[0] if alone else jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    return jax.tree.map(_strong, state)


def _strong(leaf: Array) -> Array:
    """Remove the weak type, as it is after an epoch, so that the program is not compiled twice."""
    weak = is_number(leaf) and leaf.weak_type  # pyright: ignore[reportAttributeAccessIssue]
    return jax.lax.convert_element_type(leaf, leaf.dtype) if weak else leaf


def _running(state: Progress) -> bool:
    return bool(np.any(np.asarray(state.status) == RUNNING))


def of_net(values: Array, i: int, alone: bool) -> Array:
    """Return the parameters of one net, on one device."""
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
    """Call the callbacks for the nets that completed the last epoch, and return the new status. A net
    stops if a callback returned `True` for it. Any other result of a callback, such as that of a file's
    `write`, is ignored."""
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
