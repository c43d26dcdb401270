"""Programs for accelerators that are not here: every form and field is lowered for CUDA and TPUs.

Lowering fails, or the program shows it, where something is needed that only the CPU has: a callback
to Python, or a routine of LAPACK.
"""

import os
import pathlib
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import shootax as sx
from cases import Pendulum, Rotor, usually
from shootax._train.compiler_options import compiler_options

PLATFORMS = ("cuda", "tpu")
KEY = jax.random.key(0)
FORMS = ("dense", "kernel", "linear", "automatic")
FIELDS = {
    "affine": lambda: sx.Affine(2),
    "updown": lambda: sx.UpDown(2, 3),
    "damped": lambda: sx.DampedUpDown(2, 3),
    "general": lambda: sx.GeneralUpDown(2, 3),
    "periodic": lambda: sx.Periodic(2),
    "sparse": lambda: sx.BlockSparse((1, 2)),
    "hidden-layer": lambda: sx.SingleHiddenLayer(2, 3),
    "convolution": lambda: sx.ConvUpDown(1, (4, 4)),
    "rkhs": lambda: sx.RKHS(2),
    "own": Rotor,
    "own-tree": Pendulum,
}
INTEGRATORS = {
    "checkpointed": sx.RK4(2, sx.Checkpointed()),
    "midpoint": sx.ImplicitMidpoint(2),
    "reversed": sx.SymplecticEuler(2, sx.Reversed()),
}


def loss(net, x, y):
    away = jax.tree.map(lambda a, b: jnp.mean((a - b) ** 2), net(x), y)
    return 100 * jax.tree.reduce(jnp.add, away) + sx.penalty(net)


def check_lowering(net, rows=4):
    """The training step and inference, without a callback and without routines of the CPU."""
    x = jax.tree.map(lambda leaf: jnp.ones((rows, *leaf.shape)), net.field.visible_state)
    step = sx.TrainingStep(net, loss)
    trained = jax.export.export(jax.jit(step.pure), platforms=PLATFORMS)(step.init(), x, x)
    arrays, rest = eqx.partition(net, eqx.is_array)
    use = jax.jit(lambda arrays, x: eqx.combine(arrays, rest)(x))
    used = jax.export.export(use, platforms=PLATFORMS)(arrays, x)
    for exported in (trained, used):
        assert exported.platforms == PLATFORMS
        program = exported.mlir_module()
        assert "callback" not in program
        assert "lapack" not in program


@pytest.mark.parametrize("form", usually(FORMS, "dense", "kernel"))
def test_every_form(form, standard_promotion):
    field = sx.UpDown(2, 3)
    control = sx.Particles.draw(field, 3, key=KEY, form=form)
    check_lowering(sx.Net(field, control, integrator=sx.RK4(2), key=KEY))


@pytest.mark.slow
@pytest.mark.parametrize("name", FIELDS)
def test_every_field(name, standard_promotion):
    check_lowering(sx.Net(FIELDS[name](), particles=3, integrator=sx.RK4(2), key=KEY))


@pytest.mark.slow
@pytest.mark.parametrize("name", INTEGRATORS)
def test_every_integrator(name, standard_promotion):
    check_lowering(sx.Net(sx.UpDown(2, 3), particles=3, integrator=INTEGRATORS[name], key=KEY))


ADAPTIVE = """
import sys
sys.path.insert(0, {folder!r})
from test_lowering import KEY, check_lowering
import shootax as sx
check_lowering(sx.Net(sx.UpDown(2, 3), particles=3, integrator=sx.Dopri5(), key=KEY))
print("lowered")
"""


@pytest.mark.slow
def test_adaptive_steps():
    """Diffrax calls Python to raise an error when it runs out of steps, and JAX lowers such a call where
    the device is alone. With Equinox's `EQX_ON_ERROR=nan`, which it reads on import, there is none."""
    here = pathlib.Path(__file__).parent
    paths = [str(here.parent), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-c", ADAPTIVE.format(folder=str(here))],
        env={**os.environ, "EQX_ON_ERROR": "nan", "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "lowered\n", done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", sx.FORMULATIONS)
def test_every_formulation(kind, standard_promotion):
    field = sx.UpDown(2, 3)
    control = sx.formulation(kind, field, particles=3, key=KEY)
    check_lowering(sx.Net(field, control, integrator=sx.RK4(2), key=KEY))


@pytest.mark.slow
def test_maximisers_by_iteration(standard_promotion):
    """Penalties without a closed form of θ*."""
    field = sx.SingleHiddenLayer(2, 3)
    control = sx.Particles.draw(field, 3, penalty=sx.Barron(), key=KEY)
    check_lowering(sx.Net(field, control, integrator=sx.RK4(2), key=KEY))


def test_options_of_the_compiler_are_for_the_cpu_alone(monkeypatch):
    """With another default backend, arrays on the CPU get none of its options."""
    array = jnp.ones(3)
    assert compiler_options(10, array) is not None
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert compiler_options(10) is None
    assert compiler_options(10, array) is None
