"""A training that is interrupted resumes, bit for bit."""

import dataclasses
import json
import random

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import KEY, assert_same, rewrite_header
from shootax._errors import FileFormatError
from shootax._storage import container
from shootax._train import Checkpoint
from shootax._train.data_digest import data_digest
from shootax._train.epoch import start
from shootax._train.fingerprint import fingerprint
from shootax._train.problem import make_problem
from shootax._train.samples import Data
from shootax._train.update import take_apart

pytestmark = pytest.mark.usefixtures("standard_promotion")

FIELD = sx.UpDown(1, 2, activation="tanh")
X = np.linspace(-1, 1, 10)[:, None]
OPTIMIZER = sx.Optimizer(schedule=sx.Plateau(patience=1))
OPTIONS = {"epochs": 9, "batch_size": 4, "validation": 0.3, "optimizer": OPTIMIZER}


def make(seed=0):
    control = sx.Static(FIELD, key=sx_key(seed))
    return sx.Net(FIELD, control, integrator=sx.Euler(steps=2), key=sx_key(seed))


def sx_key(seed):
    return jax.random.fold_in(KEY, seed)


class Stop(Exception):
    pass


def stopper(epoch):
    def show(done, text):
        if done >= epoch:
            raise Stop

    return show


def assert_equal_fits(a, b):
    assert_same(a.net, b.net)
    for name, column in a.history.items():
        np.testing.assert_array_equal(column, b.history[name])


def test_one_net_goes_on(tmp_path):
    whole = sx.fit(make(), X, X**2, **OPTIONS)
    file = Checkpoint(tmp_path / "state.safetensors", every=0.0)
    with pytest.raises(Stop):
        sx.fit(make(), X, X**2, checkpoint=file, progress=stopper(3), **OPTIONS)
    seen = []
    again = sx.fit(
        make(), X, X**2, checkpoint=file.path, progress=lambda done, _: seen.append(done), **OPTIONS
    )
    assert min(seen) > 3  # nothing was done twice
    assert_equal_fits(whole, again)
    assert list(again.history) == list(whole.history)  # the order of columns, too
    # The finished training is in the file: once more there is nothing to do.
    assert_equal_fits(whole, sx.fit(make(), X, X**2, checkpoint=file.path, **OPTIONS))


def test_many_nets_go_on_and_one_that_failed_stays_so(tmp_path):
    wild = eqx.tree_at(lambda n: n.control.theta["theta3"], make(1), replace_fn=lambda p: 1e200 + p)
    nets = [make(0), wild, make(2)]
    options = {**OPTIONS, "validation": None, "together": True}
    whole = sx.fit_many(nets, X, X**2, **options)
    file = Checkpoint(tmp_path / "state.safetensors", every=0.0)
    with pytest.raises(Stop):
        sx.fit_many(nets, X, X**2, checkpoint=file, progress=stopper(4), **options)
    again = sx.fit_many(nets, X, X**2, checkpoint=file, **options)
    for i in (0, 2):
        assert_equal_fits(whole[i], again[i])
    assert isinstance(again[1], sx.DivergedError)
    assert str(again[1]) == str(whole[1])


