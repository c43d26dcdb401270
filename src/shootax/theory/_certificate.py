"""Certificates: bounds next to measured values."""

import dataclasses
import math
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Row:
    """One quantity with its bounds and its measured value.

    **Arguments:**

    - `quantity`: the name of the quantity.
    - `energy`: the bound from the norm $‖f‖$ alone (for particles, at $t = 0$).
    - `path`: the bound from the weights along the path.
    - `measured`: the value on the data.
    """

    quantity: str
    energy: float
    path: float
    measured: float

    @property
    def bound(self) -> float:
        """The smaller of the two bounds."""
        return min(self.energy, self.path)

    @property
    def ratio(self) -> float:
        """The measured value divided by the bound: at most 1, and close to 1 if the bound is tight."""
        return self.measured / self.bound if self.bound else 0.0


@dataclasses.dataclass(frozen=True)
class Certificate:
    """The result of [`shootax.theory.certify`][].

    **Arguments:**

    - `rows`: the quantities with their bounds and measured values.
    - `field`, `samples`, `T`: the name of the field, the number of samples, the final time.
    - `norm_squared`: $‖f(·, θ)‖^2 = 2R$ at $t = 0$.
    - `norm_path`: $2R$ over depth. `drift` is its largest relative change. If `conserved`, this is the
      error of the integrator.
    - `length`: $∫ ‖f(·, θ(t))‖\\, dt$, the length of the path of maps.
    - `kernel`: $\\sup λ_{\\max}(k(z, z))$ for each part of the state, over the reachable region.
    - `singular_values`: the singular values of the Jacobian of the flow, `(points, state)`, at the
      samples where it was computed. `smallest_singular_value` is the smallest of them. For states with
      more than 600 entries, the Jacobian is not computed, and the smallest slope between two samples
      replaces it.
    - `inverse_error`: the largest error of flowing to the end and back.
    - `integrator_error`: the largest difference between the net's integrator and a fine one. The bounds
      hold for the flow in continuous depth.
    - `tolerance`: the relative rounding error that comparisons allow.
    """

    rows: tuple[Row, ...]
    field: str
    samples: int
    T: float
    norm_squared: float
    norm_path: np.ndarray
    conserved: bool
    drift: float
    length: float
    kernel: dict[str, float]
    singular_values: np.ndarray | None
    smallest_singular_value: float
    inverse_error: float
    integrator_error: float
    tolerance: float

    def __getitem__(self, quantity: str) -> Row:
        """The row of the quantity with this name."""
        for row in self.rows:
            if row.quantity == quantity:
                return row
        names = ", ".join(row.quantity for row in self.rows)
        raise KeyError(f"There is no quantity {quantity!r}. Choose from: {names}.")

    @property
    def holds(self) -> bool:
        """Whether every measured value is within both of its bounds, up to rounding."""
        slack = 1 + self.tolerance
        return all(row.measured <= slack * min(row.energy, row.path) for row in self.rows)

    @property
    def is_homeomorphism(self) -> bool:
        """Whether the flow of the whole state was measured to be invertible: flowing back returns to the
        start, and no singular value of its Jacobian is below the guaranteed bound."""
        least = 1 / self["Lipschitz constant of the inverse"].bound
        back = self.inverse_error <= 1e-3 * (1 + self["radius"].measured)
        return back and self.smallest_singular_value >= least * (1 - self.tolerance)

    def table(self) -> str:
        """Format the rows as text, with a few lines about the norm and the inverse."""
        header = ("quantity", "from norm", "along path", "measured", "ratio")
        lines: list[tuple[str, ...]] = [header]
        for row in self.rows:
            numbers = (row.energy, row.path, row.measured, row.ratio)
            lines.append((row.quantity, *map(show, numbers)))
        widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
        text = [
            "  ".join(
                entry.ljust(width) if i == 0 else entry.rjust(width)
                for i, (entry, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        ]
        return "\n".join([*text, "", *self.notes()])

    def notes(self) -> list[str]:
        """Findings that are not bounds."""
        kind = "conserved" if self.conserved else "not conserved by this control"
        verdict = "yes" if self.is_homeomorphism else "not confirmed"
        return [
            f"{self.field}, {self.samples} samples, T = {self.T:g}",
            f"squared norm of the field, 2R: {show(self.norm_squared)} at t = 0, {kind}; largest "
            f"relative change {self.drift:.1e}",
            f"length of the path of maps: {show(self.length)}",
            f"homeomorphism: {verdict} (flowing back: error {self.inverse_error:.1e}; smallest "
            f"singular value {show(self.smallest_singular_value)})",
            f"the net's own integrator differs from the flow by {self.integrator_error:.1e}",
        ]

    def as_dict(self) -> dict[str, Any]:
        """All fields as plain values, for JSON. Infinite bounds become `None`."""
        out = dataclasses.asdict(self)
        out["rows"] = [
            {**dataclasses.asdict(row), "bound": row.bound, "ratio": row.ratio} for row in self.rows
        ]
        out["norm_path"] = self.norm_path.tolist()
        if self.singular_values is not None:
            out["singular_values"] = self.singular_values.tolist()
        out["holds"], out["is_homeomorphism"] = self.holds, self.is_homeomorphism
        return _plain(out)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def show(value: float) -> str:
    """Format a number for display."""
    return f"{value:.3g}" if math.isfinite(value) else "∞"
