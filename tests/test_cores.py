"""Cores as devices. They are chosen before JAX starts, so each check has a process of its own."""

import os
import pathlib
import subprocess
import sys

import jax
import pytest

import shootax as sx
from shootax._train import compiler_options as options_of_trainings
from shootax._train.problem import medium_products, pays_shared

TRAINING = """
import jax, numpy as np
import shootax as sx

jax.config.update("jax_enable_x64", True)
CHOOSE
x = np.random.default_rng(0).uniform(-1, 1, (150, 2))
net = sx.Net(sx.UpDown(dim=2, inflation=100), particles=3, integrator=sx.RK4(2), key=jax.random.key(0))
one = jax.sharding.Mesh(jax.devices()[:1], ("data",))
shared, alone = (sx.fit(net, x, x**2, epochs=2, batch_size=100, mesh=on) for on in (None, one))
np.testing.assert_allclose(shared.history["objective"], alone.history["objective"], rtol=1e-9)
used = {sharing.devices for sharing in SHARINGS}
print(jax.device_count(), sorted(used))
"""

WATCH = """
import shootax._train.engine as engine
SHARINGS, usual = [], engine.program
engine.program = lambda *given: SHARINGS.append(given[2]) or usual(*given)
"""


def in_a_process(code, **variables):
    source = pathlib.Path(sx.__file__).parents[1]
    env = {**os.environ, "PYTHONPATH": str(source), **variables}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=300
    )


def test_a_training_shares_its_steps_between_the_cores_that_were_chosen():
    done = in_a_process(TRAINING.replace("CHOOSE", "assert sx.use_cores(2) == 2" + WATCH))
    assert done.stdout.split() == ["2", "[1,", "2]"], done.stdout + done.stderr[-2000:]


def test_the_environment_chooses_as_well():
    done = in_a_process("import shootax, jax; print(jax.device_count())", SHOOTAX_CORES="3")
    assert done.stdout.split() == ["3"], done.stderr[-2000:]


def test_it_is_too_late_when_jax_has_started():
    done = in_a_process("import jax, shootax; jax.devices(); shootax.use_cores(7)")
    assert "JAX has already started with 1 CPU device(s), but 7 were requested" in done.stderr


@pytest.mark.parametrize("wanted", ["two", "0", "-1"])
def test_a_wrong_number_in_the_environment_is_refused(wanted, monkeypatch):
    from shootax import _cores

    monkeypatch.setenv("SHOOTAX_CORES", wanted)
    with pytest.raises(ValueError, match="SHOOTAX_CORES must be a number of cores"):
        _cores.use_those_of_the_environment()


def test_a_wrong_number_is_refused():
    with pytest.raises(ValueError, match="number"):
        sx.use_cores(0)


@pytest.mark.parametrize(
    ("particles", "batch", "shared"),
    [
        (100, 25, False),  # particles take most of a step, and threads share their products
        (100, 10_000, True),
        (5, 1_000, True),
        (5, 1, False),  # too short to be shared
    ],
)
def test_cores_share_the_batch_unless_particles_take_most_of_a_step(particles, batch, shared):
    field = sx.UpDown(dim=50, inflation=20)
    net = sx.Net(field, particles=particles, key=jax.random.key(0))
    assert pays_shared(net, batch) == shared


def test_products_of_medium_size_have_options_of_their_own(monkeypatch):
    """Those of the digits at the paper's size; smaller and larger ones keep XLA's defaults."""

    def net(dim, inflation, particles):
        return sx.Net(sx.UpDown(dim, inflation), particles=particles, key=jax.random.key(0))

    medium = net(20, 10, 100)
    assert medium_products(medium, 25)
    assert not pays_shared(medium, 25)
    assert not medium_products(net(50, 20, 100), 25)
    assert not medium_products(net(20, 10, 10), 25)
    assert not medium_products(medium, 10_000)

    options = options_of_trainings.compiler_options
    for cores, expected in ((1, None), (2, options_of_trainings._MEDIUM)):
        monkeypatch.setattr(options_of_trainings, "available", lambda cores=cores: cores)
        assert options(10**6, medium=True) == expected
        assert options(10**6) is None
        assert options(1000) == options_of_trainings._OPTIONS
