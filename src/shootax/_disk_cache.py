"""Compiled programs on disk, so that the next process need not compile them again.

By default only the programs of this library are kept: JAX's setting is changed while one of the library's
functions runs, and restored after it. The user's own setting always takes precedence.
"""

import contextlib
import functools
import hashlib
import logging
import os
import pathlib
import platform
import subprocess
import threading
from typing import Literal

import jax
import jaxlib.version
from jax.experimental.compilation_cache import compilation_cache as _jax_cache

_LOG = logging.getLogger("shootax")

VARIABLE = "SHOOTAX_CACHE"
"""The environment variable: a folder, or `off`."""

LIMIT = 300 * 2**20
"""The largest total size of the kept programs, in bytes."""

_OFF = {"off", "0", "no", "false", "none"}
_TIDY_EVERY = 100  # compiled programs


def use_compilation_cache(
    folder: str | os.PathLike | Literal[False] | None = None,
) -> pathlib.Path | None:
    """Keep all compiled programs of this process on disk, including your own; with `False`, keep none.

    If you do not call this function, only the programs of this library are kept. They are in
    `~/.cache/shootax` (or in `XDG_CACHE_HOME`), at most 300 MB in total, in a separate folder for each
    processor and version of JAX, because a program runs only where it was compiled. The environment
    variable `SHOOTAX_CACHE` names another folder; `SHOOTAX_CACHE=off` turns the cache off. If you have
    set JAX's own cache (`JAX_COMPILATION_CACHE_DIR`), that one is used and nothing is changed. A folder
    that is not writable, or belongs to another user, is not used.

    **Arguments:**

    - `folder`: the folder for the programs, or `False` to keep none in this process. By default the one
        in JAX's own setting or in `SHOOTAX_CACHE`, else `~/.cache/shootax`. It is created if needed.

    **Returns:** the folder with the programs for this processor, or `None` if none are kept.

    !!! example

        ```python
        import shootax as sx

        sx.use_compilation_cache()
        ```
    """
    if folder is False:
        keeping_programs.turn_off()
        return None
    if not (folder is None or isinstance(folder, str | os.PathLike)):
        raise TypeError(f"folder must be a path, or False to keep nothing; got {folder!r}.")
    own = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
    if folder is None:
        if own is not None:
            return pathlib.Path(own)
        chosen = usual_folder()
        if chosen is None:
            return None
    else:
        chosen = pathlib.Path(folder)
    if chosen.exists() and not chosen.is_dir():
        raise NotADirectoryError(f"folder must be a folder, got the file {chosen}.")
    programs = chosen / tag()
    programs.mkdir(parents=True, exist_ok=True, mode=0o700)
    tidy(chosen)
    jax.config.update("jax_compilation_cache_dir", str(programs))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    if own is not None:
        _jax_cache.reset_cache()  # JAX opens a folder once
    return programs


class _Keeping(contextlib.ContextDecorator):
    """A context in which compiled programs are kept on disk. It may be nested."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        self._off = False
        self._before: float | None = None  # JAX's setting, while ours replaces it
        self._compiled = 0

    def turn_off(self) -> None:
        """Keep nothing from now on, even if the user had turned the cache on."""
        with self._lock:
            self._off = True
            self._restore()
            jax.config.update("jax_compilation_cache_dir", None)
            _jax_cache.reset_cache()

    def __enter__(self) -> None:
        with self._lock:
            self._depth += 1
            if self._depth == 1 and not self._off:
                self._begin()

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._restore()

    def _begin(self) -> None:
        config = jax.config
        if config.jax_compilation_cache_dir is not None:  # pyright: ignore[reportAttributeAccessIssue]
            return  # the user's own
        folder = default_folder()
        if folder is None:
            return
        self._before = config.jax_persistent_cache_min_compile_time_secs  # pyright: ignore[reportAttributeAccessIssue]
        config.update("jax_compilation_cache_dir", str(folder))
        config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        self._compiled = _requests[0]

    def _restore(self) -> None:
        if self._before is None:
            return
        before, self._before = self._before, None
        mine = str(default_folder())
        if jax.config.jax_compilation_cache_dir != mine:  # pyright: ignore[reportAttributeAccessIssue]
            return  # changed in the meantime, by a callback or another thread
        jax.config.update("jax_compilation_cache_dir", None)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", before)
        if _requests[0] != self._compiled:
            _jax_cache.reset_cache()  # so that a folder that the user sets later is opened


keeping_programs = _Keeping()
"""Compiled programs are kept on disk inside `with keeping_programs:`, and in functions that it
decorates."""

_requests = [0]
"""How many programs JAX was asked to compile or to find in its cache."""


def _count(event: str, **_: object) -> None:
    if event == "/jax/compilation_cache/compile_requests_use_cache":
        _requests[0] += 1
        if _requests[0] % _TIDY_EVERY == 0 and (folder := default_folder()) is not None:
            tidy(folder.parent)


jax.monitoring.register_event_listener(_count)


def usual_folder() -> pathlib.Path | None:
    """The folder in the environment variable, or the default one; `None` if the cache is off."""
    wanted = os.environ.get(VARIABLE, "").strip()
    if wanted.lower() in _OFF:
        return None
    if wanted:
        return pathlib.Path(wanted).expanduser()
    try:
        home = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    except RuntimeError:  # a user without a home
        return None
    return home / "shootax"


@functools.cache
def default_folder() -> pathlib.Path | None:
    """The folder for this processor, tidied, or `None` if programs cannot be kept there safely."""
    above = usual_folder()
    if above is None:
        return None
    folder = above / tag()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = folder.stat()
    except OSError as error:
        _LOG.debug("Compiled programs are not kept: %s", error)
        return None
    # A program is code: only what this user wrote is loaded.
    theirs = hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o022)
    if theirs or not os.access(folder, os.W_OK | os.X_OK):
        _LOG.debug("Compiled programs are not kept: %s is not private to this user.", folder)
        return None
    tidy(above)
    return folder


def tidy(folder: pathlib.Path, limit: int | None = None) -> None:
    """Remove the least recently used programs, of any version, until the rest is small enough."""
    limit = LIMIT if limit is None else limit
    found = []
    with contextlib.suppress(OSError):
        for path in folder.glob("*/*-cache"):
            with contextlib.suppress(OSError):  # another process tidies up as well
                known = path.stat()
                found.append((max(known.st_atime, known.st_mtime), known.st_size, path))
    total = sum(size for _, size, _ in found)
    if total <= limit:
        return
    for _, size, path in sorted(found, key=lambda entry: entry[0]):
        with contextlib.suppress(OSError):
            path.unlink()
        total -= size
        if total <= 0.8 * limit:
            return


@functools.cache
def tag() -> str:
    """The name of a folder for programs that run here: versions, and the features of the processor."""
    features = hashlib.sha256(_processor().encode()).hexdigest()[:12]
    return f"jax-{jax.__version__}-{jaxlib.version.__version__}-{platform.machine() or 'any'}-{features}"


def _processor() -> str:
    """The model and the features of the processor, as far as the system reports them."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            first = list(iter(lambda: lines.readline().strip(), ""))  # up to the second core
        wanted = ("vendor_id", "cpu family", "model", "model name", "flags", "Features", "CPU ")
        return "\n".join(line for line in first if line.startswith(wanted))
    except OSError:
        pass
    if platform.system() == "Darwin":
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string", "hw.optional"]
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            return subprocess.run(command, capture_output=True, text=True, timeout=5).stdout
    return " ".join((platform.processor(), os.environ.get("PROCESSOR_IDENTIFIER", "")))
