"""A limit on the number of compiled programs in memory."""

import pathlib
import warnings

import jax

from shootax._fork import refuse_after_fork

_USUAL_LIMIT = 65530
"""The default limit of memory maps, where Linux does not report one."""


def make_room(share: float = 0.85, *, quiet: bool = False) -> bool:
    """Drop the compiled programs of this process if it is about to crash because there are too many.

    XLA maps each function of a program separately. Linux limits the memory maps of a process, and XLA
    crashes at this limit: after about 140 calls of [`shootax.fit`][] that each compile a new program.
    `fit` calls this function first. Dropped programs, including those of other libraries, are compiled
    again when they are needed, so the first time there is a warning, unless `quiet`.

    Return whether programs were dropped, i.e. whether more than `share` of the limit was in use.
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
            "programs. All compiled programs of JAX are dropped, because XLA would crash at the limit; "
            "they are compiled again when needed. To avoid this, train nets of the same kind, or raise "
            "the limit (sysctl vm.max_map_count).",
            stacklevel=2,
        )
    jax.clear_caches()
    return True


_warned: list[bool] = []
"""Not empty once the warning was given; it is given only once."""


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
