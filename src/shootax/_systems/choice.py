"""Which form of the equations is cheaper."""

from typing import Literal

from shootax import _checks as checks
from shootax._axes import PARTICLES, size_of
from shootax._fields import AbstractBlockField, AbstractField
from shootax._fields.base import size
from shootax._fields.inference import InferredField, infer_layout
from shootax._fields.programs import forward_differentiable
from shootax._maximisers import AbstractIterative, AbstractMaximiser, ClosedForm
from shootax._penalties import Penalty, Quadratic
from shootax._systems.automatic import AutomaticSystem
from shootax._systems.base import AbstractSystem, ParticleState
from shootax._systems.costs import form_costs
from shootax._systems.dense import DenseSystem
from shootax._systems.inferred import InferredSystem, block_penalty, vectors
from shootax._systems.kernel import KernelSystem
from shootax._systems.linear import LinearSystem
from shootax._systems.sharded import ShardedKernelSystem
from shootax._systems.warm_start import WarmStartSystem

Form = Literal["auto", "dense", "kernel", "linear", "automatic"]
FORMS = ("auto", "dense", "kernel", "linear", "automatic")


def operations(field: AbstractBlockField, particles: int, batch: int) -> dict[str, int]:
    """Count the multiplications and additions of one evaluation for a batch of data, in each form."""
    layout = field.layout
    sizes = {feature.name: layout.feature_size(feature) for feature in layout.features}
    varying = {feature.name for feature in layout.features if feature.part is not None}
    everyone = particles + batch
    # Building Θ and the force are products with the particles, the velocity one with all states.
    dense = 2 * layout.state_size * sum(sizes.values()) * (2 * particles + everyone)
    gram = sum(2 * everyone * particles * sizes[name] for name in varying)
    velocity = 2 * everyone * particles * layout.state_size
    force = 2 * particles**2 * (layout.state_size + sum(sizes[name] for name in varying))
    return {"dense": dense, "kernel": gram + velocity + force}


def cheaper(
    field: AbstractBlockField, particles: int, batch: int, platform: str | None = None
) -> Literal["dense", "kernel"]:
    """The form that is expected to take less time on a platform, by default the one in use.

    The count is that of [`operations`][shootax.systems.operations], plus what the kernel form costs
    besides its products; see `costs.py`.
    """
    counts, costs = operations(field, particles, batch), form_costs(platform)
    gram = costs.gram_element * particles * (batch + 2 * particles)
    beside = gram + costs.kernel_overhead
    return "dense" if counts["dense"] <= counts["kernel"] + beside else "kernel"


def shooting_system(
    field: AbstractField,
    penalty: Penalty,
    maximiser: AbstractMaximiser,
    particles: ParticleState,
    batch: int,
    form: Form,
) -> AbstractSystem:
    """The shooting equations in the given form; `"auto"` chooses the cheapest."""
    checks.one_of(form, FORMS, "form")
    if isinstance(maximiser, AbstractIterative) and form in ("auto", "automatic"):
        return WarmStartSystem(field, penalty, maximiser, particles)
    closed = isinstance(maximiser, ClosedForm) and isinstance(penalty, Quadratic)
    # The reverse passes of the other forms differentiate the field in forward mode.
    if form == "automatic" or (form == "auto" and not (closed and forward_differentiable(field))):
        return AutomaticSystem(field, penalty, maximiser, particles)
    if not closed or not isinstance(penalty, Quadratic):
        raise ValueError(
            f"The {form} form needs a field linear in θ and a quadratic penalty, got "
            f"{type(field).__name__} with {type(penalty).__name__}. Use form='automatic'."
        )
    if form == "linear":
        return LinearSystem(field, penalty, maximiser, particles)
    own = field.as_blocks()
    if own is not None:
        return _block_system(own, penalty, particles, batch, form)
    inferred = infer_layout(field)
    by_block = None if inferred is None else block_penalty(inferred, penalty)
    if inferred is not None and by_block is not None and (form != "auto" or _pays(inferred, field)):
        blocks = _block_system(inferred, by_block, vectors(particles), batch, form)
        return InferredSystem(field, penalty, maximiser, particles, blocks)
    if form == "auto":
        return LinearSystem(field, penalty, maximiser, particles)
    raise ValueError(
        f"The {form} form needs a field made of blocks, and {type(field).__name__} is not one, or "
        "not in a way that layout inference recognises. Use form='linear'."
    )


def _block_system(
    field: AbstractBlockField, penalty: Quadratic, particles: ParticleState, batch: int, form: Form
) -> DenseSystem | KernelSystem | ShardedKernelSystem:
    shared = size_of(PARTICLES) > 1
    if shared and form != "dense":  # particles spread over devices are many
        return ShardedKernelSystem(field, penalty, particles)
    if form == "auto":
        form = cheaper(field, particles.q.shape[0], batch)
    kind = DenseSystem if form == "dense" else KernelSystem
    return kind(field, penalty, particles)


def _pays(inferred: InferredField, field: AbstractField) -> bool:
    """Whether the matrix Θ of an inferred layout is not mostly zeros."""
    layout = inferred.layout
    columns = sum(layout.feature_size(feature) for feature in layout.features)
    return layout.state_size * columns <= 4 * size(field.theta)
