"""Bounds from the weights along the path: on the reachable states, and on how fast they can diverge."""

import dataclasses

import numpy as np
from scipy.linalg import expm

from shootax.theory._model import WeightPath
from shootax.theory._structure import FieldBounds, Rates


@dataclasses.dataclass(frozen=True)
class Domain:
    """A set of initial states: a box for the flattened state, and a largest norm for each part."""

    low: np.ndarray
    high: np.ndarray
    radii: np.ndarray

    @classmethod
    def of(cls, z: np.ndarray, parts: dict[str, slice]) -> "Domain":
        """The smallest domain that contains the states `(samples, state)`."""
        norms = [np.linalg.norm(z[:, rows], axis=1).max() for rows in parts.values()]
        return cls(z.min(axis=0), z.max(axis=0), np.array(norms))

    @classmethod
    def ball(cls, radius: float, parts: dict[str, slice]) -> "Domain":
        size = max(rows.stop for rows in parts.values())
        return cls(np.full(size, -radius), np.full(size, radius), np.full(len(parts), radius))


@dataclasses.dataclass(frozen=True)
class Tube:
    """The reachable states of a domain: boxes `(steps, state)` that contain them throughout each step,
    radii `(steps + 1, parts)`, bounds on how far each part has moved at the end,
    $\\operatorname{Lip}(f)$ on the boxes, `(steps,)`, and the largest speed."""

    low: np.ndarray
    high: np.ndarray
    radii: np.ndarray
    moved: np.ndarray
    lipschitz: np.ndarray
    speed: float
    h: float

    @property
    def integral(self) -> float:
        """$∫ \\operatorname{Lip}(f(·, θ(t)))\\, dt$, with the largest value of each step."""
        return float(self.h * self.lipschitz.sum())


def tube(bounds: FieldBounds, path: WeightPath, domain: Domain) -> Tube:
    """Propagate a domain. Each step uses the largest constants of its start, middle and end."""
    h, norm = path.T / path.steps, np.sqrt(path.norm_squared.max(axis=1))
    rates = bounds.rates(path.theta, norm)
    radii = _radii(rates, domain.radii, h)
    speeds = np.einsum("vsab,sb->vsa", rates.slopes, radii[1:]) + rates.offsets
    speed = float(np.linalg.norm(speeds.min(axis=0), axis=-1).max())
    moved = radii[1:] - radii[0]
    low, high = np.empty((2, path.steps, len(domain.low)))
    for a, rows in enumerate(bounds.parts.values()):
        low[:, rows] = np.maximum(domain.low[rows] - moved[:, a, None], -radii[1:, a, None])
        high[:, rows] = np.minimum(domain.high[rows] + moved[:, a, None], radii[1:, a, None])
    lipschitz = bounds.lipschitz(path.theta, norm, low, high)
    return Tube(low, high, radii, moved[-1], lipschitz, speed, h)


def _radii(rates: Rates, start: np.ndarray, h: float) -> np.ndarray:
    """Bounds on the norms of the parts at the ends of the steps: the solution of $r' = N r + c$, which
    exceeds every $|z_a|$ because $N$ and $c$ are not negative. Each step keeps the smallest variant."""
    variants, steps, count = rates.offsets.shape
    generator = np.zeros((variants, steps, count + 1, count + 1))
    generator[..., :count, :count] = rates.slopes
    generator[..., :count, count] = rates.offsets
    advance = expm(h * generator)
    out = [start]
    for k in range(steps):
        every = advance[:, k] @ np.append(out[-1], 1.0)
        out.append(every[:, :count].min(axis=0))
    return np.stack(out)
