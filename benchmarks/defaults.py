"""Measure how good a first fit is: the defaults of `Net` and `fit` on small tasks of several kinds.

Each task is fitted from five seeds, once with the defaults (`fit(Net(...), x, y)`) and once with the
plain optimiser (`sx.Optimizer()`: Adam at 0.01 with a cosine schedule) and momenta of standard deviation
0.1. Prints a line of Markdown for each task: medians and worst seeds, on data that were not used for
training.

    python -m benchmarks.defaults [TASK ...]
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np
from sklearn import datasets

import shootax as sx

SEEDS = range(5)
Array = np.ndarray


class Task(NamedTuple):
    """Data, and the net that a newcomer would choose for them."""

    train: tuple[Array, Array]
    test: tuple[Array, Array]
    dim: int
    inflation: int
    particles: int
    epochs: int
    readout: int | None = None
    loss: str = "mse"
    times: Array | None = None


def curve(
    function: Callable[[Array], Array],
    *,
    samples: int = 500,
    noise: float = 0.0,
    inflation: int = 16,
) -> Task:
    """A function of one variable."""
    rng = np.random.default_rng(0)
    x, grid = rng.uniform(-1.5, 1.5, (samples, 1)), np.linspace(-1.5, 1.5, 1000)[:, None]
    y = function(x) + noise * rng.normal(size=x.shape)
    epochs = 100 if inflation <= 16 else 40
    return Task((x, y), (grid, function(grid)), 1, inflation, 15, epochs)


def peaks() -> Task:
    """A function of two variables with three hills and three hollows."""

    def function(z: Array) -> Array:
        a, b = z[:, :1], z[:, 1:]
        hills = 3 * (1 - a) ** 2 * np.exp(-(a**2) - (b + 1) ** 2)
        hollows = 10 * (a / 5 - a**3 - b**5) * np.exp(-(a**2) - b**2)
        return hills - hollows - np.exp(-((a + 1) ** 2) - b**2) / 3

    x, test = (
        np.random.default_rng(i).uniform(-2.5, 2.5, (n, 2)) for i, n in ((1, 1000), (2, 2000))
    )
    return Task((x, function(x)), (test, function(test)), 2, 16, 20, 60, readout=1)


def pendulum() -> Task:
    """Trajectories of a damped pendulum at ten times."""
    times = np.linspace(0.1, 1, 10)

    def swing(z: Array) -> Array:
        path, step = [], 0.01
        for k in range(1, 101):  # Heun's method
            slopes = _pendulum_field(z)
            z = z + step / 2 * (slopes + _pendulum_field(z + step * slopes))
            if k % 10 == 0:
                path.append(z)
        return np.stack(path, axis=1)

    x, test = (np.random.default_rng(i).uniform(-1, 1, (200, 2)) for i in (2, 3))
    return Task((x, swing(x)), (test, swing(test)), 2, 16, 15, 60, times=times)


def _pendulum_field(z: Array) -> Array:
    return np.stack([z[:, 1], -9 * np.sin(z[:, 0]) - 0.1 * z[:, 1]], axis=1)


def table(
    load: Callable[..., Any], training: int, *, classes: int | None = None, **sizes: Any
) -> Task:
    """A table from scikit-learn, with columns of mean zero and variance one."""
    x, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    x, y = x[order].astype(float), y[order]
    x = (x - x[:training].mean(axis=0)) / (x[:training].std(axis=0) + 1e-9)
    if classes is None:
        y = ((y - y[:training].mean()) / y[:training].std())[:, None]
    loss = "mse" if classes is None else "cross_entropy"
    parts = ((x[:training], y[:training]), (x[training:], y[training:]))
    return Task(*parts, x.shape[1], **sizes, readout=classes or 1, loss=loss)


def moons(return_X_y: bool) -> tuple[Array, Array]:
    """Two interlocking half circles."""
    x, y = datasets.make_moons(600, noise=0.2, random_state=0)
    return np.asarray(x), np.asarray(y)


TASKS: Mapping[str, Callable[[], Task]] = {
    "x² + 3/(1 + x²), as in the README": lambda: curve(lambda x: x**2 + 3 / (1 + x**2)),
    "the same, inflation 128": lambda: curve(lambda x: x**2 + 3 / (1 + x**2), inflation=128),
    "x³": lambda: curve(lambda x: x**3),
    "sin 3x, noise 0.1": lambda: curve(lambda x: np.sin(3 * x), noise=0.1),
    "20·abs(x) + 5, not scaled": lambda: curve(lambda x: 20 * np.abs(x) + 5, samples=300),
    "peaks": peaks,
    "pendulum, trajectories": pendulum,
    "diabetes": lambda: table(datasets.load_diabetes, 330, inflation=4, particles=15, epochs=40),
    "moons": lambda: table(moons, 300, classes=2, inflation=8, particles=10, epochs=60),
    "wine": lambda: table(datasets.load_wine, 120, classes=3, inflation=2, particles=10, epochs=60),
    "digits": lambda: table(
        datasets.load_digits, 1000, classes=10, inflation=1, particles=20, epochs=20
    ),
}


def fits(task: Task, plain: bool) -> list[float]:
    """The error on test data for each seed: mean squared error, or the share of wrong classes."""
    field = sx.UpDown(task.dim, task.inflation)
    momentum = 0.1 if plain else None
    nets = []
    for seed in SEEDS:
        key = jax.random.key(seed)
        control = sx.Particles.draw(field, task.particles, momentum=momentum, key=key)
        nets.append(sx.Net(field, control, readout=task.readout, key=jax.random.fold_in(key, 1)))
    optimizer = sx.Optimizer() if plain else None
    options: dict[str, Any] = {"epochs": task.epochs, "loss": task.loss, "times": task.times}
    done = sx.fit_many(nets, *task.train, optimizer=optimizer, progress=False, **options)
    return [np.inf if isinstance(one, sx.DivergedError) else error(task, one.net) for one in done]


def error(task: Task, net: sx.Net) -> float:
    x, y = task.test
    found = np.asarray(net(x, task.times))
    if task.loss == "cross_entropy":
        return float(np.mean(found.argmax(axis=1) != y))
    return float(np.mean((found - y) ** 2))


def main(names: list[str]) -> None:
    print("| task | plain: median | worst | defaults: median | worst |\n|---|---|---|---|---|")
    for name, make in TASKS.items():
        if names and not any(part in name for part in names):
            continue
        task = make()
        numbers = [
            f"{pick(found):.2g}"
            for found in (fits(task, plain=True), fits(task, plain=False))
            for pick in (np.median, np.max)
        ]
        kind = "wrong" if task.loss == "cross_entropy" else "MSE"
        print(f"| {name} ({kind}) | {' | '.join(numbers)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
