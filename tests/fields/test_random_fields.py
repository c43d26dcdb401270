"""Every form that applies to a random field, against the automatic one."""

import collections
import functools

import numpy as np
import pytest
from forms import evaluate, gradient, on_host, worst
from random_fields import SIZE, random_field

import shootax as sx
from cases import usually
from shootax._fields.programs import forward_differentiable

PARTICLES, ROWS = 3, 2


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
    inferred = sx.extend.infer_layout(field) is not None
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


@pytest.mark.parametrize("first", usually(range(0, 40, 10), 0))
def test_random_fields(first):
    found = collections.Counter(check(seed, seed % 5 == 0) for seed in range(first, first + 10))
    assert found["inferred"] >= 2


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 2000, 100))
def test_two_thousand_random_fields(first):
    found = collections.Counter(check(seed, seed % 10 == 0) for seed in range(first, first + 100))
    print(f"fields {first} to {first + 99}: {dict(found)}")  # shown by `pytest -s`
    assert found["inferred"] >= 30
