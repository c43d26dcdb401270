"""Training on streams of batches."""

import types

import jax
import numpy as np
import pytest

import shootax as sx
from shootax._train.streaming import _draw
from shootax._train.streams import Stream

pytestmark = pytest.mark.usefixtures("standard_promotion")

X = np.random.default_rng(0).uniform(-1, 1, (20, 1))
OPTIONS = {"epochs": 3, "progress": False}


def make_net():
    return sx.Net(sx.UpDown(dim=1, inflation=2), particles=2, key=jax.random.key(0))


NET = make_net()


class Loader:
    """Batches of 8, 8 and 4 samples, again and again."""

    def __init__(self, wrap=np.asarray):
        self.wrap, self.drawn = wrap, 0

    def __len__(self):
        return 3

    def __iter__(self):
        for start in range(0, 20, 8):
            self.drawn += 1
            x = self.wrap(X[start : start + 8])
            yield x, x**2


class Stateful:
    """The same, but it can say where it stands, and does not go through what it passed."""

    def __init__(self, stop=None):
        self.at, self.drawn, self.stop = 0, 0, stop

    def __iter__(self):
        return self

    def __next__(self):
        if self.stop is not None and self.drawn == self.stop:
            raise RuntimeError("the source is gone")
        start = 8 * (self.at % 3)
        self.at += 1
        self.drawn += 1
        return X[start : start + 8], X[start : start + 8] ** 2

    def get_state(self):
        return {"at": self.at, "noise": np.arange(3, dtype=np.uint8), "raw": b"\x00\xff"}

    def set_state(self, state):
        assert state["raw"] == b"\x00\xff"
        assert state["noise"].tolist() == [0, 1, 2]
        self.at = state["at"]


def by_hand(epochs=3):
    """The same training, step by step."""

    def objective(net, x, y, real):
        errors = jax.numpy.sum(jax.numpy.mean((net(x) - y) ** 2, axis=1) * real)
        return 100 * errors / jax.numpy.sum(real) + sx.penalty(net)

    optimizer = sx.Optimizer(0.01, schedule=sx.Constant())
    step = sx.TrainingStep(NET, objective, optimizer=optimizer)
    state, means = step.init(), []
    for _ in range(epochs):
        losses = []
        for x, y in Loader():
            real = (np.arange(8) < len(x)).astype(float)
            x, y = (np.concatenate([part, np.ones((8 - len(part), 1))]) for part in (x, y))
            state, loss = step(state, x, y, real)
            losses.append(float(loss))
        means.append(np.mean(losses))
    return np.array(means)


CONSTANT = sx.Optimizer(0.01, schedule=sx.Constant())


def test_a_stream_trains_as_a_loop_of_ones_own():
    """Also: a smaller last batch counts as it should, and targets of shape (samples,) will do."""
    expected = by_hand()
    found = sx.fit(NET, Loader(), optimizer=CONSTANT, **OPTIONS)
    np.testing.assert_allclose(found.history["objective"], expected, rtol=1e-9)
    flat = ({"x": x, "y": y[:, 0]} for _ in range(3) for x, y in Loader())
    found = sx.fit(NET, flat, steps_per_epoch=3, optimizer=CONSTANT, **OPTIONS)
    np.testing.assert_allclose(found.history["objective"], expected, rtol=1e-9)


def test_a_data_loader_of_torch():
    torch = pytest.importorskip("torch")
    x = torch.tensor(X)
    dataset = torch.utils.data.TensorDataset(x, x**2)
    loader = torch.utils.data.DataLoader(dataset, batch_size=8)
    found = sx.fit(NET, loader, optimizer=CONSTANT, **OPTIONS)
    np.testing.assert_allclose(found.history["objective"], by_hand(), rtol=1e-9)


def test_a_loader_of_grain_resumes_where_it_stood(tmp_path):
    grain = pytest.importorskip("grain")

    def loader():
        data = grain.MapDataset.source([(row, row**2) for row in X[:16]]).repeat().batch(8)
        return data.to_iter_dataset(grain.ReadOptions(num_threads=1, prefetch_buffer_size=1))

    options = {"steps_per_epoch": 2, "optimizer": CONSTANT, "progress": False}
    whole = sx.fit(NET, loader(), epochs=4, **options)
    interrupted(tmp_path / "state", lambda: iter(loader()), 4, options, whole)


def interrupted(path, source, epochs, options, whole):
    """Stops after the second epoch, and resumes from the checkpoint."""

    def stop(report):
        if report.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sx.fit(NET, source(), epochs=epochs, checkpoint=path, callbacks=[stop], **options)
    again = sx.fit(NET, source(), epochs=epochs, checkpoint=path, **options)
    np.testing.assert_array_equal(whole.history["objective"], again.history["objective"])


