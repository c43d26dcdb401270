"""How a net behaves among other JAX programs: transfers, keys, foreign arrays, forks."""

import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import KEY, usually
from shootax import _fork

FIELD = sx.UpDown(2, 3, activation="tanh")
NET = sx.Net(FIELD, particles=3, integrator=sx.RK4(2), key=KEY)
X = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])


def copied(call, monkeypatch) -> list[tuple[int, ...]]:
    """The shapes of the arrays of JAX that a call makes NumPy arrays of."""
    shapes, original = [], np.asarray

    def spy(values, *args, **kwargs):
        if isinstance(values, jax.Array):
            shapes.append(values.shape)
        return original(values, *args, **kwargs)

    monkeypatch.setattr(np, "asarray", spy)
    jax.block_until_ready(call())
    return shapes


def test_a_call_copies_no_array_to_the_host(monkeypatch):
    x = jnp.asarray(X)
    NET(x)
    assert copied(lambda: NET(x), monkeypatch) == []
    with jax.transfer_guard_device_to_host("disallow"):
        NET(x)


def test_nan_in_nan_out_on_the_device():
    x = jnp.asarray(X).at[1, 0].set(jnp.nan)
    out = np.asarray(NET(x))
    assert np.isnan(out[1]).all()
    np.testing.assert_array_equal(out[[0, 2]], np.asarray(NET(X))[[0, 2]])


def test_old_keys_are_keys():
    old, new = jax.random.PRNGKey(3), jax.random.key(3)
    for key in (old, np.asarray(old)):
        got = sx.Net(FIELD, particles=3, key=key)
        want = sx.Net(FIELD, particles=3, key=new)
        np.testing.assert_array_equal(got.control.ensemble.q, want.control.ensemble.q)


def test_tensors_of_torch_are_arrays():
    torch = pytest.importorskip("torch")
    np.testing.assert_array_equal(NET(torch.asarray(X)), NET(X))
    with pytest.raises(ValueError, match="Tensor that NumPy cannot turn into one"):
        NET(torch.asarray(X).requires_grad_())


PROGRAM = """
    import os, signal, sys
    import numpy as np
    import jax
    import shootax as sx

    net = sx.Net(sx.Affine(1), particles=2, integrator=sx.Euler(1), key=jax.random.key(0))
    x = np.ones((3, 1))
    jax.block_until_ready(net(x))
    calls = {
        "call": lambda: net(x),
        "predict": lambda: sx.predict(net, x),
        "fit": lambda: sx.fit(net, x, x, epochs=1),
        "fit_many": lambda: sx.fit_many([net], x, x, epochs=1),
    }
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a child that hangs must not stay
        try:
            calls[sys.argv[1]]()
        except RuntimeError as error:
            os._exit(7 if "spawn" in str(error) else 8)
        os._exit(9)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot fork")
@pytest.mark.parametrize("call", usually(["call", "predict", "fit", "fit_many"], "fit"))
def test_a_fork_after_jax_is_an_error_and_not_a_hang(call):
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(PROGRAM), call]
    assert subprocess.run(command, timeout=120).returncode == 7


def test_a_fork_before_jax_is_fine(monkeypatch):
    monkeypatch.setattr(_fork, "_USED", False)
    monkeypatch.setattr(_fork, "_BROKEN", False)
    _fork._in_child()
    _fork.refuse_after_fork()
    _fork._before()  # here JAX has been used
    _fork._in_child()
    with pytest.raises(RuntimeError, match="loky"):
        _fork.refuse_after_fork()


def test_what_is_seldom_needed_is_imported_when_first_used():
    """Diffrax and Optimistix take as long to import as half of JAX."""
    program = (
        "import sys, shootax; print([m for m in ('diffrax', 'optimistix', 'lineax', 'pandas', "
    )
    program += "'sklearn', 'matplotlib', 'plotly', 'rich') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
