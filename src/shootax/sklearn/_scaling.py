"""Scale columns to mean zero and variance one, and back."""

from typing import NamedTuple

import numpy as np

LARGE = 1e300


class Scaler(NamedTuple):
    """$x ↦ (x - mean)/spread$, column by column, in double precision.

    A constant column always becomes zero, also for new entries, and `back` returns its mean.
    """

    mean: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray, weight: np.ndarray) -> "Scaler":
        """The scaler of weighted samples.

        Entries are divided by the largest one before they are squared, so that no square overflows. A
        spread within rounding error of the entries counts as zero.
        """
        x = np.asarray(x, np.float64)
        largest = np.maximum(np.abs(x).max(axis=0), np.finfo(np.float64).tiny)
        share = (weight / weight.sum())[:, None]
        mean = np.sum(share * (x / largest), axis=0)
        spread = np.sqrt(np.sum(share * (x / largest - mean) ** 2, axis=0))
        constant = (spread <= 10 * np.finfo(np.float64).eps) | (x == x[0]).all(axis=0)
        return cls(
            np.where(constant, x[0], mean * largest), np.where(constant, 0.0, spread * largest)
        )

    def forward(self, x: np.ndarray) -> np.ndarray:
        """Scale entries; the result is infinite where an entry is too far from the mean for a float."""
        # Halve very large numbers first, because their difference may overflow.
        unit = np.where(np.maximum(np.abs(self.mean), self.spread) > LARGE, 0.5, 1.0)
        with np.errstate(over="ignore"):
            moved = np.asarray(x, np.float64) * unit - self.mean * unit
            spread = self.spread * unit
            return np.divide(moved, spread, out=np.zeros_like(moved), where=spread > 0)

    def back(self, x: np.ndarray) -> np.ndarray:
        """The inverse of `forward`; infinite where the result is too large for a float."""
        with np.errstate(over="ignore"):
            return np.asarray(x, np.float64) * self.spread + self.mean
