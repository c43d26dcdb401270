"""How small programs are best compiled for the CPU."""

from typing import Any

from shootax._compile import Options, accepted, on_cpu

# Below this number of parameters a step on the CPU is ruled by the cost of starting operations.
SMALL = 100_000

# From about this number of steps of a small net on, a faster step is worth twice the compile time.
LONG = 20_000

# Products each in one thread, as sharing it out takes longer than the product; the second level of
# LLVM's optimisation instead of the third, and XLA's older way to write loops: steps are as fast, and
# compiling takes two thirds of the time.
_SHORT: Options = (
    ("xla_cpu_multi_thread_eigen", False),
    ("xla_backend_optimization_level", 2),
    ("xla_cpu_use_fusion_emitters", False),
)

# Besides, products by plain calls, not fused into those of a library that is made for larger ones, and
# loops in the newer way. Steps are a quarter faster, and compiling takes three times as long.
_LONG: Options = (
    ("xla_cpu_experimental_ynn_fusion_type", ""),
    ("xla_cpu_multi_thread_eigen", False),
    ("xla_backend_optimization_level", 2),
)


def compiler_options(parameters: int, steps: int, arrays: Any = ()) -> Options | None:
    """Options for a program that trains so many parameters for so many steps, as pairs.

    `None` where the program is not for the CPU alone, which is told by where the `arrays` are, or is
    large enough for XLA's own choice. `steps` are those of the whole training, not those that are left
    of it: a training that is resumed must run the same program.
    """
    if parameters > SMALL or not on_cpu(arrays):
        return None
    return accepted(_LONG if steps * (1 + parameters / 2_000) >= LONG else _SHORT)
