"""Damage to files, as from disks, from interrupted transfers and from people who edit files by hand."""

import copy
import json
import random
from typing import Any

BLOCK = 512


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Damage `data` so that the bytes differ."""
    while True:
        out = rng.choice(DAMAGES)(bytearray(data), rng)
        if bytes(out) != data:
            return bytes(out)


def flip(data: bytearray, rng: random.Random) -> bytearray:
    """Flip one to three bits."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        place = rng.randrange(8 * len(data))
        data[place // 8] ^= 1 << place % 8
    return data


def truncate(data: bytearray, rng: random.Random) -> bytearray:
    """Remove the end."""
    return data[: rng.randrange(len(data))]


def extend(data: bytearray, rng: random.Random) -> bytearray:
    """Append bytes."""
    return data + rng.randbytes(rng.choice([1, 8, 300]))


def blank(data: bytearray, rng: random.Random) -> bytearray:
    """Replace a block by zeros, as if it never reached the disk, or by bytes of another file."""
    begin = rng.randrange(0, len(data), BLOCK)
    end = min(begin + BLOCK * rng.choice([1, 1, 8]), len(data))
    data[begin:end] = bytes(end - begin) if rng.random() < 0.5 else rng.randbytes(end - begin)
    return data


def splice(data: bytearray, rng: random.Random) -> bytearray:
    """Remove, insert or move bytes."""
    begin = rng.randrange(len(data))
    end = begin + rng.choice([0, 1, 8, 100])
    data[begin:end] = rng.choice(
        [rng.randbytes(rng.choice([0, 1, 8, 100])), data[: rng.randint(1, 64)]]
    )
    return data


def length(data: bytearray, rng: random.Random) -> bytearray:
    """Replace the first eight bytes, which in some formats are the length of a header."""
    value = rng.choice([0, 1, len(data), 2**31, 2**40, 2**63, 2**64 - 1, rng.randrange(2**16)])
    data[:8] = value.to_bytes(8, "little")
    return data


def digit(data: bytearray, rng: random.Random) -> bytearray:
    """Replace one digit of a number in the text."""
    places = [i for i, byte in enumerate(data[:100_000]) if 48 <= byte <= 57]
    if places:
        data[rng.choice(places)] = rng.randrange(48, 58)
    return data


DAMAGES = [flip, flip, flip, flip, truncate, truncate, extend, blank, splice, length, digit]

DEEP = "[" * 100_000
JUNK: list[Any] = [
    None, True, False, 0, -1, 1.5, 1e308, float("nan"), float("inf"), 10**40, 2**63, "", "x", "../x",
    "\ud800", "\x1b[31m", [], {}, [[]], [None], {"": 0}, {"x": 1}, [1, "x"], [0.5, None], "1e3",
    "9" * 5000, {"array": True}, {"module": {}}, [["x"]], "None", "float64", "object",
]  # fmt: skip


def edited(tree: Any, rng: random.Random) -> Any:
    """A description with one to three parts exchanged, removed, doubled or renamed."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice([1, 1, 2, 3])):
        places = list(_places(tree))
        if not places:
            return rng.choice(JUNK)
        node, key = rng.choice(places)
        action = rng.choice(["exchange", "exchange", "remove", "rename", "double", "swap"])
        if action == "remove":
            del node[key]
        elif action == "rename" and isinstance(node, dict):
            node[rng.choice([*map(str, node), "x", "", "shape"])] = node.pop(key)
        elif action == "double" and isinstance(node, list):
            node.insert(rng.randrange(len(node) + 1), copy.deepcopy(node[key]))
        elif action == "swap":
            other, where = rng.choice(places)
            node[key] = copy.deepcopy(other[where])
        else:
            node[key] = copy.deepcopy(rng.choice(JUNK))
    return tree


def edited_text(tree: Any, rng: random.Random) -> str:
    """JSON of an edited description; sometimes JSON that no writer would produce."""
    text = json.dumps(edited(tree, rng))
    special = rng.random()
    if special < 0.02:
        return DEEP
    if special < 0.04:
        return text.replace("{", '{"x": 1, "x": 2, ', 1)
    if special < 0.06:
        return text.replace("1", "9" * 5000, 1)
    if special < 0.08:
        return text + text
    return text


def _places(node: Any):
    if not isinstance(node, dict | list):
        return
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in list(items):
        yield node, key
        if isinstance(value, dict | list):
            yield from _places(value)
