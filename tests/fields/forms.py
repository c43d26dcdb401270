"""One evaluation of the equations of shooting, in any form, without compiling anything."""

import jax
import jax.numpy as jnp
import numpy as np

from shootax._fields.host import run
from shootax._maximisers import ClosedForm
from shootax._systems import ParticleState, TimePoint, shooting_system
from shootax._systems.inferred import InferredSystem

MOMENT = TimePoint(0.0, 0.0, -1, -1)


def on_host(function, *given):
    """Traced, and run by NumPy: thousands of programs need not be compiled."""
    return run(jax.make_jaxpr(function)(*given), given)


def evaluate(field, penalty, form, q, p, z):
    """Velocities and forces of one form, and the penalty of its θ*."""
    system = shooting_system(field, penalty, ClosedForm(), ParticleState(q, p), len(z), form)
    y = system.join(system.start(), z)
    particles, dz = system.split(system(MOMENT, y))
    # Of the blocks, where a layout was inferred: the weights given to users are those of the field.
    inner = system.blocks if isinstance(system, InferredSystem) else system
    cost = inner.penalty(inner.theta(MOMENT, y))
    return particles.q, particles.p, dz, cost


def gradient(function, bars):
    """The training gradient of one evaluation, for cotangents of velocities and forces."""

    def objective(q, p, z):
        out = function(q, p, z)[:3]
        return sum(jnp.sum(a * b) for a, b in zip(out, bars, strict=True))

    return jax.grad(objective, argnums=(0, 1, 2))


def worst(got, wanted):
    """The largest difference relative to the size of what is wanted."""
    out = 0.0
    for a, b in zip(got, wanted, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert np.isfinite(b).all()
        gap = np.abs(a - b).max() / (np.abs(b).max() + 1e-12)
        out = max(out, float(gap) if np.isfinite(gap) else np.inf)
    return out


def assert_forms_agree(field, forms, penalty, q, p, z, tolerance=1e-10):
    """Velocities, forces, penalty and training gradient against those of the automatic form."""
    rng = np.random.default_rng(3)
    bars = [rng.normal(size=a.shape) for a in (q, p, z)]
    out = {}
    for form in ("automatic", *forms):

        def function(*given, form=form):
            return evaluate(field, penalty, form, *given)

        out[form] = on_host(function, q, p, z) + on_host(gradient(function, bars), q, p, z)
    for form in forms:
        assert worst(out[form], out["automatic"]) < tolerance, form


def points(size, particles=3, rows=2, low=-1.5, high=1.5, seed=0):
    """Positions and momenta of particles, and rows of data."""
    rng = np.random.default_rng(seed)
    q, z = (rng.uniform(low, high, (count, size)) for count in (particles, rows))
    return q, rng.normal(size=q.shape), z
