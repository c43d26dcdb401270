"""The compiler of the quick suite."""

import os
import pathlib


def quick() -> None:
    """Sets the environment, which JAX reads when it is imported and child processes inherit.

    Nearly all the time of the suite is that of compiling programs which run once. So they are hardly
    optimised, and a program that two tests, two workers or a test and a command need is compiled once.
    `XLA_FLAGS=` in the environment, as in `make test-all`, leaves the compiler as users have it.
    """
    if "XLA_FLAGS" not in os.environ:
        os.environ["XLA_FLAGS"] = "--xla_cpu_use_fusion_emitters=false"
        os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        programs = pathlib.Path(__file__).parents[1] / ".pytest_cache" / "programs"
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(programs)
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.05"
    os.environ.setdefault("SHOOTAX_CACHE", "off")  # nothing of a test goes to a home folder
