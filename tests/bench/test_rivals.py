"""The rivals solve our own problem: same losses, step after step."""

import numpy as np
import pytest

from benchmarks.speed import ours, rival_diffrax, rival_torch
from benchmarks.speed.cases import CASES, Case, start
from benchmarks.speed.rivals import check_agreement

pytestmark = pytest.mark.usefixtures("standard_promotion")

TINY = [
    Case("end", dim=1, inflation=3, particles=4, batch=5, T=1.0, steps=3),
    Case("nodes", dim=2, inflation=2, particles=3, batch=4, T=0.7, steps=2, nodes=True),
]


def losses(run, steps: int = 3) -> list[float]:
    return [run() for _ in range(steps)]


@pytest.mark.slow
def test_diffrax_has_our_losses():
    case = TINY[1]  # the other kind is compared when the command is tested
    begin = start(case, dtype=np.float64)
    mine = losses(ours.runner(case, begin))
    theirs = losses(rival_diffrax.runner(case, begin))
    np.testing.assert_allclose(theirs, mine, rtol=1e-10)
    assert mine[2] < mine[0], "Adam must lower the loss"


@pytest.mark.parametrize("case", TINY, ids=lambda case: case.name)
def test_torchdiffeq_has_our_losses(case: Case):
    pytest.importorskip("torch")
    pytest.importorskip("torchdiffeq")
    begin = start(case, dtype=np.float64)
    mine = losses(ours.runner(case, begin))
    np.testing.assert_allclose(losses(rival_torch.runner(case, begin)), mine, rtol=1e-10)


@pytest.mark.slow
def test_every_form_has_the_same_losses():
    begin, plain = start(TINY[1], dtype=np.float64), ours.plain_field(TINY[1])
    mine = losses(ours.runner(TINY[1], begin), 2)
    for form, field in (("kernel", None), ("automatic", plain), ("auto", plain)):
        other = losses(ours.runner(TINY[1], begin, form=form, field=field), 2)
        np.testing.assert_allclose(other, mine, rtol=1e-10)


def test_a_rival_that_differs_is_refused():
    with pytest.raises(RuntimeError, match=r"end: the loss of diffrax is 1\.01, ours is 1"):
        check_agreement(TINY[0], {"ours": 1.0, "diffrax": 1.01})
    with pytest.raises(RuntimeError, match="torchdiffeq is nan"):
        check_agreement(TINY[0], {"ours": 1.0, "torchdiffeq": float("nan")})
    check_agreement(TINY[0], {"ours": 1.0, "diffrax": 1 + 1e-5})


def test_the_cases_are_those_of_the_paper():
    sizes = {n: (c.dim, c.inflation, c.particles, c.batch, c.steps) for n, c in CASES.items()}
    assert sizes == {
        "regression-16": (1, 16, 15, 50, 10),
        "regression-64": (1, 64, 15, 50, 10),
        "regression-128": (1, 128, 15, 50, 10),
        "spiral-32": (2, 32, 25, 100, 5),
        "spiral-128": (2, 128, 25, 100, 5),
        "rotating-mnist": (20, 10, 100, 25, 15),
        "bouncing-balls": (50, 20, 100, 25, 19),
    }
