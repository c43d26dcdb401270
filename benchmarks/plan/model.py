"""Model of a training step on each device: operations, memory, bytes sent, and the time of a step."""

import dataclasses
import math
from typing import Any, Literal, NamedTuple

from shootax import UpDown
from shootax._systems import operations

Form = Literal["dense", "kernel", "sharded dense"]
Gradient = Literal["direct", "checkpointed"]

FLOAT = 4
"""Bytes of a number."""

BACKWARD = 2.0
"""Operations of the reverse pass relative to the forward pass: each product has two adjoints."""

PASSES = 4
"""How often the large arrays are read and written in one evaluation."""


@dataclasses.dataclass(frozen=True)
class Shape:
    """A training: UpDown with `inflation * dim` hidden units, `steps` steps of RK4, one batch."""

    name: str
    dim: int
    inflation: int
    particles: int
    batch: int
    steps: int = 10

    @property
    def hidden(self) -> int:
        return self.dim * self.inflation

    @property
    def state(self) -> int:
        return self.dim + self.hidden

    @property
    def evaluations(self) -> int:
        return 4 * self.steps

    @property
    def parameters(self) -> int:
        """Positions and momenta, and the affine lift."""
        return 2 * self.particles * self.state + self.hidden * (self.dim + 1)


class Accelerator(NamedTuple):
    """Published peak rates of one device, in operations and bytes per second.

    `near` is the bandwidth in one direction inside a group of `group` devices, and `far` the bandwidth
    between groups. `start` is the time to start an operation, and `latency` the time of one message.
    """

    name: str
    operations: float
    memory: float
    bandwidth: float
    near: float
    far: float
    group: int
    start: float
    latency: float
    source: str


H100 = Accelerator(
    *("H100 SXM", 494.7e12, 80e9, 3.35e12, 450e9, 50e9, 8, 3e-6, 5e-6),
    source="NVIDIA H100 datasheet: TF32 without sparsity, HBM3, NVLink; DGX H100: 400 Gb/s a GPU",
)
V5P = Accelerator(
    *("TPU v5p", 459e12, 95 * 2**30, 2.765e12, 600e9, 600e9, 6144, 1e-6, 1e-6),
    source="Google Cloud, TPU v5p: bfloat16, HBM, interchip interconnect of 4,800 Gb/s, one slice",
)
ACCELERATORS = (H100, V5P)


class Need(NamedTuple):
    """Operations, memory and communication of one device in one training step."""

    operations: float
    traffic: float
    memory: float
    reduced: float
    gathered: float
    launches: float


# Copies of each kind of array that a compiled program keeps for an evaluation, fitted to
# `memory_analysis` of the programs of `check.py`.
DENSE_STATES, DENSE_ONCE, DENSE_WEIGHTS = 1.6, 5.3, 5.8
KERNEL_STATES, KERNEL_ENTRIES, KERNEL_OWN, KERNEL_GATHERED = 2.5, 2.4, 2.6, 2.6


def need(shape: Shape, data: int, particles: int, form: Form, kept: Gradient = "direct") -> Need:
    """The count for one of `data * particles` devices, without the optimiser.

    Every device has its part of the batch. The dense form, and the kernel form without a particle axis,
    repeat the work of the particles on every device. With a particle axis, a device holds the rows of
    the Gram matrices for its own particles and samples, and gathers the positions and momenta of all
    particles in every evaluation.

    `"sharded dense"` is not built. In this form, every device would sum Θ over its own particles, one
    all-reduce in every evaluation would give the whole Θ, and parameters and moments would be stored
    where their particles are.
    """
    devices = data * particles
    rows, all_ = shape.batch / devices, shape.particles
    # The current dense form has all particles on every device.
    own = all_ if form == "dense" else all_ / particles
    states = (rows + 2 * own) * shape.state
    gathered = 2 * all_ * shape.state if particles > 1 else 0.0
    entries, own_entries = (rows + own) * all_, own * all_
    weights = shape.state * (shape.state + 1)
    # `Checkpointed` keeps one step at a time, and runs every step three times instead of once.
    passes = 1 + BACKWARD if kept == "direct" else 3 + BACKWARD
    held = shape.evaluations if kept == "direct" else 4
    if form == "sharded dense":
        gathered = weights  # Θ is a sum over particles: one all-reduce of it, twice its size
    if form != "kernel":
        arrays = (held * DENSE_STATES + DENSE_ONCE) * states + DENSE_WEIGHTS * weights
        moved = 3 * weights + states
        gathered = 2 * gathered if form == "sharded dense" and particles > 1 else 0.0
    else:
        arrays = held * (
            KERNEL_STATES * states
            + KERNEL_ENTRIES * entries
            + KERNEL_OWN * own_entries
            + KERNEL_GATHERED * gathered
        )
        moved = entries + own_entries + states + gathered
    if kept == "checkpointed":
        arrays += 2 * math.sqrt(shape.steps) * states
    parameters = shape.parameters / (particles if form == "sharded dense" else 1)
    return Need(
        operations=shape.evaluations * passes * _forward(shape, rows, own, form),
        traffic=shape.evaluations * passes * PASSES * 2 * FLOAT * moved,
        memory=FLOAT * (arrays + parameters + 2 * rows * shape.dim),
        reduced=FLOAT * (parameters + 1) if devices > 1 else 0.0,
        gathered=shape.evaluations * (passes - 1) * FLOAT * gathered,
        launches=shape.evaluations * passes * (12 if form == "kernel" else 6),
    )


