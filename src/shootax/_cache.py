"""Compiled programs in memory: not too many of them."""

import pathlib
import warnings

import jax

from shootax._fork import refuse_after_fork

_USUAL_LIMIT = 65530
"""The default limit of memory maps, where Linux does not report one."""


def make_room(share: float = 0.85, *, quiet: bool = False) -> bool:
    """Drops the compiled programs of this process when it is about to crash for their number.

    XLA maps each function of a program on its own. Linux has a limit on the maps of a process, and
    XLA crashes at it: after about 140 calls of [`shootax.fit`][] that each compile a program of
    their own. `fit` calls this first. Programs that are needed again are compiled again, those of
    other libraries too, so there is a warning the first time, unless `quiet`.

    Returns whether anything was dropped, which is when more than `share` of the limit was taken.
    """
    refuse_after_fork()
    taken = _maps_taken()
    limit = _maps_limit()
    if taken is None or taken <= share * limit:
        return False
    if not quiet and not _warned:
        _warned.append(True)
        warnings.warn(
            f"This process has {taken} memory maps of at most {limit}, most of them for compiled "
            "programs. All compiled programs of JAX are dropped, or XLA would crash; those needed again "
            "are compiled again. To avoid it, train nets of the same kind, or raise the limit "
            "(sysctl vm.max_map_count).",
            stacklevel=2,
        )
    jax.clear_caches()
    return True


_warned: list[bool] = []
"""Whether there was a warning, which is given once."""


def _maps_taken() -> int | None:
    """The memory maps of this process, or `None` where they cannot be counted (not Linux)."""
    try:
        with open("/proc/self/maps", "rb") as lines:
            return sum(1 for _ in lines)
    except OSError:
        return None


def _maps_limit() -> int:
    try:
        return int(pathlib.Path("/proc/sys/vm/max_map_count").read_text())
    except (OSError, ValueError):  # some containers hide it
        return _USUAL_LIMIT
