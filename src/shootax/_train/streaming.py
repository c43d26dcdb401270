"""Train on a stream: one call of a compiled program takes several batches, while the next are drawn."""

import contextlib
import functools
import queue
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec
from jaxtyping import Array

from shootax._cache import make_room
from shootax._disk_cache import keeping_programs
from shootax._errors import DivergedError
from shootax._train.checkpoint import Checkpoint
from shootax._train.compiler_options import compiled, compiler_options
from shootax._train.engine import call_back, first_state, of_net
from shootax._train.epoch import (
    Batches,
    Progress,
    Recipe,
    Report,
    Settings,
    end_epoch,
    noted,
    take_step,
)
from shootax._train.fingerprint import fingerprint
from shootax._train.hosts import highest, leads, naming_lost_processes
from shootax._train.ledger import Ledger, why
from shootax._train.mesh import AXES, Sharing
from shootax._train.problem import Problem
from shootax._train.progress import Show, progress_bar
from shootax._train.results import FitResult
from shootax._train.samples import Data
from shootax._train.stopping import DIVERGED, RUNNING, next_status
from shootax._train.streams import Stream
from shootax._train.update import Frame, take_apart

MOST, BYTES = 64, 32 * 2**20
"""The maximal numbers of batches and of bytes in one call. A single batch may have more bytes."""


class Block(NamedTuple):
    """Successive batches, the position of the stream after them, and whether it has ended."""

    batches: Data | None
    count: int
    state: Any
    over: bool


def run_block(
    count: Array,
    first: Array,
    progress: Progress,
    frame: Frame,
    block: Data,
    settings: Settings,
    recipe: Recipe,
) -> tuple[Progress, Batches]:
    """Take the steps of `count` batches, starting from number `first` of the epoch.

    If a number is not finite, the parameters from before these batches are kept.
    """
    sharing = recipe.sharing
    weight = jnp.sum(block.sample_weight, axis=1, keepdims=True)
    weight = weight if sharing is None else sharing.total(weight)

    def step(i: Array, carry: tuple) -> tuple:
        moving, reports = carry
        batch = jax.tree.map(lambda leaf: leaf[i], block)
        moving, new = take_step(
            moving, batch, weight[i], first + i, progress, frame, settings, recipe
        )
        return moving, noted(reports, i, new)

    zeros = jnp.zeros(weight.shape[0])
    nothing = Batches(zeros, zeros, zeros, zeros)
    moving, reports = jax.lax.fori_loop(0, count, step, (progress.moving, nothing))
    finite = jnp.isfinite(reports.objective).all() & jnp.isfinite(moving.parameters).all()
    kept = jax.tree.map(lambda a, b: jnp.where(finite, a, b), moving, progress.moving)
    status = jnp.where(finite, progress.status, jnp.full_like(progress.status, DIVERGED))
    return progress._replace(moving=kept, status=status), reports


def finish_epoch(
    objective: Array, progress: Progress, frame: Frame, validation: Any, settings: Any, recipe: Any
) -> tuple[Progress, Report]:
    """Compute the validation loss after an epoch whose mean objective is known, and the new state."""
    after, held_out = end_epoch(progress, objective, frame, validation, settings, recipe)
    zero = jnp.zeros(())
    ran = progress.status == RUNNING
    report = Report(objective[None], zero, zero, held_out, zero, ran, progress.status)
    status = next_status(after, report, settings.patience)
    return after._replace(status=status), report


@functools.cache
def _programs(options: tuple | None, sharing: Sharing | None) -> tuple[Callable, Callable]:
    block: Callable = run_block
    end: Callable = finish_epoch
    if sharing is not None:
        block = sharing.over(run_block, functools.partial(_specs, place=4, axis=1))
        end = sharing.over(finish_epoch, functools.partial(_specs, place=3, axis=0))
    whole = sharing is None
    return compiled(block, options, whole=whole), compiled(end, options, whole=whole)


