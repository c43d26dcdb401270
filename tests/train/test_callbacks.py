"""Callbacks see every epoch, may stop the training, and change no number."""

import itertools
import json

import jax
import numpy as np
import pytest

import shootax as sx
from cases import KEY, assert_same
from shootax._train import Checkpoint

pytestmark = pytest.mark.usefixtures("standard_promotion")

FIELD = sx.UpDown(1, 2, activation="tanh")
X = np.linspace(-1, 1, 10)[:, None]
Y = X**2
OPTIONS = {"epochs": 7, "batch_size": 4, "validation": 0.3}


def make(seed=0):
    key = jax.random.fold_in(KEY, seed)
    return sx.Net(FIELD, sx.Static(FIELD, key=key), integrator=sx.Euler(steps=2), key=key)


def assert_equal_fits(a, b):
    assert_same(a.net, b.net)
    for name, column in a.history.items():
        np.testing.assert_array_equal(column, b.history[name])


def test_reports_are_the_history_and_change_nothing():
    seen, nets = [], []

    def note(report):
        seen.append(report)
        nets.append(report.net)

    watched = sx.fit(make(), X, Y, callbacks=[note], **OPTIONS)
    assert_equal_fits(watched, sx.fit(make(), X, Y, **OPTIONS))
    assert [report.epoch for report in seen] == list(range(1, 8))
    for name, column in watched.history.items():
        np.testing.assert_array_equal([getattr(report, name) for report in seen], column)
    assert_same(nets[-1], watched.net)
    assert_same(nets[2], sx.fit(make(), X, Y, callbacks=[at(3)], **OPTIONS).net)
    assert all(a.seconds < b.seconds for a, b in itertools.pairwise(seen))


def at(epoch):
    return lambda report: report.epoch == epoch


def test_true_stops_at_once_and_other_answers_do_not():
    stopped = sx.fit(make(), X, Y, callbacks=[lambda report: "a text", at(3)], **OPTIONS)
    assert len(stopped.history["objective"]) == 3


def test_numbers_are_for_json():
    lines = []
    options = {**OPTIONS, "validation": None}
    sx.fit(make(), X, Y, callbacks=[lambda r: lines.append(json.dumps(r.numbers()))], **options)
    read = [json.loads(line, parse_constant=pytest.fail) for line in lines]
    names = {"epoch", "objective", "data", "penalty", "learning_rate", "seconds"}
    assert set(read[0]) == names  # there is no validation loss
    assert read[1]["epoch"] == 2


def test_an_error_of_a_callback_loses_nothing(tmp_path):
    file = Checkpoint(tmp_path / "state.safetensors", every=1e9)

    def fail(report):
        if report.epoch == 4:
            raise RuntimeError("the logger is gone")

    with pytest.raises(RuntimeError, match="the logger is gone"):
        sx.fit(make(), X, Y, checkpoint=file, callbacks=[fail], **OPTIONS)
    seen = []
    note = lambda report: seen.append(report.epoch)  # noqa: E731
    again = sx.fit(make(), X, Y, checkpoint=file, callbacks=[note], **OPTIONS)
    assert seen == [5, 6, 7]
    assert_equal_fits(again, sx.fit(make(), X, Y, **OPTIONS))


@pytest.mark.parametrize("together", [True, False])
def test_many_nets_are_stopped_one_by_one(together):
    seen = []

    def stop_the_second(report):
        seen.append((report.epoch, report.index))
        assert report.net is not None
        return report.index == 1 and report.epoch == 2

    nets = [make(0), make(1)]
    fits = sx.fit_many(nets, X, Y, together=together, callbacks=[stop_the_second], **OPTIONS)
    assert [len(fit.history["data"]) for fit in fits] == [7, 2]
    assert sorted(seen) == sorted([(e, 0) for e in range(1, 8)] + [(1, 1), (2, 1)])


@pytest.mark.parametrize("bad", ["log", print, [1], None])
def test_what_are_no_callbacks(bad):
    with pytest.raises(ValueError, match="callbacks must be a list of functions"):
        sx.fit(make(), X, Y, epochs=1, callbacks=bad)
