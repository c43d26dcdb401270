"""The error classes of shootax."""

from typing import Any


class FileFormatError(ValueError):
    """A model file is missing, damaged, from another program, or needs names that were not given."""


class DivergedError(RuntimeError):
    """The loss became NaN or infinite during training.

    Nothing is lost: `result` holds the last good model and the history up to it,
    exactly as [`shootax.fit`][] would have returned them.
    """

    def __init__(self, message: str, result: Any):
        super().__init__(message)
        self.result = result


class UnboundedError(ValueError):
    """The Hamiltonian has no maximum over θ, so there are no optimal weights."""


class NotConvergedError(RuntimeError):
    """The inner maximisation over θ did not reach its tolerance."""
