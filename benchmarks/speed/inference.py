"""Compare predictions with particles integrated once, and again with each batch."""

import dataclasses
import importlib.util
import os
import pathlib
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import shootax as sx
from benchmarks.speed import ours
from benchmarks.speed.cases import CASES, start
from benchmarks.speed.settings import Settings, record
from benchmarks.speed.timing import race

BATCHES = (1000, 100, 10, 1)
PARTICLES = (25, 400)
FEWER_STEPS = 5


def records(settings: Settings) -> Iterator[dict[str, Any]]:
    """Time per sample, baked and with the particles integrated again in each batch.

    First the block itself, in batches of several sizes; then with other numbers of particles; then with
    fewer steps for the data. With fewer steps the outputs change, and the record has the error.
    """
    block = CASES["rotating-mnist"]
    for batch in BATCHES:
        yield from _compared(settings, block.particles, batch, full=batch == max(BATCHES))
    for count in PARTICLES:
        yield from _compared(settings, count, max(BATCHES), full=False)


def _compared(
    settings: Settings, particles: int, batch: int, full: bool
) -> Iterator[dict[str, Any]]:
    case = dataclasses.replace(
        CASES["rotating-mnist"], particles=particles, batch=batch, nodes=False
    )
    begin = start(case)
    live, x = ours.net(case, begin), jnp.asarray(begin.x)
    baked = {"baked": sx.bake(live)}
    if full:
        coarse = sx.bake(live, integrator=sx.RK4(FEWER_STEPS))
        baked[f"baked, {FEWER_STEPS} steps instead of {case.steps}"] = coarse
    runners = {"live": _runner(live, x)}
    runners |= {name: _runner(model, x) for name, model in baked.items()}
    gaps = {name: float(jnp.max(jnp.abs(model(x) - live(x)))) for name, model in baked.items()}
    session = _onnx(baked["baked"], np.asarray(x), settings.threads) if full else None
    if session is not None:
        runners["baked, onnxruntime"] = session
        gaps["baked, onnxruntime"] = float(np.max(np.abs(session() - np.asarray(live(x)))))
    yield {"progress": f"prediction, {particles} particles, batch of {batch}"}
    times = race(runners, seconds=settings.seconds)
    for name, gap in gaps.items():
        mine = times[name]
        yield record(
            "inference",
            f"{name}, {particles} particles, batch of {batch}",
            "particles with each batch",
            ratio=times["live"].median / mine.median,
            particles=particles,
            batch=batch,
            error=gap,
            ours_sample_us=1e6 * mine.median / batch,
            rival_sample_us=1e6 * times["live"].median / batch,
            threads=settings.threads,
            **mine.entries("ours"),
            **times["live"].entries("rival"),
        )


def _runner(model: sx.Net, x: jax.Array) -> Callable[[], Any]:
    arrays, static = eqx.partition(model, eqx.is_array)
    apply = jax.jit(lambda arrays, x: eqx.combine(arrays, static)(x))
    return lambda: jax.block_until_ready(apply(arrays, x))


def _onnx(model: sx.Net, x: np.ndarray, threads: int) -> Callable[[], Any] | None:
    """The exported model in onnxruntime, if onnxruntime is installed."""
    if any(importlib.util.find_spec(name) is None for name in ("onnx", "onnxruntime")):
        return None
    import onnxruntime

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "net.onnx"
        sx.export.write(model, path, to="onnx")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(
            os.fspath(path), options, providers=["CPUExecutionProvider"]
        )
    return lambda: session.run(None, {"x": x})[0]
