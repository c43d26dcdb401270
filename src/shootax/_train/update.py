"""One step of training: the gradient of an objective, and the optimiser's update.

[`shootax.fit`][] and [`shootax.TrainingStep`][] both run `advance`.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

from shootax import _checks as checks
from shootax._compile import inside_a_program, on_cpu
from shootax._train.optax_checks import check_complete, check_transform
from shootax._train.optimizer import Optimizer
from shootax._train.parameter_groups import decay_of, lr_scale_of, thaw_epochs
from shootax._train.schedules import AbstractSchedule, Constant

ADAM = optax.scale_by_adam()


class Frame(NamedTuple):
    """A model without its parameters, and a function that makes these from a vector."""

    static: Any
    unravel: "Unravel"

    def model(self, vector: Array) -> Any:
        return eqx.combine(self.unravel(vector), self.static)


def take_apart(model: Any) -> tuple[Float[Array, " parameters"], Frame]:
    """Separate a model into its parameters, as one vector, and the rest."""
    parameters, static = eqx.partition(model, eqx.is_inexact_array)
    leaves, tree = jax.tree.flatten(parameters)
    if sum(leaf.size for leaf in leaves) == 0:
        raise ValueError(f"{type(model).__name__} has no parameters to train.")
    unravel = Unravel(tree, tuple((leaf.shape, np.dtype(leaf.dtype)) for leaf in leaves))
    if not unravel.is_uniform or not _on_host(leaves):
        return ravel_pytree(parameters)[0], Frame(static, unravel)
    vector = np.concatenate([np.ravel(leaf) for leaf in leaves])
    return jax.device_put(vector), Frame(static, unravel)


@dataclasses.dataclass(frozen=True)
class Unravel:
    """Convert a vector to a tree of arrays.

    Outside of a compiled program NumPy does this, because JAX would compile programs for it.
    """

    tree: Any  # the structure
    kinds: tuple[tuple[tuple[int, ...], np.dtype], ...]

    def __call__(self, vector: Array) -> Any:
        host = _on_host([vector])
        plain = np.asarray(vector) if host else vector
        ends = np.cumsum([math.prod(shape) for shape, _ in self.kinds])
        pieces = (plain[first:end] for first, end in zip((0, *ends[:-1]), ends, strict=True))
        arrays = [
            piece.reshape(shape).astype(dtype)
            for piece, (shape, dtype) in zip(pieces, self.kinds, strict=True)
        ]
        return jax.tree.unflatten(self.tree, jax.device_put(arrays) if host else arrays)

    @property
    def is_uniform(self) -> bool:
        """Whether all arrays have one dtype."""
        return len({dtype for _, dtype in self.kinds}) == 1


def _on_host(arrays: Sequence[Any]) -> bool:
    """Whether arrays are concrete, on the CPU, and on JAX's default device."""
    if not all(map(checks.is_concrete, arrays)) or inside_a_program():
        return False
    usual = jax.device_put(np.zeros(())).devices()
    return on_cpu(arrays) and all(leaf.devices() == usual for leaf in arrays)


@dataclasses.dataclass(frozen=True)
class Rule:
    """The settings of an optimiser that determine the compiled program of a step.

    Adam treats every parameter alike, so it gets all parameters as one vector: for small models, the
    number of operations takes the time, not the arithmetic. Other transformations get the arrays of the
    model. The updates of a `complete` optimiser are used unchanged.
    """

    transform: optax.GradientTransformation
    sees_arrays: bool
    complete: bool
    schedule: AbstractSchedule
    clipped: bool
    scaled: bool
    decayed: bool
    averaged: bool


class Numbers(NamedTuple):
    """The numbers of an optimiser, which can change without recompilation.

    `thaw`, `lr_scale` and `decay` have an entry for every parameter. `thaw` is the first epoch in which
    it is trained.
    """

    learning_rate: Any
    clip: Any
    thaw: Any
    lr_scale: Any
    decay: Any
    ema: Any


class Moving(NamedTuple):
    """The part of the state that changes with every step."""

    parameters: Float[Array, " parameters"]
    optimizer: PyTree
    average: Float[Array, " parameters"] | None

    @property
    def model(self) -> Array:
        """The parameters to evaluate: their moving average, if there is one."""
        return self.parameters if self.average is None else self.average


