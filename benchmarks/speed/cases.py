"""The training problems that are timed: the paper's sizes of UpDown, with random data."""

import dataclasses
from typing import NamedTuple

import numpy as np

W3 = 10.0
"""The weight of θ3 in the penalty; all other weights are 1."""

DATA_WEIGHT = 100.0
LEARNING_RATE = 1e-4


@dataclasses.dataclass(frozen=True)
class Case:
    """UpDown of size `dim` and `inflation` with `particles`, a batch, and RK4 with `steps` steps up to
    time `T`.

    With `nodes` the loss covers the states at the start and after every step, otherwise only the end
    state. `momentum` is the standard deviation of the initial momenta.
    """

    name: str
    dim: int
    inflation: int
    particles: int
    batch: int
    T: float
    steps: int
    nodes: bool = False
    momentum: float = 0.1

    @property
    def hidden(self) -> int:
        """The size of the hidden state."""
        return self.dim * self.inflation


class Start(NamedTuple):
    """Initial parameters and a batch, the same for all rivals.

    Particles are `(q, u)` with momenta `(p, r)`; the lift is $v(0) =$ `weight` $x +$ `bias`. Targets
    are `(batch, dim)`, or `(steps + 1, batch, dim)` if the loss covers all nodes.
    """

    parameters: dict[str, np.ndarray]
    x: np.ndarray
    y: np.ndarray


def start(case: Case, seed: int = 0, dtype: type = np.float32) -> Start:
    """Draw the start of a case."""
    generator = np.random.default_rng(seed)

    def normal(*shape: int, scale: float = 1.0) -> np.ndarray:
        return (scale * generator.standard_normal(shape)).astype(dtype)

    d, hidden, count = case.dim, case.hidden, case.particles
    parameters = {
        "q": normal(count, d),
        "u": normal(count, hidden, scale=0.5),
        "p": normal(count, d, scale=case.momentum),
        "r": normal(count, hidden, scale=case.momentum),
        "weight": normal(hidden, d, scale=d**-0.5),
        "bias": normal(hidden, scale=0.1),
    }
    times = (case.steps + 1,) if case.nodes else ()
    return Start(parameters, normal(case.batch, d), normal(*times, case.batch, d))


_ALL = (
    Case("regression-16", dim=1, inflation=16, particles=15, batch=50, T=1.0, steps=10),
    Case("regression-64", dim=1, inflation=64, particles=15, batch=50, T=1.0, steps=10),
    Case("regression-128", dim=1, inflation=128, particles=15, batch=50, T=1.0, steps=10),
    Case("spiral-32", 2, 32, particles=25, batch=100, T=0.25, steps=5, nodes=True, momentum=0.05),
    Case("spiral-128", 2, 128, particles=25, batch=100, T=0.25, steps=5, nodes=True, momentum=0.05),
    Case("rotating-mnist", 20, 10, 100, batch=25, T=1.5, steps=15, nodes=True, momentum=0.01),
    Case("bouncing-balls", 50, 20, 100, batch=25, T=1.9, steps=19, nodes=True, momentum=0.003),
)

CASES = {case.name: case for case in _ALL}
"""The cases by name."""
