"""A training step of residual networks of images: shooting against free layers, ours and of rivals."""

import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import shootax as sx
from benchmarks.speed import rival_convolution
from benchmarks.speed.rivals import TOLERANCE
from benchmarks.speed.settings import Settings, record
from benchmarks.speed.timing import race

LEARNING_RATE = 1e-3
PENALTY = 1e-5


@dataclasses.dataclass(frozen=True)
class Network:
    """A residual network of images with `size` by `size` pixels, with the given `channels` and `layers`
    in each block. With `inflation` it has UpDown fields after two convolutions of stride 2, as in the
    experiment with MNIST; without it, affine fields after one convolution, with group norm and pooling
    in between."""

    name: str
    size: int
    channels: tuple[int, ...]
    layers: int
    particles: int
    inflation: int | None = None
    stem: int = 8
    cells: int = 1
    batch: int = 64


NETWORKS = (
    Network("digits, 8×8", 8, (16, 32), 5, 8),
    Network("MNIST, 28×28, flow at 7×7", 28, (16,), 3, 40, inflation=2, cells=4),
    Network("MNIST, 28×28, flow at 28×28", 28, (16, 32), 5, 8),
)


def model(network: Network, *, free: bool) -> sx.nn.Classifier:
    """Build the network, with a free θ for each layer or with particles."""
    keys = jax.random.split(jax.random.key(0), 2 * len(network.channels) + 2)
    nets = []
    for i, channels in enumerate(network.channels):
        options: Any = {"size": (3, 3), "activation": "tanh"}
        if network.inflation is None:
            field: sx.AbstractField = sx.ConvAffine(channels, **options)
        else:
            field = sx.ConvUpDown(channels, inflation=network.inflation, **options)
        if free:
            control: Any = sx.Piecewise(field, network.layers, key=keys[2 * i])
        else:
            mean = sx.Quadratic(default=float(9 * network.particles))
            drawn: Any = {"position": sx.Gaussian(1.0), "momentum": 0.5, "penalty": mean}
            control = sx.Particles.draw(field, network.particles, key=keys[2 * i], **drawn)
        integrator = sx.Euler(network.layers)
        nets.append(sx.Net(field, control, integrator=integrator, key=keys[2 * i + 1]))
    more: Any = {"groups": 4}
    if network.inflation is not None:
        first = (network.stem, network.channels[0])
        more = {"stem": sx.nn.ImageStem(1, first, key=keys[-2])}
    return sx.nn.resnet(
        tuple(nets), inputs=1, classes=10, cells=network.cells, key=keys[-1], **more
    )


def batch(network: Network) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels."""
    rng = np.random.default_rng(0)
    images = rng.normal(size=(network.batch, 1, network.size, network.size))
    return images.astype(jnp.result_type(float)), rng.integers(0, 10, network.batch)


def runner(network: Network, *, free: bool) -> Callable[[], float]:
    """A function that runs one of our training steps and returns the loss before the step."""
    x, y = (jnp.asarray(part) for part in batch(network))

    def objective(model: sx.nn.Classifier, x: jax.Array, y: jax.Array) -> jax.Array:
        logs = jax.nn.log_softmax(model(x))
        loss = -jnp.mean(jnp.take_along_axis(logs, y[:, None], axis=1))
        return loss if free else loss + PENALTY * sx.penalty(model)

    adam = sx.Optimizer(LEARNING_RATE, schedule=sx.Constant())
    step = sx.TrainingStep(model(network, free=free), objective, optimizer=adam)
    state = [step.init()]

    def run() -> float:
        state[0], loss = step(state[0], x, y)
        return float(loss)

    return run


def records(settings: Settings) -> Iterator[dict[str, Any]]:
    """For each network, compare the step of shooting with steps of free layers of the same depth and
    width. With one thread, the times are processor time."""
    for network in NETWORKS[:2] if settings.quick else NETWORKS:
        yield {"progress": f"convolution: {network.name}"}
        free = model(network, free=True)
        runners = {
            "shooting": runner(network, free=False),
            "free layers, ours": runner(network, free=True),
            "free layers, Equinox": rival_convolution.jax_runner(network, free, batch(network)),
        }
        if not rival_convolution.missing():
            runners["free layers, PyTorch"] = rival_convolution.torch_runner(
                network, free, batch(network), settings.threads
            )
        for _ in range(2):  # the second loss depends on the gradients and on Adam
            losses = {name: run() for name, run in runners.items()}
            mine = losses["free layers, ours"]
            for name, loss in losses.items():
                if name != "shooting" and not abs(loss - mine) <= TOLERANCE * abs(mine):
                    raise RuntimeError(
                        f"{network.name}: the loss of {name} is {loss:.8g}, ours is {mine:.8g}; they "
                        "must be the same network, or the times cannot be compared."
                    )
        clock = time.process_time if settings.threads == 1 else time.perf_counter
        times = race(runners, seconds=settings.seconds / 2, clock=clock)
        for name in runners:
            if name != "shooting":
                yield record(
                    "convolution",
                    network.name,
                    name,
                    ratio=times[name].median / times["shooting"].median,
                    threads=settings.threads,
                    **times["shooting"].entries("ours"),
                    **times[name].entries("rival"),
                )
