"""Every form that applies to a random field, against the automatic one."""

import collections
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from fields.random_fields import SIZE, random_field
from shootax.fields.host import run
from shootax.fields.programs import forward_differentiable
from shootax.maximisers import ClosedForm
from shootax.systems import Moment, ParticleState, shooting_system
from shootax.systems.inferred import InferredSystem

MOMENT = Moment(0.0, 0.0, -1, -1)
PARTICLES, ROWS = 3, 2


def on_host(function, *given):
    """Traced, and run by NumPy: thousands of programs need not be compiled."""
    return run(jax.make_jaxpr(function)(*given), given)


def evaluate(field, penalty, form, q, p, z):
    """Velocities and forces of one form, and the penalty of its θ*."""
    system = shooting_system(field, penalty, ClosedForm(), ParticleState(q, p), ROWS, form)
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


def check(seed, gradients):
    """Which forms were compared. Raises where one is wrong."""
    recipe, rng = random_field(seed), np.random.default_rng([seed, 1])
    field = recipe.field
    assert sx.linearity(field) == "linear", (seed, recipe.made_of)
    low, high = (0.1, 0.9) if recipe.positive else (-1.5, 1.5)
    draw = functools.partial(rng.uniform, low, high)
    q, z = draw((PARTICLES, SIZE)), draw((ROWS, SIZE))
    p = rng.normal(size=q.shape)
    bars = [rng.normal(size=a.shape) for a in (q, p, z)]
    weights = {name: rng.uniform(0.5, 2) for name in field.theta}
    penalty = sx.Quadratic(weights)
    inferred = sx.infer_layout(field) is not None
    forms = ["linear", *(["dense", "kernel"] if inferred else ["auto"])]
    # Numbers rounded to single or half precision have derivatives of that precision.
    rounded = {"float16", "float32", "cast"}.intersection(recipe.made_of)
    tolerance = 1e-2 if "float16" in rounded else 1e-5 if rounded else 1e-10
    at = {form: functools.partial(evaluate, field, penalty, form) for form in (*forms, "automatic")}
    wanted = on_host(at["automatic"], q, p, z)
    for form in forms:
        gap = worst(on_host(at[form], q, p, z), wanted)
        assert gap < tolerance, (seed, form, gap, recipe.made_of)
    if gradients:
        backward = forms if forward_differentiable(field) else ["auto"]
        slopes = on_host(gradient(at["automatic"], bars), q, p, z)
        for form in backward:
            gap = worst(on_host(gradient(at[form], bars), q, p, z), slopes)
            assert gap < tolerance, (seed, form, "gradient", gap, recipe.made_of)
    return "inferred" if inferred else "linear" if forward_differentiable(field) else "automatic"


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_random_fields(first):
    found = collections.Counter(check(seed, seed % 5 == 0) for seed in range(first, first + 10))
    assert found["inferred"] >= 2


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 2000, 100))
def test_two_thousand_random_fields(first):
    found = collections.Counter(check(seed, seed % 10 == 0) for seed in range(first, first + 100))
    assert found["inferred"] >= 30
