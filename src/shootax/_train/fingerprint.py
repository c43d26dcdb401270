"""Identify the training that a checkpoint belongs to."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np

from shootax._train.data_digest import data_digest
from shootax._train.losses import LOSSES
from shootax._train.problem import Problem
from shootax._train.samples import AbstractSampler, Data, drawn
from shootax._train.targets import outputs_of
from shootax._train.update import ADAM, Frame


def fingerprint(problem: Problem, frame: Frame, state: Any, seeds: Sequence[int]) -> str:
    """A hash that differs between trainings with different numbers.

    Functions from the user, such as the loss and an Optax optimiser, are identified by what they compute:
    by the program that JAX traces, with all numbers that they close over.
    """
    recipe, digest = problem.recipe, hashlib.sha256()
    rule = recipe.rule
    model = frame.unravel(_first_vector(state))
    words = (
        repr(rule.schedule),
        (recipe.batch_size, recipe.shared_times, recipe.keeps_best),
        (rule.complete, rule.clipped, rule.scaled, rule.decayed, rule.averaged),
        tuple(seeds),
        eqx.tree_pformat(frame.static),
    )
    words = words if problem.polish is None else (*words, problem.polish)
    digest.update(_without_addresses(repr(words)).encode())
    for part in (*_loss(problem, eqx.combine(model, frame.static)), *_transform(rule, model)):
        digest.update(part)
    samples = [data for data in (problem.data, problem.validation) if isinstance(data, Data)]
    for data in samples:
        digest.update(data_digest(data))
    drawn_from = problem.data if isinstance(problem.data, AbstractSampler) else None
    arrays = eqx.filter((drawn_from, problem.settings), eqx.is_array)
    for leaf in (*plain_leaves(arrays), *plain_leaves(state)):
        digest.update(_bytes(leaf))
    return digest.hexdigest()


def is_number(leaf: Any) -> bool:
    """Whether an array holds numbers rather than random keys."""
    return not jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def plain_leaves(tree: Any) -> list[np.ndarray]:
    """The arrays of a tree, with random keys replaced by their key data."""
    leaves = jax.tree.leaves(tree)
    return [np.asarray(leaf if is_number(leaf) else jax.random.key_data(leaf)) for leaf in leaves]


def _first_vector(state: Any) -> Any:
    vector = state.moving.parameters
    return vector if vector.ndim == 1 else vector[0]


def _loss(problem: Problem, model: Any) -> Iterator[bytes]:
    recipe = problem.recipe
    for name, loss in LOSSES.items():
        if recipe.loss is loss:
            yield name.encode()
            return
    data: Any = problem.data
    if isinstance(data, AbstractSampler):
        data = eqx.filter_eval_shape(drawn, data, jax.random.key(0))
    assert isinstance(data, Data)
    output = outputs_of(model, data, recipe.shared_times)
    one = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), (output, data.y)
    )
    yield from _computation(recipe.loss, *one)


def _transform(rule: Any, parameters: Any) -> Iterator[bytes]:
    if rule.transform is ADAM:
        yield b"adam"
        return
    state = jax.eval_shape(rule.transform.init, parameters)
    yield from _computation(rule.transform.update, parameters, state, parameters)


def _computation(function: Any, *arguments: Any) -> Iterator[bytes]:
    """The traced program of a function as text, and the constants that it closes over."""
    closed = jax.make_jaxpr(function)(*arguments)
    yield _without_addresses(str(closed.jaxpr)).encode()
    yield from _constants(closed)


def _constants(closed: Any) -> Iterator[bytes]:
    for constant in getattr(closed, "consts", ()):
        yield _bytes(np.asarray(constant))
    for equation in getattr(closed, "jaxpr", closed).eqns:
        for value in jax.tree.leaves(list(equation.params.values())):
            if hasattr(value, "eqns"):
                yield from _constants(value)


def _bytes(array: np.ndarray) -> bytes:
    return f"{array.dtype}{array.shape}".encode() + np.ascontiguousarray(array).tobytes()


def _without_addresses(text: str) -> str:
    """Remove memory addresses, which the representation of functions contains."""
    return re.sub(r"0x[0-9a-f]+", "", text)
