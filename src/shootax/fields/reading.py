"""The table of blocks of a user's field, read off the program of `f`.

`f` is traced once, and its operations are followed with labels in the place of numbers: which entry of
the state or of θ stands where, and which elementwise function has been applied to it. Where in the end
every velocity is a sum of weights times such functions, the field is a block field, and shooting takes
the forms that are written out for those. Nothing is tried out in numbers, so nothing is guessed: an
operation that is not understood ends the reading, and the field is left as it is.
"""

import dataclasses
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from shootax.activations import Activation, identity
from shootax.fields.base import AbstractField, entry_name, size
from shootax.fields.block import AbstractBlockField, Block, Feature, Layout
from shootax.fields.expressions import Argument
from shootax.fields.following import (
    Entries,
    Term,
    Unreadable,
    Value,
    Weights,
    follow,
    join,
    numbers,
    ravel,
    require,
    sums,
)

MOST_PARTS = 16
"""A state that falls into more parts than this is left alone: its blocks are too small to pay."""


class ReadField(AbstractBlockField):
    """The block field that equals a user's field. θ has other names and shapes there.

    `entries` names, for each block, the entry of the user's θ that it is made of, and says whether
    it is the whole of it, with the velocities along its leading axis.
    """

    dim: int = eqx.field(static=True)
    table: Layout = eqx.field(static=True)
    entries: tuple[tuple[str, str, bool], ...] = eqx.field(static=True)

    @property
    def layout(self) -> Layout:
        return self.table


def read_blocks(field: AbstractField) -> ReadField | None:
    """The same field as a table of blocks, or `None` where it is not made of blocks.

    !!! example

        ```python
        import jax.numpy as jnp
        import shootax as sx

        def f(z, theta):
            return theta["A"] @ jnp.tanh(z) + theta["b"]

        field = sx.FunctionField(f, state=sx.shape(3), theta={"A": sx.shape(3, 3), "b": sx.shape(3)})
        print(sx.read_blocks(field).layout.blocks)
        ```
    """
    if not jax.tree.leaves(field.theta):
        return None
    try:
        return _table(field, _terms(field))
    except Unreadable:
        return None


def _terms(field: AbstractField) -> list[tuple[np.ndarray, Term]]:
    """What the velocity of the state, as one vector, is the sum of."""
    dtype = jnp.result_type(float)
    like = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape, dtype), (field.state, field.theta)
    )
    program = jax.make_jaxpr(lambda z, theta: field(z, theta))(*like)
    states, weights = (jax.tree.leaves(tree) for tree in like)
    starts = np.cumsum([0, *(leaf.size for leaf in states)])
    given: list[Value] = [
        Entries.of(start + numbers(leaf.shape), Argument())
        for start, leaf in zip(starts, states, strict=False)
    ]
    given += [Weights(i, numbers(leaf.shape)) for i, leaf in enumerate(weights)]
    velocity = join([ravel(value) for value in follow(program, given)], 0)
    return [
        (place, dataclasses.replace(term, weights=term.weights[place[place >= 0]]))
        for place, term in sums(velocity).terms
        if (place >= 0).any()
    ]


def _table(field: AbstractField, terms: list[tuple[np.ndarray, Term]]) -> ReadField:
    total = size(field.state)
    leaves = [(entry_name(path), leaf) for path, leaf in jax.tree.leaves_with_path(field.theta)]
    require(len(terms) > 0)
    for i in {term.leaf for _, term in terms}:
        used = np.concatenate([term.weights.ravel() for _, term in terms if term.leaf == i])
        require(np.bincount(used).max() == 1)
    placed = [(_range(np.flatnonzero(place >= 0)), term) for place, term in terms]
    sources = [_range(term.source) for _, term in terms if term.source is not None]
    cuts = sorted({0, total, *itertools.chain(*(target for target, _ in placed), *sources)})
    require(len(cuts) - 1 <= MOST_PARTS)
    parts = {f"z{i}": (a, b) for i, (a, b) in enumerate(itertools.pairwise(cuts))}
    features: dict[tuple[str, Activation], str] = {}
    blocks, entries = [], []
    for target, term in placed:
        name, leaf = leaves[term.leaf]
        in_order = np.array_equal(term.weights.ravel(), np.arange(leaf.size))
        whole = in_order and leaf.shape[:1] == term.weights.shape[:1]
        function = identity if term.function == Argument() else term.function
        moved = _within(parts, target)
        read = [None] if term.source is None else _within(parts, _range(term.source))
        for part, source in itertools.product(moved, read):
            feature = "one"
            if source is not None:
                feature = features.setdefault((source, function), f"φ{len(features)}")
            blocks.append(Block(f"block{len(blocks)}", part, feature))
            entries.append((blocks[-1].name, name, whole and len(moved) * len(read) == 1))
    require(len({(block.target, block.feature) for block in blocks}) == len(blocks))
    order = list(parts)
    varying = sorted(features.items(), key=lambda item: order.index(item[0][0]))
    layout = Layout(
        parts={name: b - a for name, (a, b) in parts.items()},
        features=(*(Feature(n, part, f) for (part, f), n in varying), Feature("one", None)),
        blocks=tuple(blocks),
    )
    return ReadField(dim=total, table=layout, entries=tuple(entries))


def _range(labels: np.ndarray) -> tuple[int, int]:
    """First and last + 1 of labels that follow each other."""
    require(labels.size > 0 and (np.diff(labels) == 1).all())
    return int(labels[0]), int(labels[-1]) + 1


def _within(parts: dict[str, tuple[int, int]], span: tuple[int, int]) -> list[str]:
    return [name for name, (a, b) in parts.items() if span[0] <= a and b <= span[1]]
