"""How programs are compiled for the CPU, with options if this version of JAX supports them."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from shootax import _checks as checks
from shootax._disk_cache import keeping_programs

Options = tuple[tuple[str, str | int | bool], ...]

# LLVM's optimisation level 1, which keeps products and sums fused as level 3 does, and XLA's older
# way to write loops: half the time to compile, and the same numbers.
_ONE_OFF: Options = (
    ("xla_backend_optimization_level", 1),
    ("xla_cpu_use_fusion_emitters", False),
)

Function = TypeVar("Function", bound=Callable[..., Any])


def one_off(function: Function) -> Function:
    """`equinox.filter_jit` for a program that runs only a few times, in which compiling costs most.

    The program is compiled with little optimisation, and kept on disk.
    """
    usual = eqx.filter_jit(function)
    quick: list[Any] = []

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        traced = not all(map(checks.is_concrete, jax.tree.leaves((args, kwargs))))
        # JAX accepts options only for outermost programs.
        if traced or inside_a_program() or not on_cpu((args, kwargs)):
            return usual(*args, **kwargs)
        with keeping_programs:
            if not quick:
                options = accepted(_ONE_OFF)
                wanted: Any = {} if options is None else {"compiler_options": dict(options)}
                quick.append(eqx.filter_jit(function, **wanted))
            return quick[0](*args, **kwargs)

    return call  # pyright: ignore[reportReturnType]


def applied(function: Callable[..., Any], batch: Any, axes: int = 1) -> Any:
    """Apply a function of one sample to all samples along the first `axes` axes, as one program
    instead of one for each operation."""
    traced = not all(map(checks.is_concrete, jax.tree.leaves((function, batch))))
    return (_mapped if traced else _mapped_program)(function, batch, axes)


def _mapped(function: Callable[..., Any], batch: Any, axes: int) -> Any:
    for _ in range(axes):
        function = jax.vmap(function)
    return function(batch)


_mapped_program = eqx.filter_jit(_mapped)


def inside_a_program() -> bool:
    """Whether JAX is tracing a program now, so that nothing is computed."""
    return not checks.is_concrete(jax.device_put(np.zeros(())))


def on_cpu(arrays: Any) -> bool:
    """Whether a program with these arrays runs only on the CPU."""
    found = {
        device.platform
        for leaf in jax.tree.leaves(arrays)
        if isinstance(leaf, jax.Array) and checks.is_concrete(leaf)
        for device in leaf.devices()
    }
    default = default_platform()
    return (found or {default}) == {"cpu"} and default == "cpu"


def default_platform() -> str:
    """`cpu`, `gpu` or `tpu`: where JAX runs a program whose arrays do not say otherwise."""
    chosen: Any = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    name = jax.default_backend() if chosen is None else getattr(chosen, "platform", chosen)
    return "gpu" if name in ("cuda", "rocm") else str(name)


@functools.cache
def accepted(options: Options, probe: Callable[[jax.Array], Any] = lambda x: x) -> Options | None:
    """Return the options if this version of JAX can compile the function `probe` of a number with them,
    otherwise `None`."""
    try:
        program = jax.jit(probe, compiler_options=dict(options))
        program.lower(jax.ShapeDtypeStruct((), jnp.float32)).compile()
    except Exception:  # whatever the error, programs compile without the options
        return None
    return options