def translate(
    optimizer: Optimizer | optax.GradientTransformation, model: Any
) -> tuple[Rule, Numbers]:
    """Split an optimiser for a model into its program and its numbers."""
    complete = not isinstance(optimizer, Optimizer)
    if complete:
        check_complete(optimizer, model)
        transform, given = optimizer, Optimizer(schedule=Constant())
    else:
        transform, given = optimizer.transform, optimizer
        if transform is not None:
            check_transform(transform, model)
    rule = Rule(
        transform=ADAM if transform is None else transform,
        sees_arrays=transform is not None,
        complete=complete,
        schedule=given.schedule,
        clipped=given.clip is not None,
        scaled=bool(given.lr_scale),
        decayed=bool(given.weight_decay),
        averaged=given.ema > 0,
    )
    numbers = Numbers(
        learning_rate=np.nan if complete else given.learning_rate,
        clip=1.0 if given.clip is None else given.clip,
        thaw=_vector(model, thaw_epochs(model, given.freeze)),
        lr_scale=_vector(model, lr_scale_of(model, given.lr_scale)),
        decay=_vector(model, decay_of(model, given.weight_decay)),
        ema=given.ema,
    )
    dtype = jnp.result_type(float)
    return rule, jax.tree.map(lambda value: jax.device_put(np.asarray(value, dtype)), numbers)


def begin(vector: Array, frame: Frame, rule: Rule) -> Moving:
    """The state before the first step."""
    average = vector if rule.averaged else None
    if rule.transform is ADAM and _on_host([vector]):
        # All zeros, which need no compiled program.
        shapes = jax.eval_shape(ADAM.init, vector)
        zeros = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)
        return Moving(vector, jax.device_put(zeros), average)
    seen = frame.unravel(vector) if rule.sees_arrays else vector
    return Moving(vector, rule.transform.init(seen), average)


def step_sizes(epoch: Array, numbers: Numbers, rule: Rule, dtype: Any) -> Array:
    """A factor for the step of every parameter, which is zero if it is frozen in this epoch."""
    thawed = (epoch.astype(numbers.thaw.dtype) >= numbers.thaw).astype(dtype)
    return thawed * numbers.lr_scale.astype(dtype) if rule.scaled else thawed


def advance(
    moving: Moving,
    objective: Callable[[Array], tuple[Array, Any]],
    frame: Frame,
    rule: Rule,
    numbers: Numbers,
    *,
    learning_rate: Array,
    sizes: Array,
    passed: Array,
    together: Callable[[Any, Array], tuple[Any, Array]] | None = None,
) -> tuple[Moving, tuple[Array, Any]]:
    """Return the state after a step, and the objective before it with its parts.

    `objective` maps the vector of parameters to a value and its parts, `sizes` is the result of
    `step_sizes`, and `passed` is the number of steps before this one. A frozen part gets no updates,
    but the optimiser accumulates its moments, so that its first step has a sensible size. If devices
    train together, `together` combines the objectives and gradients of all devices.
    """
    parameters, optimizer, average = moving
    found, gradient = jax.value_and_grad(objective, has_aux=True)(parameters)
    (total, parts), gradient = (found, gradient) if together is None else together(found, gradient)
    if rule.scaled:
        gradient = gradient * numbers.lr_scale.astype(gradient.dtype)
    if rule.clipped:
        size = jnp.sqrt(jnp.sum(gradient**2))
        shrink = jnp.minimum(1.0, numbers.clip / jnp.maximum(size, 1e-30))
        gradient = gradient * shrink.astype(gradient.dtype)
    updates, optimizer = _updates(gradient, optimizer, parameters, frame, rule)
    if rule.decayed:
        updates = updates + numbers.decay.astype(updates.dtype) * parameters
    if rule.complete:
        moved = parameters + updates.astype(parameters.dtype) * sizes
    else:
        moved = parameters - learning_rate.astype(updates.dtype) * (updates * sizes)
    if average is not None:
        # The decay grows from 0.1. With a constant one, the initial parameters would count for long.
        keeps = jnp.minimum(numbers.ema, (1 + passed) / (10 + passed))
        average = moved + keeps.astype(moved.dtype) * (average - moved)
    return Moving(moved, optimizer, average), (total, parts)


def _updates(
    gradient: Array, optimizer: Any, parameters: Array, frame: Frame, rule: Rule
) -> tuple[Array, Any]:
    """The updates as a vector, from an optimiser of a vector or of the arrays of the model."""
    if not rule.sees_arrays:
        updates, optimizer = rule.transform.update(gradient, optimizer, parameters)
        return jnp.asarray(updates), optimizer
    trees = frame.unravel(gradient), optimizer, frame.unravel(parameters)
    updates, optimizer = rule.transform.update(*trees)
    return ravel_pytree(updates)[0], optimizer


def _vector(model: Any, numbers: PyTree) -> np.ndarray:
    """Convert numbers for the arrays of a model to a vector with an entry for each parameter."""
    arrays = jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))
    pairs = zip(jax.tree.leaves(numbers), arrays, strict=True)
    return np.concatenate([np.broadcast_to(number, array.shape).ravel() for number, array in pairs])
