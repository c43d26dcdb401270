"""Compiler options for small programs on the CPU."""

from typing import Any

from shootax._compile import Options, accepted, on_cpu

# Below this number of parameters, launching operations takes most of the time of a step on the CPU.
SMALL = 100_000

# With more than about this number of steps of a small net, a faster step is worth twice the compile time.
LONG = 20_000

# Products run in one thread, because distributing one takes longer than the product itself. With the
# second level of LLVM's optimisation instead of the third, and XLA's older way to emit loops, steps are
# as fast, and compiling takes two thirds of the time.
_SHORT: Options = (
    ("xla_cpu_multi_thread_eigen", False),
    ("xla_backend_optimization_level", 2),
    ("xla_cpu_use_fusion_emitters", False),
)

# In addition, products are plain calls, not fused into those of a library for larger products, and loops
# are emitted in the newer way. Steps are a quarter faster, and compiling takes three times as long.
_LONG: Options = (
    ("xla_cpu_experimental_ynn_fusion_type", ""),
    ("xla_cpu_multi_thread_eigen", False),
    ("xla_backend_optimization_level", 2),
)


def compiler_options(parameters: int, steps: int, arrays: Any = ()) -> Options | None:
    """Compiler options for a program that trains `parameters` parameters for `steps` steps, as pairs.

    Return `None` if the program does not run only on the CPU, which the devices of `arrays` determine,
    or is large enough for XLA's defaults. `steps` counts the whole training, not only the remaining
    steps, because a resumed training must run the same program.
    """
    if parameters > SMALL or not on_cpu(arrays):
        return None
    return accepted(_LONG if steps * (1 + parameters / 2_000) >= LONG else _SHORT)
