"""Compiled programs: kept on disk, so that a second start does not compile again, and not too many
of them in memory."""

import os
import pathlib

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


def make_room(share: float = 0.6) -> bool:
    """Drops the compiled programs of this process when they take too many pieces of memory.

    XLA maps each function of a program on its own. Linux has a limit on the maps of a process, and
    XLA crashes at it: after about 140 calls of [`shootax.fit`][] that each compile a program of
    their own. `fit` calls this first. Programs that are needed again are compiled again.

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
    jax.clear_caches()
    return True
