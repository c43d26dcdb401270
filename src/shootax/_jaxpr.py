"""The classes of traced JAX programs, as returned by `jax.make_jaxpr`.

They are in `jax.extend`, which may change in any version of JAX, as may the names of operations and of
their parameters. Only this module imports from there.
"""

from jax.extend.core import ClosedJaxpr as ClosedJaxpr
from jax.extend.core import Jaxpr as Jaxpr
from jax.extend.core import JaxprEqn as JaxprEqn
from jax.extend.core import Literal as Literal
from jax.extend.core import Primitive as Primitive
from jax.extend.core import Var as Var
from jax.extend.core import jaxpr_as_fun as jaxpr_as_fun

CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",  # before JAX 0.7
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "closed_call": "call_jaxpr",
}
"""Operations that run another program, and the parameter that holds it."""

PROGRAMS = ("jaxpr", "call_jaxpr", "fun_jaxpr")
"""All names of parameters that hold a program."""
