"""The compiler settings of the quick suite."""

import os
import pathlib


def quick() -> None:
    """Set the environment, which JAX reads on import and child processes inherit.

    The suite spends nearly all its time on compiling programs that run once. So programs are hardly
    optimised, and a program that two tests, two workers or a test and a command need is compiled once.
    With `XLA_FLAGS=` in the environment, as in `make test-all`, the compiler has the settings of users.
    """
    if "XLA_FLAGS" not in os.environ:
        os.environ["XLA_FLAGS"] = "--xla_cpu_use_fusion_emitters=false"
        os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        programs = pathlib.Path(__file__).parents[1] / ".pytest_cache" / "programs"
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(programs)
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.05"
    os.environ.setdefault("SHOOTAX_CACHE", "off")  # tests write nothing to the home folder
