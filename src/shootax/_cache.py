"""Compiled programs: kept on disk, so that a second start does not compile again, and not too many
of them in memory."""

import os
import pathlib
import warnings

import jax


def use_compilation_cache(folder: str | os.PathLike | None = None) -> pathlib.Path:
    """Keeps compiled programs in `folder`, by default `~/.cache/shootax` (or `XDG_CACHE_HOME`).

    The commands do this by themselves. Call it before the first computation. Returns the folder.

    !!! example

        ```python
        import shootax as sx

        sx.use_compilation_cache()
        ```
    """
    home = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    chosen = pathlib.Path(folder) if folder is not None else home / "shootax"
    chosen.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", str(chosen))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    return chosen


def make_room(share: float = 0.85, *, quiet: bool = False) -> bool:
    """Drops the compiled programs of this process when it is about to crash for their number.

    XLA maps each function of a program on its own. Linux has a limit on the maps of a process, and
    XLA crashes at it: after about 140 calls of [`shootax.fit`][] that each compile a program of
    their own. `fit` calls this first. Programs that are needed again are compiled again, those of
    other libraries too, so there is a warning the first time, unless `quiet`.

    Returns whether anything was dropped, which is when more than `share` of the limit was taken.
    """
    try:
        limit = int(pathlib.Path("/proc/sys/vm/max_map_count").read_text())
        with open("/proc/self/maps", "rb") as lines:
            taken = sum(1 for _ in lines)
    except OSError:  # not Linux
        return False
    if taken <= share * limit:
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
