"""Compiler options for programs on the CPU."""

import logging
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from shootax import _checks as checks
from shootax._compile import Options, accepted, on_cpu
from shootax._cores import available
from shootax._whole_loops import with_whole_loops

_LOG = logging.getLogger("shootax")

# Below this number of parameters, launching operations takes most of the time of a step on the CPU.
SMALL = 100_000

# Products run in one thread, because distributing one takes longer than the product itself. They are
# plain code, because a loop that is compiled as a single function cannot call the library for larger
# products. With the second level of LLVM's optimisation instead of the third, steps are as fast. XLA uses
# vectors of 256 bits if nothing else is said; processors without longer ones ignore the last option.
_OPTIONS: Options = (
    ("xla_cpu_experimental_ynn_fusion_type", ""),
    ("xla_cpu_multi_thread_eigen", False),
    ("xla_backend_optimization_level", 2),
    ("xla_cpu_prefer_vector_width", 512),
)

# For larger programs with products of a few million multiplications: XLA's older library distributes
# these over threads, and its newer one does not.
_MEDIUM: Options = (("xla_cpu_experimental_ynn_fusion_type", ""),)


def compiler_options(parameters: int, arrays: Any = (), *, medium: bool = False) -> Options | None:
    """Compiler options for a program that trains `parameters` parameters, as pairs.

    Return `None` for XLA's defaults: if the program does not run only on the CPU, which the devices of
    `arrays` determine, or if it is large, unless it has products of `medium` size and several threads.
    """
    if not on_cpu(arrays):
        return None
    if parameters <= SMALL:
        return accepted(_OPTIONS, _probe)
    return accepted(_MEDIUM, _probe) if medium and available() > 1 else None


def compiled(
    function: Callable[..., Any],
    options: Options | None,
    *,
    whole: bool = True,
    jit: Callable[..., Any] = eqx.filter_jit,
) -> Callable[..., Any]:
    """The function compiled by `jit` with compiler options. With those of small programs, small loops are
    compiled as single functions, unless `whole` is false."""
    if options is None:
        return jit(function)
    usual = jit(function, compiler_options=dict(options))
    if not whole or options != _OPTIONS:
        return usual
    return _Careful(jit(with_whole_loops(function), compiler_options=dict(options)), usual)


_REFUSALS = ("UNIMPLEMENTED:", "INTERNAL: Failed to materialize symbols")
"""How the compiler's message begins if it cannot write out an operation of a loop."""


class _Careful:
    """A program with whole loops, or the usual program once XLA has failed to compile such loops."""

    def __init__(self, whole: Callable[..., Any], usual: Callable[..., Any]):
        self._chosen, self._usual = whole, usual

    def __call__(self, *args: Any) -> Any:
        if not all(map(checks.is_concrete, jax.tree.leaves(args))):
            return self._usual(*args)  # JAX can map and differentiate only this one
        try:
            return self._chosen(*args)
        except jax.errors.JaxRuntimeError as error:
            if self._chosen is self._usual or not str(error).startswith(_REFUSALS):
                raise
            _LOG.debug("XLA cannot compile a loop as a single function: %s", error)
        self._chosen = self._usual
        return self._usual(*args)

    def lower(self, *args: Any) -> Any:
        """Lower the program without running it, like `jax.jit(...).lower`."""
        return self._chosen.lower(*args)  # pyright: ignore[reportFunctionMemberAccess]


@with_whole_loops
def _probe(x: jax.Array) -> jax.Array:
    """A small program with a product in a loop, which every version of XLA must be able to compile."""
    return jax.lax.fori_loop(0, 2, lambda _, x: jnp.sin(x @ x), jnp.full((2, 2), x))
