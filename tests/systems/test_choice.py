"""Which form is chosen, where measurements leave no doubt which one is faster."""

import jax
import pytest

import shootax as sx
from shootax._systems import DenseSystem, KernelSystem, cheaper, operations


@pytest.mark.parametrize(
    ("dim", "inflation", "particles", "rows", "form"),
    [
        (1, 8, 5, 50, "dense"),  # fewer operations by kernels, but more and smaller ones
        (1, 16, 15, 50, "dense"),
        (1, 32, 15, 50, "kernel"),
        (2, 16, 50, 100, "dense"),
        (1, 64, 5, 50, "kernel"),
        (1, 64, 15, 50, "kernel"),
        (1, 128, 15, 50, "kernel"),
        (2, 128, 25, 100, "kernel"),
        (20, 10, 50, 25, "kernel"),
        (20, 10, 100, 25, "kernel"),
        (20, 10, 200, 25, "dense"),
        (50, 20, 100, 25, "kernel"),
    ],
)
def test_the_faster_form_is_chosen(dim, inflation, particles, rows, form):
    field = sx.UpDown(dim, inflation)
    assert cheaper(field, particles, rows) == form
    control = sx.Particles.draw(field, particles, key=jax.random.key(0))
    kind = {"dense": DenseSystem, "kernel": KernelSystem}[form]
    assert isinstance(control.system(field, rows), kind)


def test_overhead_does_not_matter_for_large_problems():
    field = sx.UpDown(50, 20)
    counts = operations(field, 100, 10_000)
    assert cheaper(field, 100, 10_000) == min(counts, key=lambda form: counts[form])
