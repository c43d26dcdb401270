"""Raise in a process forked after JAX was used, which would hang at its first computation.

The threads of JAX do not survive a fork, and the locks they held stay locked in the child.
"""

import os

_USED = False
_BROKEN = False


def _jax_was_used() -> bool:
    try:
        from jax._src.xla_bridge import backends_are_initialized
    except ImportError:  # another version of JAX: nothing is known, so nothing is refused
        return False
    return backends_are_initialized()


def _before() -> None:
    # In the parent, where no lock can be left over.
    global _USED
    _USED = _jax_was_used()


def _in_child() -> None:
    global _BROKEN
    _BROKEN = _BROKEN or _USED


if register := getattr(os, "register_at_fork", None):  # not on Windows, which cannot fork
    register(before=_before, after_in_child=_in_child)


def refuse_after_fork() -> None:
    """Raise in a process that was forked from one that had used JAX."""
    if _BROKEN:
        raise RuntimeError(
            "This process was forked after JAX had started, and JAX would hang in it. Start "
            "processes by multiprocessing.get_context('spawn') or by joblib's 'loky' backend, or fork "
            "before the first computation."
        )