def test_damaged_file(tmp_path):
    path = tmp_path / "state.safetensors"
    sx.fit(make(), X, X**2, checkpoint=path, **OPTIONS)
    content = path.read_bytes()
    for damaged in (b"", b"nonsense", content[: len(content) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(FileFormatError, match=r"state\.safetensors cannot be read.*Remove it"):
            sx.fit(make(), X, X**2, checkpoint=path, **OPTIONS)
        assert path.read_bytes() == damaged


@pytest.mark.parametrize(
    "change",
    [
        {"epoch": None},
        {"epoch": 1},
        {"epoch": "8"},
        {"seconds": "nan"},
        {"seconds": -1},
        {"failures": []},
        {"failures": {"7": "it went too far"}},
        {"failures": {"x": "it went too far"}},
        {"failures": {"0": 3}},
    ],
    ids=str,
)
def test_a_record_that_is_not_one_of_a_training(tmp_path, change):
    """The file is whole and its checksum is right, as of one made by hand."""
    path = tmp_path / "state.safetensors"
    sx.fit(make(), X, X**2, checkpoint=path, **OPTIONS)
    record = {**json.loads(container.read(path).header["record"]), **change}
    rewrite_header(path, record=json.dumps({k: v for k, v in record.items() if v is not None}))
    with pytest.raises(
        FileFormatError, match=r"state\.safetensors cannot be read: its history.*Remove"
    ):
        sx.fit(make(), X, X**2, checkpoint=path, **OPTIONS)


def absolute(prediction, target):
    return abs(prediction - target)[0]


CHANGES = {
    "epochs": {"epochs": 10},
    "seed": {"seed": 1},
    "learning_rate": {"optimizer": dataclasses.replace(OPTIMIZER, learning_rate=0.02)},
    "loss": {"loss": absolute},
    # Its state has the same shape.
    "schedule": {"optimizer": sx.Optimizer(schedule=sx.Plateau(patience=2))},
    "batch_size": {"batch_size": 5},
    "penalty_strength": {"penalty_strength": 2.0},
    "clip": {"optimizer": dataclasses.replace(OPTIMIZER, clip=1.0)},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_file_of_another_training(tmp_path, change):
    path = tmp_path / "state.safetensors"
    sx.fit(make(), X, X**2, checkpoint=path, **OPTIONS)
    content = path.read_bytes()
    with pytest.raises(FileFormatError, match="is from another training"):
        sx.fit(make(), X, X**2, checkpoint=path, **{**OPTIONS, **change})
    with pytest.raises(FileFormatError, match="is from another training"):
        sx.fit(make(), X, X**3, checkpoint=path, **OPTIONS)
    assert path.read_bytes() == content


def test_no_common_file_for_nets_trained_apart(tmp_path):
    with pytest.raises(ValueError, match="no common checkpoint"):
        sx.fit_many([make()], X, X**2, together=False, checkpoint=tmp_path / "x", epochs=1)


STATE = {"a": jnp.arange(6.0).reshape(2, 3), "key": jax.random.key(4), "n": jnp.array(3)}
HISTORIES = [{"objective": [1.0, 0.5]}, {"objective": []}]


@pytest.fixture
def small(tmp_path):
    """A checkpoint of a state that is easily made."""
    file = Checkpoint(tmp_path / "state.safetensors")
    file.write("mark", STATE, HISTORIES, {"epoch": 2})
    return file


def test_state_histories_and_record_come_back(small):
    state, histories, record = small.read("mark", lambda _: STATE)
    assert_same(jax.random.key_data(state.pop("key")), jax.random.key_data(STATE["key"]))
    assert_same(state, {name: STATE[name] for name in ("a", "n")})
    assert histories == HISTORIES
    assert record == {"epoch": 2}


@pytest.mark.parametrize("count", [100, pytest.param(400, marks=pytest.mark.slow)])
def test_every_damage_is_noticed(small, count):
    """Flipped bits, and bytes taken out, put in and overwritten."""
    content, rng = small.path.read_bytes(), random.Random(count)
    for i in range(count):
        spoiled = bytearray(content)
        place = rng.randrange(len(content))
        if i % 2:
            spoiled[place] ^= 1 << rng.randrange(8)
        else:
            spoiled[place : place + rng.choice([0, 1, 50])] = rng.randbytes(rng.choice([1, 7]))
        if spoiled != content:
            small.path.write_bytes(spoiled)
            with pytest.raises(FileFormatError, match=r"state\.safetensors cannot be .*Remove it"):
                small.read("mark", lambda _: STATE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"checkpoint": "1"}, "its format is 1, but this version of shootax resumes from format 4"),
        ({"checkpoint": None}, "not a checkpoint of shootax"),
        ({"program": "other"}, "not a checkpoint of shootax"),
        ({"mark": "none"}, "from another training"),
        ({"record": "[1]"}, "record is not a dictionary"),
        ({"record": "["}, "not JSON"),
        ({"record": "[" * 100_000}, "nested too deeply"),
        ({"record": None}, "not JSON"),
    ],
)
def test_headers_that_do_not_fit(small, change, message):
    rewrite_header(small.path, **change)
    with pytest.raises(FileFormatError, match=message):
        small.read("mark", lambda _: STATE)


