"""The errors of shootax that are more than a `ValueError`."""

from typing import Any


class FileFormatError(ValueError):
    """A model file is missing, damaged, of another program, or needs names that were not given."""


class DivergedError(RuntimeError):
    """Training met a loss that is not finite.

    Nothing that was computed is lost: `result` holds the last good model and the history up to it,
    exactly as [`shootax.fit`][] would have returned them.
    """

    def __init__(self, message: str, result: Any):
        super().__init__(message)
        self.result = result


class UnboundedError(ValueError):
    """The Hamiltonian has no maximum over θ, so there are no optimal weights."""


class NotConvergedError(RuntimeError):
    """The inner maximisation over θ did not reach its tolerance."""
