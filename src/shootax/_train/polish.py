"""The end of a training by L-BFGS, on all samples at once."""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from shootax import _checks as checks
from shootax._measures import penalty
from shootax._train.epoch import (
    Progress,
    Recipe,
    Report,
    Settings,
    end_epoch,
    loss_sum,
    total_weight,
    weighed,
)
from shootax._train.mesh import Sharing, even_share, placed_evenly
from shootax._train.orders import room_for_validation, with_copies
from shootax._train.quasi_newton import Search, begin_search, choose, search_step
from shootax._train.samples import Data
from shootax._train.stopping import RUNNING, STOPPED
from shootax._train.update import Frame, step_sizes

AT_ONCE = 1024
"""Samples that are evaluated at a time, where the batches of the training are smaller."""


@dataclasses.dataclass(frozen=True)
class LBFGS:
    """L-BFGS on all samples, to finish a training: the option `polish` of [`shootax.fit`][].

    It starts from the model that Adam found, or from the best one where `validation` keeps it. The
    objective never rises again, beyond rounding, and is usually much lower than that of Adam after
    the same time.

    !!! example

        ```python
        import jax
        import numpy as np
        import shootax as sx

        x = np.linspace(-1, 1, 40)[:, None]
        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        result = sx.fit(net, x, x**2, epochs=3, polish=sx.LBFGS(epochs=5))
        print(len(result.history["objective"]))  # 8
        ```
    """

    epochs: int = 100
    _: dataclasses.KW_ONLY
    memory: int = 10
    batch_size: int | None = None

    def __post_init__(self) -> None:
        checks.positive_integer(self.epochs, "epochs")
        checks.positive_integer(self.memory, "memory")
        if self.batch_size is not None:
            checks.positive_integer(self.batch_size, "batch_size")


LBFGS.__init__.__doc__ = """**Arguments:**

- `epochs`: each is one evaluation of the objective and its gradient on all samples. A step of L-BFGS
    usually needs one, sometimes more to find how far to go. It ends earlier where the objective
    cannot be lowered any more.
- `memory`: the number of past steps from which the curvature is estimated.
- `batch_size`: how many samples are evaluated at a time. It changes memory and speed, not the result.
    By default 1,024, or the `batch_size` of `fit` if that is more.
"""


def as_polish(value: Any) -> LBFGS | None:
    """The option `polish` of `fit`, or an error that says how to give it."""
    return (
        None
        if value is None
        else checks.instance(value, LBFGS, "polish", "polish=LBFGS(epochs=100)")
    )


class Polishing(NamedTuple):
    """What moves: a search for `u` in parameters = `start` + `sizes` · u, and the two terms of the
    objective at its best point. Sizes are the factors `lr_scale`, zero for what is frozen."""

    search: Search
    start: Float[Array, " parameters"]
    sizes: Float[Array, " parameters"]
    misfit: Array
    cost: Array

    @property
    def parameters(self) -> Array:
        return self.at(self.search.point)

    @property
    def model(self) -> Array:
        """The parameters to evaluate."""
        return self.parameters

    def at(self, point: Array) -> Array:
        return self.start + self.sizes * point


def begin_polish(progress: Progress, settings: Settings, recipe: Recipe, memory: int) -> Progress:
    """The training, as it goes on from its epochs. Nets that diverged, or that a callback stopped, stay
    as they are."""
    start, best, status = progress.model, progress.best, progress.status
    if best is not None:
        over = best.waited.astype(settings.patience.dtype) >= settings.patience
        status = jnp.where((status == STOPPED) & over, RUNNING, status)
        best = best._replace(waited=jnp.zeros_like(best.waited))
    sizes = step_sizes(progress.epoch, settings.numbers, recipe.rule, start.dtype)
    zero = jnp.zeros((), jnp.result_type(float))
    moving = Polishing(begin_search(jnp.zeros_like(start), memory), start, sizes, zero, zero)
    return progress._replace(moving=moving, best=best, status=status)  # pyright: ignore


