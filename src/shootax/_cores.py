"""The cores of a CPU as JAX devices that share training steps."""

import os

import jax

from shootax import _checks as checks

VARIABLE = "SHOOTAX_CORES"
"""The environment variable: a number of cores, or `all`."""

_THREADS = "PJRT_NPROC"  # how many threads JAX starts for the operations of a program

_chosen = [False]


def use_cores(number: int | None = None) -> int:
    """Let training use several cores of the CPU. Call it first, before JAX computes anything.

    JAX then sees each core as a separate device, and [`shootax.fit`][] splits every batch that is large
    enough between them, as with `mesh="auto"`. If particles take most of a step, their products are
    distributed over threads instead. Results are the same as on one core, up to rounding. The environment
    variable `SHOOTAX_CORES=2` (or `all`) does the same when `shootax` is imported.

    **Arguments:**

    - `number`: the number of cores; by default all that this process may use.

    **Returns:** the number of cores.

    **Raises:** `RuntimeError` if JAX has started with another number.

    !!! example

        ```python
        import shootax as sx

        print(sx.use_cores(1))  # 1; without a number, all there are
        ```
    """
    number = available() if number is None else checks.positive_integer(number, "number")
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = str(number)  # JAX reads it when it starts
    try:
        jax.config.update("jax_num_cpu_devices", number)
    except RuntimeError as error:
        if before is None:
            del os.environ[_THREADS]
        else:
            os.environ[_THREADS] = before
        found = jax.local_device_count("cpu")
        if found != number:
            raise RuntimeError(
                f"JAX has already started with {found} CPU device(s), but {number} were requested. Call "
                "sx.use_cores() right after the imports, before anything is computed, or set "
                f"{VARIABLE}={number} in the environment."
            ) from error
    _chosen[0] = number > 1
    return number


def shares_steps() -> bool:
    """Whether `use_cores` was called for more than one core."""
    return _chosen[0]


def available() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def use_those_of_the_environment() -> None:
    """Apply the environment variable, if it is set."""
    wanted = os.environ.get(VARIABLE, "").strip().lower()
    if not wanted:
        return
    if wanted != "all" and not (wanted.isdecimal() and int(wanted) > 0):
        raise ValueError(f"{VARIABLE} must be a number of cores, or `all`; got {wanted!r}.")
    use_cores(None if wanted == "all" else int(wanted))
