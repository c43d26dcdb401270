"""Small loops as single functions: XLA's text says so, and trainings are the same to rounding."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import shootax as sx

LOOPS = """
import jax, jax.numpy as jnp
def loop(n, x):
    return jax.lax.fori_loop(0, n, lambda i, x: jnp.cumsum(jnp.tanh(x)) + jnp.roll(x, 1), x)
for size in (64, 4_000_000):
    text = jax.jit(loop).lower(3, jnp.ones(size)).compile().as_text()
    print("xla_cpu_small_call" in text)
"""
TRAINING = """
import json, jax, numpy as np
x = np.linspace(-1, 1, 40)[:, None]
net = sx.Net(sx.UpDown(1, 4), particles=3, integrator=sx.RK4(3), key=jax.random.key(0))
print(json.dumps(sx.fit(net, x, x**2, epochs=3).history["objective"].tolist()))
"""


def in_a_process(program, **variables):
    source = pathlib.Path(sx.__file__).parents[1]
    env = {**os.environ, "PYTHONPATH": str(source), "XLA_FLAGS": "", **variables}
    command = [sys.executable, "-c", "import shootax as sx\n" + program]
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=300)


def test_small_loops_are_one_function_and_large_ones_are_not():
    done = in_a_process("sx.extend.use_whole_loops()" + LOOPS)
    assert done.stdout.split() == ["True", "False"], done.stderr[-2000:]


@pytest.mark.slow
def test_the_environment_asks_for_it_and_flags_of_the_user_are_kept():
    asked = {"SHOOTAX_WHOLE_LOOPS": "1"}
    assert in_a_process(LOOPS, **asked).stdout.split()[0] == "True"
    own = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=1"
    assert in_a_process(LOOPS, **asked, XLA_FLAGS=own).stdout.split()[0] == "False"
    other = "--xla_cpu_multi_thread_eigen=false"
    done = in_a_process("import os; print(os.environ['XLA_FLAGS'])", **asked, XLA_FLAGS=other)
    assert done.stdout.startswith(other + " --xla_backend_extra_options=")
    assert "SHOOTAX_WHOLE_LOOPS must be 1" in in_a_process("", SHOOTAX_WHOLE_LOOPS="yes").stderr


@pytest.mark.slow
def test_trainings_are_the_same_to_rounding():
    double = {"JAX_ENABLE_X64": "1"}
    plain, whole = (
        json.loads(in_a_process(TRAINING, **double, **more).stdout)
        for more in ({}, {"SHOOTAX_WHOLE_LOOPS": "1"})
    )
    assert whole == pytest.approx(plain, rel=1e-10)


def test_it_is_refused_once_jax_has_started():
    done = in_a_process("import jax; jax.devices(); sx.extend.use_whole_loops()")
    assert "JAX has started, and reads this option only when it starts" in done.stderr


@pytest.mark.slow
def test_other_options_of_the_backend_stay():
    plain, extra = "--xla_cpu_enable_fast_math=false", "--xla_backend_extra_options=one=1"
    variables = {"SHOOTAX_WHOLE_LOOPS": "1", "XLA_FLAGS": f"{extra} {plain}"}
    done = in_a_process("import os; print(os.environ['XLA_FLAGS'])", **variables)
    ours = "xla_cpu_small_while_loop_byte_threshold=10000000"
    assert done.stdout.split() == [plain, f"{extra},{ours}"]