def polish_epoch(
    progress: Progress,
    frame: Frame,
    data: Data,
    validation: Data | None,
    settings: Settings,
    recipe: Recipe,
) -> tuple[Progress, Report]:
    """One evaluation on all samples, and what L-BFGS makes of it; the validation loss after it.

    The report is about the best point so far, not about the one that was tried.
    """
    moving: Any = progress.moving
    total, (misfit, cost), gradient = whole_objective(
        moving.at(moving.search.trial), frame, data, settings, recipe
    )
    search, moved = search_step(moving.search, total, moving.sizes * gradient)
    misfit, cost = choose(moved, (misfit, cost), (moving.misfit, moving.cost))
    polished = Polishing(search, moving.start, moving.sizes, misfit, cost)
    value = weighed(misfit, cost, settings)
    after, held_out = end_epoch(
        progress._replace(moving=polished),  # pyright: ignore[reportArgumentType]
        value,
        frame,
        validation,
        settings,
        recipe,
    )
    ran = progress.status == RUNNING
    parts = (value[None], misfit[None], cost[None])
    return after, Report(*parts, held_out, jnp.full((), jnp.nan), ran, progress.status)


def is_over(progress: Progress) -> Array:
    """Whether the objective cannot be lowered any more."""
    moving: Any = progress.moving
    return moving.search.over


def whole_objective(
    vector: Array, frame: Frame, data: Data, settings: Settings, recipe: Recipe
) -> tuple[Array, tuple[Array, Array], Array]:
    """The objective on all samples, its data loss and penalty, and its gradient, of all devices."""
    sharing, size = recipe.sharing, recipe.batch_size
    blocks: Data = jax.tree.map(lambda leaf: leaf.reshape(-1, size, *leaf.shape[1:]), data)
    number = blocks.sample_weight.shape[0]
    weight = jnp.sum(data.sample_weight)
    weight = total_weight(weight if sharing is None else sharing.total(weight))
    share = number if sharing is None else number * sharing.devices

    def objective(vector: Array, block: Data) -> tuple[Array, tuple[Array, Array]]:
        model = frame.model(vector)
        misfit, cost = loss_sum(model, block, recipe) / weight, penalty(model) / share
        return weighed(misfit, cost, settings), (misfit, cost)

    gradient_of = jax.value_and_grad(objective, has_aux=True)
    if number == 1:
        found = gradient_of(vector, jax.tree.map(lambda leaf: leaf[0], blocks))
    else:
        empty = jax.tree.map(
            lambda leaf: jnp.zeros(leaf.shape, leaf.dtype),
            jax.eval_shape(gradient_of, vector, jax.tree.map(lambda leaf: leaf[0], blocks)),
        )

        def add(i: Array, known: Any) -> Any:
            block = jax.tree.map(lambda leaf: leaf[i], blocks)
            return jax.tree.map(jnp.add, known, gradient_of(vector, block))

        found = jax.lax.fori_loop(0, number, add, empty)
    (_, (misfit, cost)), gradient = found if sharing is None else sharing.total(found)
    return weighed(misfit, cost, settings), (misfit, cost), gradient


def whole_data(data: Data, samples: int, wanted: int, sharing: Sharing | None) -> tuple[Data, int]:
    """The samples, filled up to whole blocks, where the devices hold them, and the size of a block:
    `wanted`, or a little more than there are samples. `data` may have more than so many `samples`."""
    if sharing is not None:
        block = min(wanted, even_share(sharing, data.sample_weight.shape[0]))
        return placed_evenly(sharing, data, block), block
    real: Data = jax.tree.map(lambda leaf: np.asarray(leaf)[:samples], data)
    if samples <= wanted:
        full = room_for_validation(real)
        return full, full.sample_weight.shape[0]
    return with_copies(real, -(-samples // wanted) * wanted), wanted
