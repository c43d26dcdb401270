"""Bounds and Lipschitz constants of activations, on the real line and on intervals."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.special import erf, expit

import shootax as sx
from shootax import _checks as checks

Interval = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclasses.dataclass(frozen=True)
class ActivationBounds:
    """The constants of an activation σ that the bounds need.

    **Arguments:**

    - `lipschitz`: the Lipschitz constant on the real line.
    - `offset`, `growth`: numbers with $|σ(s)| ≤ \\mathrm{offset} + \\mathrm{growth}·|s|$. The default of
        `growth` is the Lipschitz constant; `offset` is then $|σ(0)|$.
    - `sup`: $\\sup |σ|$, infinite if σ is unbounded.
    - `on_interval`: optional, for sharper bounds. Maps arrays `low`, `high` to $\\sup |σ|$ and to the
        Lipschitz constant on each interval.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx
        from shootax import theory

        net = sx.Net(sx.Affine(dim=2, activation=jnp.arctan), particles=3, key=jax.random.key(0))
        arctan = theory.ActivationBounds(lipschitz=1.0, offset=0.0, sup=jnp.pi / 2)
        print(theory.certify(net, jnp.ones((5, 2)), activations=arctan).holds)  # True
        ```
    """

    lipschitz: float
    offset: float = 0.0
    growth: float | None = None
    sup: float = math.inf
    on_interval: Interval | None = None

    def __post_init__(self):
        for name in ("lipschitz", "offset", "sup", *(() if self.growth is None else ("growth",))):
            if not checks.number(getattr(self, name), name) >= 0:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)!r}.")
        if not self.lipschitz < math.inf:
            raise ValueError(
                f"lipschitz must be finite, got {self.lipschitz!r}. The theory needs an activation with "
                "a finite Lipschitz constant, because otherwise nothing bounds the reach of the flow."
            )

    @property
    def slope(self) -> float:
        """The factor of $|s|$ in the bound on $|σ(s)|$."""
        return self.lipschitz if self.growth is None else self.growth

    def on(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """$\\sup |σ|$ and the Lipschitz constant on each interval `[low, high]`."""
        far = np.maximum(np.abs(low), np.abs(high))
        sup = np.minimum(self.offset + self.slope * far, self.sup)
        lipschitz = np.full_like(far, self.lipschitz)
        if self.on_interval is None:
            return sup, lipschitz
        closer, flatter = self.on_interval(np.asarray(low, float), np.asarray(high, float))
        return np.minimum(sup, closer), np.minimum(lipschitz, flatter)


def _nearest_to_zero(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.clip(0.0, low, high)


def _relu(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.maximum(high, 0.0), np.where(high > 0, 1.0, 0.0)


def _tanh(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    steepest = 1 - np.tanh(_nearest_to_zero(low, high)) ** 2
    return np.tanh(np.maximum(np.abs(low), np.abs(high))), steepest


def _sigmoid(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    at = expit(_nearest_to_zero(low, high))
    return expit(high), at * (1 - at)


def _softplus(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.logaddexp(0.0, high), expit(high)


def _gelu_slope(s: Any) -> Any:
    """The derivative $Φ(s) + s φ(s)$."""
    return 0.5 * (1 + erf(s / math.sqrt(2))) + s * np.exp(-(s**2) / 2) / math.sqrt(2 * math.pi)


GELU_DIP = 0.16998
"""Just above $\\max_{s ≤ 0} |\\mathrm{gelu}(s)|$, which is 0.169971 at $s = -0.7518$."""


def _gelu(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # For s < 0, |gelu| is at most the depth of its dip. For s > 0 it increases, so the end decides.
    right = np.maximum(high, 0.0)
    left = np.where(low < 0, GELU_DIP, 0.0)
    sup = np.maximum(left, right * 0.5 * (1 + erf(right / math.sqrt(2))))
    # The derivative is monotone between its extrema at ±√2, so the ends and the extrema inside decide.
    steepest = np.maximum(np.abs(_gelu_slope(low)), np.abs(_gelu_slope(high)))
    for extreme in (-math.sqrt(2), math.sqrt(2)):
        inside = (low < extreme) & (extreme < high)
        peak = abs(float(_gelu_slope(extreme)))
        steepest = np.where(inside, np.maximum(steepest, peak), steepest)
    return sup, steepest


def _identity(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.maximum(np.abs(low), np.abs(high)), np.ones_like(low)


NAMED: dict[str, ActivationBounds] = {
    "identity": ActivationBounds(1.0, on_interval=_identity),
    "relu": ActivationBounds(1.0, on_interval=_relu),
    "tanh": ActivationBounds(1.0, sup=1.0, on_interval=_tanh),
    "sigmoid": ActivationBounds(0.25, offset=0.5, sup=1.0, on_interval=_sigmoid),
    "softplus": ActivationBounds(1.0, offset=math.log(2), on_interval=_softplus),
    "gelu": ActivationBounds(float(_gelu_slope(math.sqrt(2))), growth=1.0, on_interval=_gelu),
}


def _functions() -> dict[Any, ActivationBounds]:
    """The known bounds by function: the library's named activations, and two JAX functions."""
    known = {sx.Affine(1, activation=name).activation: bounds for name, bounds in NAMED.items()}
    bounded = ActivationBounds(1.0, sup=1.0)
    return {**known, jnp.sin: bounded, jnp.cos: dataclasses.replace(bounded, offset=1.0)}


Activations = ActivationBounds | Mapping[Any, ActivationBounds] | None


def activation_bounds(function: Any, given: Activations = None) -> ActivationBounds:
    """The constants of an activation: the given ones or, otherwise, the known ones."""
    known = _functions().get(function)
    if known is not None:
        return known
    if isinstance(given, ActivationBounds):
        return given
    if given is not None and not isinstance(given, Mapping):
        raise ValueError(
            "activations must be a shootax.theory.ActivationBounds, or a mapping from functions to "
            f"ActivationBounds; got {given!r}."
        )
    if given is not None and function in given:
        return given[function]
    name = getattr(function, "__name__", repr(function))
    raise ValueError(
        f"The bounds of the activation {name!r} are not known, only those of {', '.join(NAMED)}, sin "
        "and cos. Give them as activations=shootax.theory.ActivationBounds(lipschitz=..., "
        "offset=...), with offset = |σ(0)|, and sup=... if the activation is bounded."
    )