def _specs(arrays: tuple, place: int, axis: int) -> tuple:
    """Specify all arguments on every device, except that at `place`, which is sharded along an axis."""
    apart = PartitionSpec(*[None] * axis, AXES)
    return tuple(
        jax.tree.map(lambda _, i=i: apart if i == place else PartitionSpec(), part)
        for i, part in enumerate(arrays)
    )


@keeping_programs
@naming_lost_processes()
def train_on_stream(
    net: Any,
    problem: Problem,
    stream: Stream,
    steps: int,
    progress: bool | Show | None,
    checkpoint: Checkpoint | None,
) -> FitResult | DivergedError:
    """Train for all epochs, each of `steps` batches, or until the stream ends."""
    if checkpoint is not None:
        checkpoint.check()
    make_room()
    vector, frame = take_apart(net)
    state = first_state([vector], frame, problem)
    ledger, mark, done = Ledger.empty(1), "", 0
    sums, where = np.zeros(3), None
    if checkpoint is not None:
        mark = fingerprint(problem, frame, state, [steps])
        found = checkpoint.read(mark, lambda _: state)
        if found is not None:
            ledger = Ledger.restored(*found[1:], nets=1, path=checkpoint.path)
            state, known = found[0], found[2]
            done, sums, where = known["step"], np.array(known["sums"]), known.get("stream")
            batches = ledger.epochs * steps + done
            if batches and not stream.resume(where, batches):
                warnings.warn(
                    "The stream does not report its position, so the first "
                    f"{batches} batches were drawn again and dropped. If the stream is deterministic, "
                    "training continues as if it had not been interrupted.",
                    stacklevel=3,
                )
    problem = problem.placed()
    sharing = problem.recipe.sharing
    options = compiler_options(vector.size, state, medium=problem.medium)
    everywhere = jax.device_put if sharing is None else sharing.replicated
    state, given = everywhere(state), frame if sharing is None else everywhere(frame)
    run, end = _programs(options, sharing)
    began, rate = time.perf_counter() - ledger.seconds, np.nan
    length = _block_length(stream, steps)

    def save() -> None:
        if checkpoint is not None:
            record = ledger.record(time.perf_counter() - began)
            record |= {"step": done, "sums": sums.tolist(), "stream": where}
            checkpoint.write(mark, state, ledger.histories, record)

    def running() -> bool:
        return int(np.asarray(state.status)) == RUNNING and ledger.epochs < problem.epochs

    bar = progress_bar("Training", problem.epochs, progress if leads() else False)
    plan = _plan(steps, problem.epochs, ledger.epochs, done, length)
    ahead = _drawn_ahead(stream, plan, length, sharing, checkpoint is not None)
    with bar as show, contextlib.closing(ahead):
        while running():
            try:
                block = next(ahead)
            except BaseException:
                save()  # so that an error in the stream loses nothing
                raise
            count = -int(highest(-block.count))  # the smallest number of all processes
            over = bool(highest(block.over or count < block.count))
            if count:
                numbers = everywhere([np.asarray(n, jnp.result_type(int)) for n in (count, done)])
                state, reports = run(
                    *numbers, state, given, block.batches, problem.settings, problem.recipe
                )
                reports = Batches(*(np.asarray(part)[:count] for part in reports))  # pyright: ignore
                if int(np.asarray(state.status)) == DIVERGED:
                    ledger.failures[0] = why(ledger.epochs + 1, _in_epoch(reports, done, steps))
                    break
                sums += [np.sum(part, dtype=float) for part in reports[:3]]
                rate, done, where = float(reports.learning_rate[-1]), done + count, block.state
            if done == steps or (over and done):
                means = dict(zip(("objective", "data", "penalty"), sums / done, strict=True))
                objective = everywhere(np.asarray(means["objective"], jnp.result_type(float)))
                state, report = end(
                    objective, state, given, problem.validation, problem.settings, problem.recipe
                )
                means |= {"validation": float(report.validation), "learning_rate": rate}
                for name, column in ledger.histories[0].items():
                    column.append(float(means[name]))
                ledger.epochs, done, sums = ledger.epochs + 1, 0, np.zeros(3)
                try:
                    seconds = time.perf_counter() - began
                    status = call_back(problem, state, frame, ledger, [0], seconds, 0)
                except BaseException:
                    save()
                    raise
                if status is not None:
                    state = state._replace(status=everywhere(highest(status).astype(status.dtype)))
                show(ledger.epochs, ledger.describe())
            if over and running():
                warnings.warn(
                    f"The stream ended after {stream.taken} batches, in epoch {max(ledger.epochs, 1)} of "
                    f"{problem.epochs}, so training ended early. Give a longer stream, or fewer epochs.",
                    stacklevel=3,
                )
                break
            if checkpoint is not None and checkpoint.is_due():
                save()
        save()
    seconds = time.perf_counter() - began
    columns = {name: np.array(column) for name, column in ledger.histories[0].items()}
    result = FitResult(frame.model(of_net(state.model, 0, True)), columns, seconds)
    return DivergedError(ledger.failures[0], result) if ledger.failures else result


