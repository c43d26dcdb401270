"""A file that is not what was written is an error with a reason, whatever happened to it."""

import copy
import json
import random
import tracemalloc

import jax.numpy as jnp
import pytest

import shootax as sx
from cases import KEY, make_net, rewrite_header
from shootax._storage import container

slow = pytest.mark.slow


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """The bytes of a small model."""
    path = tmp_path_factory.mktemp("content") / "net"
    sx.save(path, sx.Net(sx.UpDown(1, 1), particles=1, key=KEY), record={"epochs": 3})
    return path.read_bytes()


@pytest.fixture
def path(tmp_path, content):
    """That model in a file."""
    path = tmp_path / "net.safetensors"
    path.write_bytes(content)
    return path


def refused(path, data):
    path.write_bytes(data)
    for read in (sx.load, sx.load_record):
        with pytest.raises(sx.FileFormatError, match=path.name):
            read(path)


@pytest.mark.parametrize("flips", [200, pytest.param(2000, marks=slow)])
def test_every_flipped_bit_is_noticed(path, content, flips):
    for place in random.Random(flips).choices(range(8 * len(content)), k=flips):
        spoiled = bytearray(content)
        spoiled[place // 8] ^= 1 << place % 8
        refused(path, bytes(spoiled))


def test_every_length_but_the_right_one_is_noticed(path, content):
    for length in [*range(0, len(content), 17), len(content) - 1]:
        refused(path, content[:length])
    refused(path, content + b"\0")


@pytest.mark.parametrize("count", [300, pytest.param(2400, marks=slow)])
def test_changed_bytes_are_noticed(path, content, count):
    """Bytes taken out, put in, and overwritten, in one place or in several."""
    rng = random.Random(count)
    for _ in range(count):
        spoiled = bytearray(content)
        for _ in range(rng.randint(1, 3)):
            begin = rng.randrange(len(spoiled))
            end = begin + rng.choice([0, 1, 8, 100])
            spoiled[begin:end] = rng.randbytes(rng.choice([0, 1, 8, 100]))
        if spoiled != content:
            refused(path, bytes(spoiled))


JUNK = [None, True, -1, 10**40, 1e308, "", "q", "Net", "\ud800", [], {}, [[]], {"array": True}]
JUNK += [{"array": []}, {"dict": [[[], 1]]}, {"module": {}}, {"spd": "control.ensemble.q"}]
JUNK += [{"key": "lift.bias", "impl": "x"}, {"shape": ["a"], "dtype": 1}, {"float": 1}]
JUNK += [{"namedtuple": "Net", "fields": {}}, {"module": "Masked", "fields": {}}, {"tuple": 3}]
JUNK += [{"structure": {"list": 1}}, {"activation": []}, {"known": "Net", "foreign": []}]


def mutated(tree, rng):
    """A description with one part exchanged, taken out, or under another name."""
    tree = copy.deepcopy(tree)
    places = []

    def walk(node):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            places.append((node, key))
            if isinstance(value, dict | list):
                walk(value)

    walk(tree)
    node, key = rng.choice(places)
    action = rng.choice(["exchange", "exchange", "remove", "rename"])
    if action == "remove":
        del node[key]
    elif action == "rename" and isinstance(node, dict):
        node[rng.choice(["array", "module", "fields", "x", "foreign"])] = node.pop(key)
    else:
        node[key] = copy.deepcopy(rng.choice(JUNK))
    return tree


@pytest.mark.parametrize("count", [300, pytest.param(2400, marks=slow)])
def test_strange_descriptions_never_raise_anything_else(path, count):
    """Even with a checksum that is right, as of a file made by hand."""
    header, tensors, _ = container.read(path)
    tree, rng, refusals = json.loads(header["model"]), random.Random(count), []
    for _ in range(count):
        changed = {**header, "model": json.dumps(mutated(tree, rng))}
        path.write_bytes(container.to_bytes(changed, tensors))
        try:
            sx.load(path)
        except sx.FileFormatError as error:
            refusals.append(str(error))
    assert len(refusals) > count / 2
    assert all(path.name in message for message in refusals)


@pytest.mark.parametrize(
    "model",
    ["[" * 100_000, '{"list":[' * 700 + "]}" * 700, "9" * 10_000, "", "[1]", "{}", '{"a":1,"a":2}'],
    ids=["deep", "deep-lists", "digits", "empty", "list", "dictionary", "twice"],
)
def test_descriptions_that_are_none(path, model):
    rewrite_header(path, model=model)
    with pytest.raises(sx.FileFormatError, match=path.name):
        sx.load(path)


@pytest.mark.parametrize("record", ["[1]", "3", "null", "{", "[" * 100_000])
def test_records_that_are_none(path, record):
    rewrite_header(path, record=record)
    with pytest.raises(sx.FileFormatError, match=f"record in .*{path.name}"):
        sx.load_record(path)


def with_entries(header, data=b""):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(dtype="F64", shape=(1,), offsets=(0, 8)):
    return {"a": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


@pytest.mark.parametrize(
    "header",
    [
        [],
        3,
        {"__metadata__": []},
        {"__metadata__": {"format": 2}},
        {"a": []},
        {"a": {"dtype": "F64"}},
        entry(dtype="F65"),
        entry(dtype=[]),
        entry(shape=[True]),
        entry(shape=[10**12]),
        entry(shape=[-1, -1]),
        entry(shape=[1.0]),
        entry(shape="1"),
        entry(shape=[1] * 100),
        entry(shape=[10**4000] * 30),
        entry(shape=[0, 10**30], offsets=[0, 0]),
        entry(offsets=[0, 10**15]),
        entry(offsets=[8, 0]),
        entry(offsets=[0]),
        entry(offsets=None),
        {**entry(), "b": entry()["a"]},
    ],
    ids=str,
)
def test_entries_that_are_wrong_cost_nothing(path, header):
    tracemalloc.start()
    refused(path, with_entries(header, bytes(8)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5e6


def test_a_header_of_absurd_length_costs_nothing(path):
    for length in (2**63, 2**40, 10**9):
        refused(path, length.to_bytes(8, "little") + b"{}")


def test_a_tensor_cannot_be_used_a_thousand_times(path):
    model = {"list": [{"array": "control.ensemble.q"}] * 1000}
    rewrite_header(path, model=json.dumps(model))
    with pytest.raises(sx.FileFormatError, match="used twice"):
        sx.load(path)


def test_a_checksum_cannot_be_left_out(path):
    header, tensors, checksum = container.read(path)
    assert sx.load_record(path)["checksum"] == checksum
    data = container.to_bytes(header, tensors).replace(b'"checksum"', b'"checksun"')
    path.write_bytes(data)
    with pytest.raises(sx.FileFormatError, match="checksum is missing"):
        sx.load(path)


def test_the_checksum_is_of_all_that_matters():
    header, tensor = {"a": "b", "c": "d"}, jnp.arange(4.0)
    changes = [
        ({"a": "bc", "": "d"}, {"x": tensor}),
        ({"a": "b", "c": "e"}, {"x": tensor}),
        (header, {"y": tensor}),
        (header, {"x": tensor.reshape(2, 2)}),
        (header, {"x": tensor.astype(jnp.float32)}),
        (header, {"x": tensor.view(jnp.int64)}),
        (header, {}),
        (header, {"x": tensor, "y": tensor}),
    ]
    sums = {container.from_bytes(container.to_bytes(*c)).checksum for c in changes}
    assert len(sums) == len(changes)
    assert container.from_bytes(container.to_bytes(header, {"x": tensor})).checksum not in sums


@pytest.mark.parametrize("value", [jnp.nan, jnp.inf])
def test_weights_that_are_not_finite_are_mentioned(tmp_path, value):
    import equinox as eqx

    net = make_net("affine", "static")
    net = eqx.tree_at(lambda n: n.control.theta["b"], net, replace_fn=lambda b: b.at[0].set(value))
    with pytest.warns(UserWarning, match=r"NaN or infinite: control\.theta\.b") as caught:
        sx.save(tmp_path / "net", net)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=r"net has weights that are NaN") as caught:
        sx.load(tmp_path / "net")
    assert caught[0].filename == __file__
