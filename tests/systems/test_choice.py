"""Which form is chosen, where measurements leave no doubt which one is faster."""

import json

import jax
import jax.numpy as jnp
import pytest

import shootax as sx
from benchmarks.speed.costs import Measurement, fitted, write_costs
from shootax._compile import default_platform
from shootax._systems import (
    DenseSystem,
    KernelSystem,
    carried,
    cheaper,
    form_costs,
    operations,
)
from shootax._systems.sharded import _apart


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


def test_costs_are_those_of_the_platform():
    """An accelerator pays for more operations and for memory, so it stays dense for longer."""
    field = sx.UpDown(1, 64)
    assert cheaper(field, 15, 50, "cpu") == "kernel"
    assert cheaper(field, 15, 50, "gpu") == cheaper(field, 15, 50, "tpu") == "dense"
    # 10,000 hidden units and few particles: products of the dense form outweigh everything else.
    assert {cheaper(sx.UpDown(100, 100), 64, 4096, name) for name in ("cpu", "gpu", "tpu")} == {
        "kernel"
    }
    assert form_costs("cpu").measured
    assert not form_costs("gpu").measured
    assert form_costs("neuron") == form_costs("gpu")
    assert form_costs() == form_costs(default_platform())


def test_costs_can_be_replaced(tmp_path, monkeypatch):
    path = tmp_path / "costs.json"
    path.write_text(json.dumps({"gpu": {"kernel_overhead": 0, "gram_element": 0}}))
    monkeypatch.setenv("SHOOTAX_FORM_COSTS", str(path))
    field = sx.UpDown(1, 64)
    assert cheaper(field, 15, 50, "gpu") == "kernel"
    assert cheaper(field, 15, 50, "tpu") == "dense"  # not named in the file


@pytest.mark.parametrize(
    "text",
    ["[1]", "{", '{"gpu": {}}', '{"gpu": {"kernel_overhead": -1, "gram_element": 1}}', None],
)
def test_damaged_costs_are_refused(tmp_path, monkeypatch, text):
    path = tmp_path / "costs.json"
    if text is not None:
        path.write_text(text)
    monkeypatch.setenv("SHOOTAX_FORM_COSTS", str(path))
    with pytest.raises(ValueError, match="is not a table of costs"):
        cheaper(sx.UpDown(1, 4), 2, 2)


def test_fit_finds_numbers_that_choose_as_the_times_do(tmp_path, monkeypatch):
    """Times made of known numbers: the fit chooses the faster form for every shape."""
    overhead, element = 3e6, 200.0
    shapes = [
        (d, a, k, b) for d in (1, 8) for a in (8, 64, 256) for k in (4, 64, 256) for b in (32, 512)
    ]
    measured = []
    for dim, inflation, particles, batch in shapes:
        counts = operations(sx.UpDown(dim, inflation), particles, batch)
        gram = element * particles * (batch + 2 * particles)
        times = (counts["dense"], counts["kernel"] + gram + overhead)
        measured.append(Measurement((dim, inflation, particles, batch), *times))
    assert len({each.dense < each.kernel for each in measured}) == 2
    found = fitted(measured)
    assert found["slower_than_best"] < 0.05
    records = [
        {
            "part": "forms",
            "shape": each.shape,
            "chosen": "dense",
            "rival": "kernel",
            "ours_ms": each.dense,
            "rival_ms": each.kernel,
            "platform": "gpu",
            "device": "made up",
        }
        for each in measured
    ]
    path = tmp_path / "costs.json"
    write_costs(records, path)
    monkeypatch.setenv("SHOOTAX_FORM_COSTS", str(path))
    assert form_costs("gpu").measured
    wrong = 0
    for (dim, inflation, particles, batch), dense, kernel in measured:
        faster = "dense" if dense <= kernel else "kernel"
        wrong += cheaper(sx.UpDown(dim, inflation), particles, batch, "gpu") != faster
    assert wrong <= 2
    with pytest.raises(ValueError, match="Add --parts forms"):
        write_costs([{"part": "race"}], path)


def test_columns_are_taken_apart_as_wide_as_they_were():
    parts = [jnp.ones((2, 3)), jnp.zeros((2, 1)), 2 * jnp.ones((2, 2))]
    apart = _apart(jnp.concatenate(parts, axis=1), parts)
    assert all(bool(jnp.array_equal(a, b)) for a, b in zip(apart, parts, strict=True))
    assert [part.shape for part in apart] == [part.shape for part in parts]


def test_dear_gram_matrices_speak_against_carried_particles(monkeypatch):
    field = sx.UpDown(2, 8)
    costs = form_costs()
    answers = []
    for factor in (1e-9, 1e9):
        dear = costs._replace(gram_element=factor)
        monkeypatch.setattr(carried, "form_costs", lambda dear=dear: dear)
        answers.append(carried.carried_pays(field, 1))
    assert answers == [True, False]