def _in_epoch(reports: Batches, first: int, steps: int) -> Any:
    """Place the numbers of some batches among those of all batches of an epoch."""

    def placed(values: np.ndarray) -> np.ndarray:
        out = np.zeros(steps)
        out[first : first + len(values)] = values
        return out

    each = [placed(np.asarray(part)) for part in reports[:3]]
    return Report(*each, np.nan, reports.learning_rate[-1], True, DIVERGED)  # pyright: ignore


def _block_length(stream: Stream, steps: int) -> int:
    one = sum(leaf.nbytes for leaf in jax.tree.leaves(stream.first))
    return int(np.clip(BYTES // max(one, 1), 1, min(MOST, steps)))


def _plan(steps: int, epochs: int, epoch: int, done: int, length: int) -> Iterator[int]:
    """The number of batches of each call; no call goes beyond the end of an epoch."""
    for number in range(epoch, epochs):
        left = steps - (done if number == epoch else 0)
        while left:
            yield min(length, left)
            left -= min(length, left)


def _drawn_ahead(
    stream: Stream, plan: Iterator[int], length: int, sharing: Sharing | None, marked: bool
) -> Generator[Block, None, None]:
    """Yield blocks, while a thread draws up to two blocks ahead."""
    ready: queue.Queue = queue.Queue(maxsize=2)
    stop = threading.Event()

    def put(item: Any) -> None:
        while not stop.is_set():
            try:
                return ready.put(item, timeout=0.1)
            except queue.Full:
                continue

    def draw() -> None:
        try:
            for count in plan:
                if stop.is_set():
                    return
                block = _draw(stream, count, length, sharing, marked)
                put(block)
                if block.over:
                    return
        except BaseException as error:
            put(error)

    thread = threading.Thread(target=draw, daemon=True, name="shootax-stream")
    thread.start()
    try:
        while True:
            item = ready.get()
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        thread.join(timeout=10)


def _draw(stream: Stream, count: int, length: int, sharing: Sharing | None, marked: bool) -> Block:
    found: list[Data] = []
    while len(found) < count:
        batch = stream.next()
        if batch is None:
            break
        found.append(batch)
    state = stream.state() if marked else None
    if not found:
        return Block(None, 0, state, True)
    pad = [found[0]] * (length - len(found))
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *found, *pad)
    if sharing is None:
        return Block(jax.device_put(stacked), len(found), state, len(found) < count)
    size, whole = stream.size, _even(sharing, stream.size)
    places = np.where(np.arange(whole) < size, np.arange(whole), 0)
    stacked = jax.tree.map(lambda leaf: leaf[:, places], stacked)
    weight = np.where(np.arange(whole) < size, stacked.sample_weight, 0)
    stacked = stacked._replace(sample_weight=weight.astype(stacked.sample_weight.dtype))
    return Block(sharing.sharded(stacked, axis=1), len(found), state, len(found) < count)


def _even(sharing: Sharing, size: int) -> int:
    """The smallest size, at least `size`, that the devices of this process can share evenly."""
    here = sum(device.process_index == jax.process_index() for device in sharing.mesh.devices.flat)
    return -(-size // here) * here