@pytest.mark.parametrize(
    "change",
    [
        {"state.0": None},
        {"state.0": np.zeros((3, 2))},
        {"state.0": np.zeros((2, 3), np.float32)},
        {"state.1": np.zeros(2)},
        {"history.x.y": np.zeros(2)},
        {"history.0": np.zeros(2)},
        {"history.0.objective": np.zeros((2, 2))},
    ],
)
def test_tensors_that_do_not_fit(small, change):
    header, tensors, _ = container.read(small.path)
    tensors = {k: v for k, v in {**tensors, **change}.items() if v is not None}
    container.write(small.path, header, tensors)
    with pytest.raises(FileFormatError, match=r"entry \d of its state|invalid column"):
        small.read("mark", lambda _: STATE)


def test_a_folder_that_is_missing_is_noticed_before_the_first_epoch(tmp_path):
    def reached(report):
        raise AssertionError("an epoch was trained")

    for path in (tmp_path / "a" / "b", tmp_path):
        with pytest.raises((FileNotFoundError, IsADirectoryError), match=r"no folder|is a folder"):
            sx.fit(make(), X, X**2, checkpoint=path, callbacks=[reached], **OPTIONS)


def test_a_disk_that_is_full_loses_nothing(tmp_path, monkeypatch):
    """The write fails: there is one warning, the old file remains, and training goes on."""
    whole = sx.fit(make(), X, X**2, **OPTIONS)
    file = Checkpoint(tmp_path / "state.safetensors", every=0.0)
    with pytest.raises(Stop):
        sx.fit(make(), X, X**2, checkpoint=file, progress=stopper(3), **OPTIONS)
    content = file.path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(container, "write", full)
    with pytest.warns(UserWarning, match=r"could not be written.*No space left") as caught:
        again = sx.fit(make(), X, X**2, checkpoint=file, **OPTIONS)
    assert len(caught) == 1
    assert_equal_fits(whole, again)
    assert file.path.read_bytes() == content


def scaled_error(factor):
    return lambda a, b: jnp.sum(factor * abs(a - b))


def mark(net=None, **options):
    """The fingerprint of a training, which is not run."""
    net = make() if net is None else net
    shared = {"data_strength": 100.0, "penalty_strength": 1.0, "times": None, "sample_weight": None}
    options = {**OPTIONS, **shared, "loss": "mse", "callbacks": (), "seed": 0, **options}
    problem = make_problem(net, X, X**2, **options)
    vector, frame = take_apart(net)
    return fingerprint(problem, frame, start(vector, frame, problem.recipe), [0])


def test_losses_are_known_by_what_they_compute():
    """Two functions of the same name and code, which differ in a number or an array they close over."""
    assert mark(loss=scaled_error(1.0)) == mark(loss=scaled_error(1.0))
    assert mark(loss=scaled_error(1.0)) != mark(loss=scaled_error(2.0))
    table = jnp.arange(3.0)
    assert mark(loss=scaled_error(table[:1])) != mark(loss=scaled_error(table[1:2]))
    one, other = (lambda a, b: abs(a - b)[0], lambda a, b: (a - b)[0] ** 2)
    assert mark(loss=one) != mark(loss=other)


def test_the_digest_of_samples():
    """It depends on each number, on the order and on the weights, and not on samples of weight zero."""
    x, weight = np.arange(8.0).reshape(4, 2), np.array([1.0, 2.0, 1.0, 0.0])

    def digest(x=x, y=x[:, 0], weight=weight):
        return data_digest(Data(x, y, weight, None))

    other = x.copy()
    other[3] = 7.5
    assert digest() == digest(other) == digest(x[:3], x[:3, 0], weight[:3])
    other[1, 1] += 1
    turned = [1, 0, 2, 3]
    found = [
        *(digest(), digest(other), digest(x[turned]), digest(weight=weight[turned])),
        *(digest(x.astype(np.float32)), digest(x[:, :1]), digest(y=x[:, 1])),
    ]
    assert len(set(found)) == len(found)


def test_another_model_with_the_same_arrays_is_another_training():
    net = make()
    finer = eqx.tree_at(lambda n: n.integrator, net, sx.Euler(steps=3))
    assert mark(net) == mark(make())
    assert mark(net) != mark(finer)