def _forward(shape: Shape, rows: float, own: float, form: Form) -> float:
    """Operations of one evaluation, as counted by `operations` if a device has all particles."""
    if form != "kernel":
        particles = shape.particles if form == "dense" else own
        return operations(UpDown(shape.dim, shape.inflation), round(particles), round(rows))[
            "dense"
        ]
    both = shape.dim + shape.hidden + shape.state  # features, and entries of a state
    return 2 * (rows + own) * shape.particles * both + 2 * own * shape.particles * both


def best(
    shape: Shape, accelerator: Accelerator, devices: int, built: bool = True
) -> dict[str, Any]:
    """The prediction for the fastest layout that fits into memory, or for the smallest one if none fits.

    With `built=False`, it is for the sharded dense form.
    """
    meshes = [(devices >> i, 1 << i) for i in range(devices.bit_length())]
    forms: tuple[Form, ...] = ("dense", "kernel") if built else ("sharded dense",)
    kinds: tuple[Gradient, ...] = ("direct", "checkpointed")
    found = [
        prediction(shape, accelerator, data, particles, form, kept)
        for form in forms
        for data, particles in meshes
        if form != "dense" or particles == 1
        for kept in kinds
    ]
    fitting = [each for each in found if each["fits"]]
    if fitting:
        return min(fitting, key=lambda each: each["seconds"])
    return min(found, key=lambda each: each["gigabytes"])


def prediction(
    shape: Shape,
    accelerator: Accelerator,
    data: int,
    particles: int,
    form: Form,
    kept: Gradient = "direct",
) -> dict[str, Any]:
    """Predict the seconds of a step and what bounds it, at peak rates, without overlap of communication
    and computation."""
    what, devices = need(shape, data, particles, form, kept), data * particles
    inside = devices <= accelerator.group
    reduce = 2 * (devices - 1) / devices * what.reduced
    gather = (particles - 1) / particles * what.gathered
    # A particle axis that fits into a group is laid out in it.
    beside = accelerator.near if particles <= accelerator.group else accelerator.far
    network = reduce / (accelerator.near if inside else accelerator.far) + gather / beside
    messages = 2 * (shape.evaluations if particles > 1 else 0) + (1 if devices > 1 else 0)
    parts = {
        "compute": what.operations / accelerator.operations,
        "memory": what.traffic / accelerator.bandwidth,
        "network": network + messages * accelerator.latency,
        "start": what.launches * accelerator.start,
    }
    # The two moments of Adam, in addition to the parameters, which are already counted.
    held = shape.parameters / (particles if form == "sharded dense" else 1)
    memory = what.memory + FLOAT * 2 * held
    local = max(parts["compute"], parts["memory"], parts["start"])
    return {
        **parts,
        "seconds": local + parts["network"],
        "bound": max(parts, key=lambda name: parts[name]),
        "gigabytes": memory / 1e9,
        "fits": memory < 0.9 * accelerator.memory,
        "devices": devices,
        "mesh": (data, particles),
        "form": form,
        "gradient": kept,
    }
