"""The same model in PyTorch with torchdiffeq.

θ is built at each evaluation, and biases are added inside the products. Gradients go directly back
through the solver's steps, which is faster here than the adjoint method. The solver's grid is given, so
that it takes exactly the steps of the case. torchdiffeq's `rk4` is the 3/8 rule. The classical rule,
which torchdiffeq contains but does not offer by name, takes slightly fewer operations.
"""

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.speed.cases import DATA_WEIGHT, LEARNING_RATE, W3, Case, Start

PACKAGES = ("torch", "torchdiffeq")


def missing() -> list[str]:
    """The packages that this rival needs but that are not installed."""
    return [name for name in PACKAGES if importlib.util.find_spec(name) is None]


def runner(case: Case, begin: Start, threads: int | None = None) -> Callable[[], float]:
    """A function that runs a training step and returns the loss before the step."""
    import torch  # pyright: ignore[reportMissingImports]
    from torchdiffeq import odeint  # pyright: ignore[reportMissingImports]

    if threads is not None:
        torch.set_num_threads(threads)
    net = _module(begin)
    adam = torch.optim.Adam(net.parameters(), lr=LEARNING_RATE)
    x, y = (torch.from_numpy(np.array(a)) for a in (begin.x, begin.y))
    grid = torch.linspace(0, case.T, case.steps + 1, dtype=x.dtype)
    times = grid if case.nodes else grid[[0, -1]]
    method = _classical_method()
    options = {"grid_constructor": lambda func, y0, t: grid}

    def step() -> float:
        adam.zero_grad(set_to_none=True)
        lifted = torch.addmm(net.bias, x, net.weight.T)
        start = (net.q, net.u, net.p, net.r, x, lifted)
        out: Any = odeint(net, start, times, method=method, options=options)
        path = out[4] if case.nodes else out[4][-1]
        misfit = ((path - y) ** 2).sum(-1).mean()
        loss = DATA_WEIGHT * misfit + case.T * net.penalty()
        loss.backward()
        adam.step()
        return float(loss.detach())

    return step


def _classical_method() -> str:
    """Register torchdiffeq's classical Runge-Kutta step under a name, and return the name."""
    from torchdiffeq._impl import odeint, rk_common  # pyright: ignore[reportMissingImports]
    from torchdiffeq._impl.solvers import (  # pyright: ignore[reportMissingImports]
        FixedGridODESolver,
    )

    class ClassicalRungeKutta(FixedGridODESolver):
        order = 4

        def _step_func(self, func, t0, dt, t1, y0):
            f0 = func(t0, y0)
            return rk_common.rk4_step_func(func, t0, dt, t1, y0, f0=f0), f0

    name = "classical_rk4"
    solvers = importlib.import_module(odeint.__module__).SOLVERS
    solvers[name] = ClassicalRungeKutta
    return name


def _module(begin: Start) -> Any:
    import torch  # pyright: ignore[reportMissingImports]

    class UpDownNet(torch.nn.Module):
        """Particles `(q, u)`, momenta `(p, r)` and an affine lift."""

        def __init__(self):
            super().__init__()
            for name, value in begin.parameters.items():
                self.register_parameter(name, torch.nn.Parameter(torch.from_numpy(value.copy())))

        def theta(self, q, u, p, r):
            s = torch.relu(u)
            return s, p.T @ s, p.sum(0), r.T @ q, r.sum(0), r.T @ s / W3

        def forward(self, t, y):
            q, u, p, r, x, v = y
            su, theta1, b1, theta2, b2, theta3 = self.theta(q, u, p, r)
            sv = torch.relu(v)
            return (
                torch.addmm(b1, su, theta1.T),
                torch.addmm(b2, q, theta2.T) + su @ theta3.T,
                -(r @ theta2),
                -((u > 0) * (p @ theta1 + r @ theta3)),
                torch.addmm(b1, sv, theta1.T),
                torch.addmm(b2, x, theta2.T) + sv @ theta3.T,
            )

        def penalty(self):
            _, *rest, theta3 = self.theta(self.q, self.u, self.p, self.r)
            return 0.5 * (sum(part.square().sum() for part in rest) + W3 * theta3.square().sum())

    return UpDownNet()
