"""Many devices train as one does. Eight virtual ones need a process of their own: `on_devices.py`."""

import json
import os
import pathlib
import subprocess
import sys

import jax
import numpy as np
import pytest

import shootax as sx

HERE = pathlib.Path(__file__).parent


def on_devices(*checks):
    """What `on_devices.py` finds."""
    source = pathlib.Path(sx.__file__).parents[1]
    env = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, str(HERE / "on_devices.py"), *checks]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_step_has_one_sum_of_the_size_of_the_parameters():
    found = on_devices("program_text", "refused")
    text = found["program_text"]
    assert text["reduces"] == [f"f64[{text['parameters'] + 1}]{{0}}"]  # the loss is the last entry
    assert text["others"] == []
    assert "Dopri5 chooses its steps by the whole batch" in found["refused"]["adaptive"]
    assert "got RK4(" in found["refused"]["reversed"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "check", ["batches", "formulations", "particles", "models", "many", "estimators", "streams"]
)
def test_trainings_on_eight_devices_equal_those_on_one(check):
    found = on_devices(check)[check]
    assert max(found.values()) < 1e-5, found
    exact = {name: gap for name, gap in found.items() if name != "reversed"}
    assert max(exact.values()) < 1e-9, found


@pytest.mark.slow
def test_a_device_needs_an_eighth_of_the_memory():
    for name, (one, eight) in on_devices("memory")["memory"].items():
        assert eight < one / 6, name  # what does not depend on the batch is on every device


def test_one_device_is_a_mesh_too(standard_promotion):
    x = np.linspace(-1, 1, 7)[:, None]
    net = sx.Net(sx.UpDown(dim=1, inflation=2), particles=2, key=jax.random.key(0))
    mesh = jax.make_mesh((1,), ("data",))
    plain, meshed = (sx.fit(net, x, x, epochs=2, batch_size=4, mesh=on) for on in (None, mesh))
    np.testing.assert_allclose(plain.history["objective"], meshed.history["objective"], rtol=1e-12)


@pytest.mark.parametrize("mesh", ["all", 2, ("data",)])
def test_what_is_no_mesh_is_refused(mesh):
    x = np.ones((4, 1))
    net = sx.Net(sx.UpDown(dim=1, inflation=2), particles=2, key=jax.random.key(0))
    with pytest.raises(ValueError, match='mesh must be "auto" for all devices, or a'):
        sx.fit(net, x, x, epochs=1, mesh=mesh)


def test_axes_of_other_names_are_refused():
    x = np.ones((4, 1))
    net = sx.Net(sx.UpDown(dim=1, inflation=2), particles=2, key=jax.random.key(0))
    mesh = jax.make_mesh((1, 1), ("data", "model"))
    with pytest.raises(ValueError, match=r"got axes \('data', 'model'\)"):
        sx.fit(net, x, x, epochs=1, mesh=mesh)
