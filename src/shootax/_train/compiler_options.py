"""How small programs are best compiled."""

import functools

import jax
import jax.numpy as jnp

# Below this number of parameters a step on the CPU is ruled by the cost of starting operations.
SMALL = 100_000

# Products by plain calls, not fused into those of a library that is made for larger ones; each in
# one thread, as sharing it out takes longer than the product; and the second level of LLVM's
# optimisation instead of the third.
_OPTIONS: dict[str, str | int | bool] = {
    "xla_cpu_experimental_ynn_fusion_type": "",
    "xla_cpu_multi_thread_eigen": False,
    "xla_backend_optimization_level": 2,
}


def compiler_options(parameters: int) -> dict[str, str | int | bool] | None:
    """Options for `jax.jit` of a program that trains so many parameters; `None`: as usual."""
    return _accepted() if parameters <= SMALL else None


@functools.cache
def _accepted() -> dict[str, str | int | bool] | None:
    """The options, if this backend and this version of JAX know them."""
    if jax.default_backend() != "cpu":
        return None
    try:
        probe = jax.jit(lambda x: x + 1, compiler_options=dict(_OPTIONS))
        probe.lower(jax.ShapeDtypeStruct((), jnp.float32)).compile()
    except Exception:  # whatever the complaint, programs compile without the options
        return None
    return dict(_OPTIONS)
