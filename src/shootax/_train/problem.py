"""Check all inputs of a training, except the nets and their seeds."""

import dataclasses
import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, PyTree

from shootax import _checks as checks
from shootax._controls import Particles
from shootax._disk_cache import keeping_programs
from shootax._integrators import RK4, Checkpointed, Direct, Dopri5, Euler, Heun, Tsit5
from shootax._measures import nets as nets_in
from shootax._systems import cheaper, operations
from shootax._train.epoch import Recipe, Settings
from shootax._train.hosts import gathered, several
from shootax._train.losses import Loss, loss_function
from shootax._train.mesh import Sharing, as_sharing, placed, placed_validation
from shootax._train.optimizer import as_optimizer
from shootax._train.orders import Orders, few_batch_sizes, room_for_training, room_for_validation
from shootax._train.polish import LBFGS, as_polish
from shootax._train.recommended import recommended
from shootax._train.results import Callback
from shootax._train.samples import AbstractSampler, Data, as_floats, prepare, sample_count
from shootax._train.targets import matched
from shootax._train.update import translate
from shootax._train.validation import as_validation


class Problem(NamedTuple):
    """Data and options in the form that the compiled program takes."""

    data: Data | AbstractSampler
    validation: Data | None
    settings: Settings
    recipe: Recipe
    epochs: int
    callbacks: tuple[Callback, ...]
    weight: np.ndarray  # sample weights without padding
    polish: LBFGS | None = None
    medium: bool = False  # products of a size that only some libraries distribute over threads

    def placed(self) -> "Problem":
        """The same problem, with its arrays on the devices that train together, if there are several."""
        sharing = self.recipe.sharing
        if sharing is None:
            return self
        sharing, data = placed(sharing, self.data)
        return self._replace(
            data=data,
            validation=placed_validation(sharing, self.validation),
            settings=sharing.replicated(self.settings),
            recipe=dataclasses.replace(self.recipe, sharing=sharing),
        )

    def orders(self, seeds: Sequence[int]) -> Orders:
        """The orders of the samples for nets with these seeds."""
        room = max(sample_count(self.data), len(self.weight))
        batch = self.recipe.batch_size
        fresh = isinstance(self.data, AbstractSampler)
        return Orders(seeds, self.weight, batch, -(-room // batch), fresh)


@keeping_programs
def make_problem(
    net: Any,
    x: PyTree[Array] | AbstractSampler,
    y: PyTree[Array] | None,
    *,
    epochs: int,
    batch_size: int,
    loss: str | Loss,
    data_strength: float,
    penalty_strength: float,
    times: Any,
    sample_weight: Any,
    optimizer: Any,
    validation: Any,
    callbacks: Any,
    seed: int,
    mesh: Any = None,
    polish: Any = None,
) -> Problem:
    """Check all arguments from the user. The options are those of [`shootax.fit`][]."""
    check_model(net, x)
    epochs = checks.positive_integer(epochs, "epochs")
    batch_size = checks.positive_integer(batch_size, "batch_size")
    held, finish = as_validation(validation), as_polish(polish)
    if finish is not None and isinstance(x, AbstractSampler):
        raise ValueError(
            "polish needs the same samples in every epoch, but a sampler draws new ones. Draw samples "
            "once and give them as x and y, or leave out polish."
        )
    measure = loss_function(loss)
    chosen = recommended(net, epochs) if optimizer is None else as_optimizer(optimizer)
    rule, numbers = translate(chosen, net)
    if not all(map(checks.is_concrete, jax.tree.leaves((net, x, y, sample_weight, times)))):
        raise ValueError(
            "fit needs concrete arrays, but some are traced: it cannot run inside jax.jit, grad or vmap. "
            "Call it outside, or use a sx.TrainingStep inside; fit_many trains several nets at once."
        )
    data, held_out, shared = prepare(x, y, sample_weight, times, held.data, as_seed(seed))
    data = matched(net, data, measure, shared)
    if held_out is not None:
        held_out = matched(net, held_out, measure, shared, "validation ")
        held_out = room_for_validation(held_out)
    weight = (
        np.asarray(data.sample_weight) if isinstance(data, Data) else np.ones(sample_count(data))
    )
    sharing = as_sharing(mesh, lambda: pays_shared(net, batch_size))
    check_integrators(net, sharing)
    if several() and not (held.data is None or isinstance(held.data, tuple)):
        raise ValueError(
            "A fraction cannot be held out with several processes. Give the validation data as (x, y), "
            "where each process has its own part."
        )
    if sharing is None and several():
        raise ValueError(
            'There are several processes. Train with mesh="auto", otherwise each would train on its own.'
        )
    if sharing is not None and isinstance(data, Data):
        weight = np.concatenate(gathered(weight))
    elif isinstance(data, Data):
        data = room_for_training(data)
    recipe = Recipe(
        loss=measure,
        rule=rule,
        batch_size=few_batch_sizes(batch_size, len(weight)),
        shared_times=shared,
        keeps_best=held.keep_best or held.patience is not None,
        sharing=sharing,
    )
    settings = Settings(
        numbers=numbers,
        data_strength=checks.non_negative_number(data_strength, "data_strength"),
        penalty_strength=checks.non_negative_number(penalty_strength, "penalty_strength"),
        epochs=epochs,
        patience=math.inf if held.patience is None else held.patience,
        size=None,  # pyright: ignore[reportArgumentType]
    )
    settings = jax.tree.map(as_floats, settings)
    called = _as_callbacks(callbacks)
    medium = sharing is None and medium_products(net, batch_size)
    problem = Problem(data, held_out, settings, recipe, epochs, called, weight, finish, medium)
    size = jax.device_put(problem.orders([0]).size())
    return problem._replace(settings=settings._replace(size=size))


SHARED = 20_000
"""The approximate size of the states of one evaluation above which cores that share a batch are faster
than one."""

THREADED = 10_000_000
"""The approximate number of operations for the particles in one evaluation above which products with
several threads are faster than several devices, each of which moves all particles."""

MEDIUM = 40_000_000
"""The number of these operations up to which XLA's older library distributes products better."""


def pays_shared(model: Any, batch_size: int) -> bool:
    """Whether the cores of a CPU should share the batch as devices. This pays if a step is long enough
    and most of it is not spent on the particles."""
    fixed = not any(isinstance(net.integrator, Dopri5 | Tsit5) for net in nets_in(model))
    work = max((net.work(batch_size) for net in nets_in(model)), default=SHARED)
    return fixed and work >= SHARED and _particle_operations(model, batch_size) < THREADED


def medium_products(model: Any, batch_size: int) -> bool:
    """Whether most of the work is in products that only XLA's older library distributes over threads."""
    return THREADED <= _particle_operations(model, batch_size) <= MEDIUM


def _particle_operations(model: Any, batch_size: int) -> float:
    """The number of operations for the particles in one evaluation of the largest net in which they take
    most of the work, in products of the kernel form."""
    found = 0.0
    for net in nets_in(model):
        control, blocks = net.control, net.field.as_blocks()
        if not isinstance(control, Particles) or blocks is None:
            continue
        number = control.ensemble.particles
        chosen = cheaper(blocks, number, batch_size) if control.form == "auto" else control.form
        alone, all_ = (operations(blocks, number, n)["kernel"] for n in (0, batch_size))
        if chosen == "kernel" and alone >= all_ / 2:
            found = max(found, alone)
    return found


def _steady(integrator: Any) -> bool:
    """Whether all devices do the same operations, independently of how the particles move."""
    explicit = isinstance(integrator, Euler | Heun | RK4)
    return explicit and isinstance(integrator.gradient, Direct | Checkpointed)


def check_integrators(model: Any, sharing: Sharing | None) -> None:
    """Raise an error if devices that share a batch, or the particles, would take different steps."""
    for net in [] if sharing is None or sharing.devices == 1 else nets_in(model):
        integrator = net.integrator
        if isinstance(integrator, Dopri5 | Tsit5):
            raise ValueError(
                f"{type(integrator).__name__} chooses its steps by the whole batch, but each of several "
                "devices has only a part of it. Use an integrator with fixed steps, such as "
                "sx.RK4(steps=10), or train without mesh."
            )
        if sharing is None or sharing.particle_devices == 1:
            continue
        if not _steady(integrator):
            raise ValueError(
                "Particles can be sharded over devices only with Euler, Heun or RK4, and the gradient "
                f"modes Direct and Checkpointed; got {integrator}. Use one of these, or a mesh with "
                'only the axis "data".'
            )


def as_seed(seed: Any, name: str = "seed") -> int:
    """Check a seed, for both JAX's random keys and NumPy's generators."""
    try:
        whole = -1 if isinstance(seed, bool) else operator.index(seed)
    except TypeError:
        whole = -1
    if not 0 <= whole < 2**32:
        raise ValueError(f"{name} must be a whole number from 0 to 2**32 - 1, got {seed!r}.")
    return whole


def check_model(net: Any, x: Any) -> None:
    """Raise an error unless the first two arguments are a model and data."""
    order = "The order is fit(net, x, y)"
    if not callable(net) or isinstance(net, AbstractSampler):
        raise ValueError(f"The first argument must be a model, got {_kind(net)}. {order}.")
    if not jax.tree.leaves(eqx.filter(net, eqx.is_inexact_array)):
        raise ValueError(
            f"{type(net).__name__} has no parameters to train. Give a model whose arrays are visible to "
            "JAX, such as a sx.Net or another equinox.Module."
        )
    if callable(x) and not isinstance(x, AbstractSampler):
        raise ValueError(f"x must be arrays or a sx.AbstractSampler, got {_kind(x)}. {order}.")


def _kind(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return f"an array of shape {shape}"
    return f"{value!r}" if isinstance(value, str) else f"a {type(value).__name__}"


def _as_callbacks(callbacks: Any) -> tuple[Callback, ...]:
    if isinstance(callbacks, list | tuple) and all(callable(each) for each in callbacks):
        return tuple(callbacks)
    raise ValueError(
        "callbacks must be a list of functions of one report, as in callbacks=[log]; got "
        f"{callbacks!r}."
    )
