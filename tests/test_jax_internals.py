"""What the library leans on in JAX that JAX may change: each in one module, and a word if it does.

A failure here names the version of JAX that is installed, the module to mend, and what stops working.
"""

import ast
import pathlib
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shootax import _jaxpr as programs
from shootax._checks import is_concrete
from shootax._compile import _ONE_OFF, accepted
from shootax._train.compiler_options import _OPTIONS, _probe
from shootax.export._whole import doubles

SOURCE = pathlib.Path(__file__).parents[1] / "src" / "shootax"
SEEN = (0, 10, 2)
"""The version of JAX that has been seen to know all compiler options."""

# Parts of JAX without a promise, and the one module that may use each.
OWNERS = {
    "jax._src": {"_fork.py"},
    "jax.core": {"_checks.py"},
    "jax.extend": {"_jaxpr.py"},
    "jax.experimental": {
        *("_disk_cache.py", "_train/hosts.py", "_whole_loops.py", "export/_whole.py"),
    },
    "jax.interpreters": {"_whole_loops.py"},
    "jaxlib": {"_disk_cache.py"},
}


def says(module, what):
    return f"JAX {jax.__version__} has changed what src/shootax/{module} uses: {what}."


def test_each_has_one_module():
    wrong = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                used = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                used = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                used = [f"{node.value.id}.{node.attr}"]
            else:
                continue
            for part, owners in OWNERS.items():
                inside = any(f"{each}.".startswith(f"{part}.") for each in used)
                if inside and name not in owners:
                    wrong.append(f"{name}:{node.lineno} uses {part}; only {sorted(owners)} may")
    assert not wrong, "\n".join(wrong)


def test_whether_jax_has_started():
    """Without it a fork after JAX was used hangs instead of raising."""
    program = (
        "import jax\n"
        "from shootax._fork import _jax_was_used\n"
        "assert not _jax_was_used()\n"
        "jax.numpy.ones(1).block_until_ready()\n"
        "assert _jax_was_used()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, says("_fork.py", "backends_are_initialized") + done.stderr


def test_what_is_being_traced():
    found = []
    jax.make_jaxpr(lambda x: found.append(is_concrete(x)) or x)(1.0)
    assert found == [False], says("_checks.py", "jax.core.Tracer")
    assert is_concrete(jnp.ones(2))


def test_double_precision_for_a_while():
    what = says("export/_whole.py", "enable_x64")
    for on in (True, False):
        with doubles(on):
            assert (jnp.ones(1).dtype == np.float64) == on, what


@jax.custom_jvp
def cubed(x):
    return x**3


cubed.defjvp(lambda x, t: (cubed(x[0]), 3 * x[0] ** 2 * t[0]))


@jax.custom_vjp
def doubled(x):
    return 2 * x


doubled.defvjp(lambda x: (doubled(x), None), lambda _, g: (2 * g,))


@pytest.mark.parametrize(
    "function", [jax.jit(jnp.sin), cubed, doubled], ids=["jit", "custom_jvp", "custom_vjp"]
)
def test_operations_that_run_another_program(function):
    """Fields that are not understood would fall back to slower forms, and exports be refused."""
    (equation,) = jax.make_jaxpr(function)(1.0).jaxpr.eqns
    name, what = equation.primitive.name, "the operations that hold a program"
    assert name in programs.CALLS, says("_jaxpr.py", f"{what}: {name} is new")
    inner = equation.params.get(programs.CALLS[name])
    kinds = (programs.ClosedJaxpr, programs.Jaxpr)
    assert isinstance(inner, kinds), says(
        "_jaxpr.py", f"{what}: {name} has {list(equation.params)}"
    )
    assert programs.CALLS[name] in programs.PROGRAMS


def test_the_parts_of_a_program():
    program = jax.make_jaxpr(lambda x: jnp.sin(x) + 2.0)(1.0)
    what = says("_jaxpr.py", "the classes of jax.extend.core")
    assert isinstance(program, programs.ClosedJaxpr), what
    assert isinstance(program.jaxpr, programs.Jaxpr), what
    assert all(isinstance(equation, programs.JaxprEqn) for equation in program.jaxpr.eqns), what
    assert isinstance(program.jaxpr.eqns[0].primitive, programs.Primitive), what
    assert isinstance(program.jaxpr.invars[0], programs.Var), what
    assert isinstance(program.jaxpr.eqns[1].invars[1], programs.Literal), what
    np.testing.assert_allclose(programs.jaxpr_as_fun(program)(1.0)[0], np.sin(1.0) + 2, rtol=1e-12)


@pytest.mark.parametrize("option", sorted({*_ONE_OFF, *_OPTIONS}, key=str), ids=lambda o: o[0])
def test_options_of_the_compiler(option):
    """Programs compile without them, more slowly or to slower ones; the numbers are the same."""
    if accepted((option,)) is None and jax.__version_info__ < SEEN:
        pytest.skip(f"JAX {jax.__version__} has no {option[0]} yet")
    what = f"the XLA option {option[0]} is gone"
    assert accepted((option,)) is not None, says("_compile.py or _train/compiler_options.py", what)


def test_loops_compiled_as_single_functions():
    """Without them, training works, with slower steps."""
    options = accepted(_OPTIONS, _probe)
    if options is None and jax.__version_info__ < SEEN:
        pytest.skip(f"JAX {jax.__version__} has not all options yet")
    what = says("_whole_loops.py", "the attributes that keep a loop one function")
    assert options is not None, what
    program = jax.jit(_probe, compiler_options=dict(options)).lower(1.0).compile()
    assert 'xla_cpu_small_call="true"' in program.as_text(), what
    assert "inlineable=" in program.as_text(), what


def test_several_processes_at_one_training():
    from jax.experimental import multihost_utils

    from shootax._train import hosts

    used = {
        node.attr
        for node in ast.walk(ast.parse(pathlib.Path(hosts.__file__).read_text("utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "multihost_utils"
    }
    assert used
    for name in used:
        assert hasattr(multihost_utils, name), says("_train/hosts.py", f"multihost_utils.{name}")


def test_the_folder_of_kept_programs():
    from jax.experimental.compilation_cache import compilation_cache

    assert callable(compilation_cache.reset_cache), says("_disk_cache.py", "reset_cache")
