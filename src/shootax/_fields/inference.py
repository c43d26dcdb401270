"""Layout inference: the block layout of a user's field, from the traced program of `f`.

`f` is traced once, and its operations are interpreted with labels instead of numbers. A label says which
entry of the state or of θ is at a place, and which elementwise function has been applied to it. If every
velocity turns out to be a sum of weights times such functions, the field is a block field, and shooting
uses the forms for block fields. An operation without a rule ends the inference. An inferred layout is
then compared with `f` itself at random points.
"""

import dataclasses
import functools
import itertools
import logging
from collections.abc import Hashable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from shootax import _checks as checks
from shootax._activations import Activation, identity
from shootax._fields.agreement import Placed, agrees
from shootax._fields.base import AbstractField, entry_name, size
from shootax._fields.block import AbstractBlockField, Block, Feature, Layout
from shootax._fields.expressions import Argument
from shootax._fields.programs import require_one_precision, traced
from shootax._fields.tracing import (
    Entries,
    NotInferable,
    Term,
    Value,
    Weights,
    interpret,
    join,
    numbers,
    ravel,
    require,
    sums,
)

MOST_PARTS = 16
"""No layout is inferred for a state with more parts than this: its blocks are too small to pay off."""


logger = logging.getLogger("shootax")


class Source(NamedTuple):
    """The origin of a block: `scale` times the entry `entry` of the user's θ, or a part of it. `whole`
    says that it is the whole entry, with the velocities along its leading axis."""

    block: str
    entry: str
    whole: bool
    scale: float


class InferredField(AbstractBlockField):
    """The block field that equals a user's field. Its θ has other names and shapes."""

    dim: int = eqx.field(static=True)
    table: Layout = eqx.field(static=True)
    sources: tuple[Source, ...] = eqx.field(static=True)

    @property
    def layout(self) -> Layout:
        return self.table


def infer_layout(field: AbstractField) -> InferredField | None:
    """Return the same field with its block layout, or `None` if no layout can be inferred.

    **Arguments:** `field`: any field. The layout is inferred from its traced function.

    !!! example

        ```python
        import jax.numpy as jnp
        import shootax as sx

        def f(z, theta):
            return theta["A"] @ jnp.tanh(z) + theta["b"]

        field = sx.FunctionField(f, state=sx.shape(3), theta={"A": sx.shape(3, 3), "b": sx.shape(3)})
        print(sx.extend.infer_layout(field).layout.blocks)
        ```
    """
    checks.instance(field, AbstractField, "field", "infer_layout(UpDown(dim=2))")
    try:
        hash(field)
    except TypeError:  # a field that contains arrays is not hashable
        return _inferred(field)
    return _remembered(field, jnp.result_type(float))


@functools.lru_cache(maxsize=256)
def _remembered(field: AbstractField, dtype: Hashable) -> InferredField | None:
    return _inferred(field)


def _inferred(field: AbstractField) -> InferredField | None:
    if not jax.tree.leaves(field.theta):
        return None
    try:
        inferred, placed = _table(field, _terms(field))
    except NotInferable:
        return None
    if agrees(field, inferred, placed):
        return inferred
    logger.warning(
        "The block layout inferred for %s does not reproduce it at random points, so it keeps the "
        "linear form. Please report this field.",
        type(field).__name__,
    )
    return None


def _terms(field: AbstractField) -> list[tuple[np.ndarray, Term]]:
    """The terms whose sum is the velocity of the state, as one vector."""
    dtype = jnp.result_type(float)
    like = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape, dtype), (field.state, field.theta)
    )
    program = traced(field)
    require_one_precision(program.jaxpr, np.dtype(dtype))
    states, weights = (jax.tree.leaves(tree) for tree in like)
    starts = np.cumsum([0, *(leaf.size for leaf in states)])
    given: list[Value] = [
        Entries.of(start + numbers(leaf.shape), Argument())
        for start, leaf in zip(starts, states, strict=False)
    ]
    given += [Weights(i, numbers(leaf.shape)) for i, leaf in enumerate(weights)]
    velocity = join([ravel(value) for value in interpret(program, given)], 0)
    return [
        (place, dataclasses.replace(term, weights=term.weights[place[place >= 0]]))
        for place, term in sums(velocity).terms
        if (place >= 0).any()
    ]


def _table(
    field: AbstractField, terms: list[tuple[np.ndarray, Term]]
) -> tuple[InferredField, list[Placed]]:
    """The block field of a sum of terms, and the entries of θ that its blocks consist of."""
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
    blocks, origins, places = [], [], []
    for target, term in placed:
        name, leaf = leaves[term.leaf]
        in_order = np.array_equal(term.weights.ravel(), np.arange(leaf.size))
        whole = in_order and leaf.shape[:1] == term.weights.shape[:1]
        function = identity if term.function == Argument() else term.function
        moved = _within(parts, target)
        span = None if term.source is None else _range(term.source)
        used = [None] if span is None else _within(parts, span)
        for part, source in itertools.product(moved, used):
            feature = "one"
            if source is not None:
                feature = features.setdefault((source, function), f"φ{len(features)}")
            blocks.append(Block(f"block{len(blocks)}", part, feature))
            alone = whole and len(moved) * len(used) == 1
            origins.append(Source(blocks[-1].name, name, alone, term.scale))
            entries = term.weights[slice(*(edge - target[0] for edge in parts[part]))]
            if source is not None and span is not None:
                entries = entries[:, slice(*(edge - span[0] for edge in parts[source]))]
            places.append(Placed(blocks[-1].name, term.leaf, entries, term.scale))
    require(len({(block.target, block.feature) for block in blocks}) == len(blocks))
    order = list(parts)
    varying = sorted(features.items(), key=lambda item: order.index(item[0][0]))
    layout = Layout(
        parts={name: b - a for name, (a, b) in parts.items()},
        features=(*(Feature(n, part, f) for (part, f), n in varying), Feature("one", None)),
        blocks=tuple(blocks),
    )
    return InferredField(dim=total, table=layout, sources=tuple(origins)), places


def _range(labels: np.ndarray) -> tuple[int, int]:
    """The first and the last + 1 of consecutive labels."""
    require(labels.size > 0 and (np.diff(labels) == 1).all())
    return int(labels[0]), int(labels[-1]) + 1


def _within(parts: dict[str, tuple[int, int]], span: tuple[int, int]) -> list[str]:
    return [name for name, (a, b) in parts.items() if span[0] <= a and b <= span[1]]
