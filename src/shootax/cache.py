"""Compiled programs kept on disk, so that a second start does not compile again."""

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
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    return chosen
