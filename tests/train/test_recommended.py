"""What `fit` does where no optimiser is given."""

import jax
import numpy as np
import pytest

import shootax as sx
from shootax.extend import recommended

KEY = jax.random.key(0)
UPDOWN = sx.UpDown(dim=1, inflation=2)


def net(field=UPDOWN, **options):
    options = {"particles": 4, **options}
    return sx.Net(field, integrator=sx.Euler(2), key=KEY, **options)


def test_a_usual_net():
    found = recommended(net(), epochs=50)
    assert (found.learning_rate, found.clip) == (0.05, 10.0)
    assert found.schedule == sx.Cosine(warmup=0.1)
    assert found.lr_scale == {"momenta": 1 / 4, "lift": 3.0}
    assert found.freeze == {"visible-positions": 5}
    assert recommended(net(), epochs=9).freeze is None


def test_modules_of_other_kinds_learn_at_their_usual_rate():
    import equinox as eqx

    readout = eqx.nn.Linear(3, 1, key=KEY)
    found = recommended(net(lift="mlp", readout=readout))
    assert found.lr_scale == {"momenta": 1 / 4, "lift": 0.2, "readout": 0.2}
    assert "readout" not in recommended(net(readout=2)).lr_scale


@pytest.mark.parametrize(
    "model",
    [
        net(control=sx.formulation("static-direct", UPDOWN, key=KEY), particles=None),
        net(sx.Affine(dim=2)),
        net(sx.ConvUpDown(1, (3, 3), inflation=2)),
        sx.Chain(net(), net()),
    ],
    ids=["no particles", "no hidden state", "images", "a chain"],
)
def test_other_models_have_the_plain_optimiser(model):
    assert recommended(model) == sx.Optimizer()


@pytest.mark.usefixtures("standard_promotion")
def test_fit_takes_it():
    x = np.linspace(-1, 1, 20)[:, None]
    chosen = sx.fit(net(), x, x**2, epochs=3)
    given = sx.fit(net(), x, x**2, epochs=3, optimizer=recommended(net(), 3))
    plain = sx.fit(net(), x, x**2, epochs=3, optimizer=sx.Optimizer())
    np.testing.assert_array_equal(chosen.history["objective"], given.history["objective"])
    assert chosen.history["objective"][-1] != plain.history["objective"][-1]


def test_momenta_are_smaller_where_more_are_summed():
    assert sx.UpDown(1, 16).default_momentum(15) == 0.3
    assert sx.UpDown(1, 16).default_momentum(100) == pytest.approx(0.2)
    assert sx.UpDown(4, 4).default_momentum(25) == pytest.approx(0.2)
    assert sx.UpDown(1, 64).default_momentum(100) == pytest.approx(0.05)
    drawn = sx.Ensemble.draw(sx.UpDown(1, 64), 100, key=KEY)
    assert float(np.std(np.asarray(drawn.p))) == pytest.approx(0.05, rel=0.05)


@pytest.mark.slow
@pytest.mark.usefixtures("standard_promotion")
def test_the_first_fit_of_a_newcomer_is_good_ten_times_out_of_ten():
    """The README's first block, from ten seeds: what it promises is near 3.0 and 2.5."""
    x = np.random.default_rng(0).uniform(-1.5, 1.5, (500, 1))
    y = x**2 + 3 / (1 + x**2)
    for seed in range(10):
        start = sx.Net(sx.UpDown(dim=1, inflation=16), particles=15, key=jax.random.key(seed))
        found = sx.fit(start, x, y, epochs=100).net(np.array([[0.0], [1.0]]))
        np.testing.assert_allclose(found[:, 0], [3.0, 2.5], atol=0.05)