def test_resuming_at_the_right_batch(tmp_path):
    options = {"steps_per_epoch": 3, "optimizer": CONSTANT, "progress": False}
    whole = sx.fit(NET, Stateful(), epochs=4, **options)
    interrupted(tmp_path / "a", Stateful, 4, options, whole)
    # In the middle of an epoch, too, when the source fails; and what was passed is not drawn again.
    broken = sx.extend.Checkpoint(tmp_path / "b", every=3600)
    with pytest.raises(RuntimeError, match="the source is gone") as caught:
        sx.fit(NET, Stateful(stop=7), epochs=4, checkpoint=broken, **options)
    assert "This came from the stream, after 7 batches" in str(caught.value.__notes__)
    fresh = Stateful()
    again = sx.fit(NET, fresh, epochs=4, checkpoint=tmp_path / "b", **options)
    np.testing.assert_array_equal(whole.history["objective"], again.history["objective"])
    assert fresh.drawn <= 12 - 6 + 1


def test_a_stream_that_cannot_say_where_it_stands_is_drawn_again(tmp_path):
    options = {"optimizer": CONSTANT, "progress": False}
    whole = sx.fit(NET, Loader(), epochs=4, **options)
    with pytest.warns(UserWarning, match="the first 6 batches were drawn again and dropped"):
        interrupted(tmp_path / "state", Loader, 4, options, whole)


def test_validation_callbacks_and_a_stream_that_ends():
    seen = []
    validation = sx.Validation((X, X**2), keep_best=True)
    options = {"validation": validation, "callbacks": [lambda report: seen.append(report.epoch)]}
    batches = iter(list(Loader()) * 2)
    with pytest.warns(UserWarning, match="The stream ended after 6 batches, in epoch 2 of 9"):
        found = sx.fit(NET, batches, epochs=9, steps_per_epoch=3, progress=False, **options)
    assert seen == [1, 2]
    assert np.isfinite(found.history["validation"]).all()


def batches(*made):
    yield from made


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ((), "The stream is empty"),
        (((X, X), (X[:, 0], X)), "All batches of a stream must have the same structure"),
        (((X, X), (X, X, np.ones(20))), None),
        (((X[:4], X[:4]), (X, X)), "has 4 samples and batch 2 of the stream has 20"),
        (((X, X), (np.nan * X, X)), "batch 2 of the stream has a number that is not finite"),
        (((X, X[:3]),), "must have the same number of samples"),
        ((X,), "must be .* the first batch is a ndarray"),
        (([X],), "the first batch is a list of length 1"),
        (({"x": X},), r"the first batch is a dictionary with \['x'\]"),
        (((X, X, -np.ones(20)),), "sample_weight of the first batch"),
        (((X, X, np.ones(20), X[:3]),), r"times of the first batch must have shape \(20, times\)"),
        (((X, X, None, X[:, 0]),), r"must have shape \(20, times\), got \(20,\)"),
        (((np.full((4, 1), "a"), X[:4]),), "must hold numbers"),
    ],
)
def test_bad_streams(made, message):
    if message is None:  # weights of one where none are given
        sx.fit(NET, batches(*made), steps_per_epoch=2, epochs=1)
        return
    with pytest.raises(ValueError, match=message):
        sx.fit(NET, batches(*made), steps_per_epoch=2, epochs=1)


def test_a_batch_of_one_sample_is_padded_for_two_devices():
    two = types.SimpleNamespace(devices=np.array(jax.devices()[:1] * 2))
    sharing = types.SimpleNamespace(mesh=two, sharded=lambda tree, axis: tree)
    stream = Stream(batches((X[:1], X[:1])))
    block = _draw(stream, 1, 1, sharing, False)
    np.testing.assert_array_equal(block.batches.x, [X[[0, 0]]])
    np.testing.assert_array_equal(block.batches.sample_weight, [[1, 0]])


def test_options_that_do_not_go_with_streams():
    for options, message in (
        ({}, "does not say how many batches it has. Give steps_per_epoch"),
        ({"steps_per_epoch": 2, "validation": 0.1}, "as a pair"),
        ({"steps_per_epoch": 2, "sample_weight": np.ones(3)}, "leave out y"),
        ({"steps_per_epoch": 0}, "steps_per_epoch"),
    ):
        with pytest.raises(ValueError, match=message):
            sx.fit(NET, iter(Loader()), **options)
    with pytest.raises(ValueError, match="steps_per_epoch is for streams"):
        sx.fit(NET, X, X, steps_per_epoch=2)
    with pytest.raises(ValueError, match="fit_many trains on arrays or a sampler"):
        sx.fit_many([NET], Loader())


def test_a_stream_that_makes_the_loss_overflow():
    large = [(1e200 * X, X)]
    with pytest.raises(
        sx.DivergedError, match="Training diverged in epoch 1, batch 2 of 2"
    ) as caught:
        sx.fit(NET, iter([(X, X), *large]), steps_per_epoch=2, epochs=1)
    assert np.isfinite(np.asarray(caught.value.result.net(X))).all()
