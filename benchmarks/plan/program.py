"""Compile one training step for a mesh of virtual devices, and count what it contains."""

import functools
import math
import re
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import shootax as sx
from benchmarks.plan.model import Shape
from shootax._axes import DATA, PARTICLES

COLLECTIVE = re.compile(
    r"= (?P<types>[^=]*?) (?P<kind>all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)"
    r"(?:-start)?\("
)
ARRAY = re.compile(r"(?P<dtype>f64|f32|bf16|f16|s32|u32|s64|pred)\[(?P<dims>[\d,]*)\]")
BYTES = {"f64": 8, "s64": 8, "f32": 4, "s32": 4, "u32": 4, "bf16": 2, "f16": 2, "pred": 1}


def compiled(shape: Shape, data: int, particles: int, form: str, gradient: str = "direct") -> Any:
    """Compile the gradient of a training step, with the batch and the particles sharded over devices.

    This is what `fit(mesh=...)` runs for a batch, without the optimiser, which takes only a few
    operations for each parameter.
    """
    field = sx.UpDown(shape.dim, shape.inflation)
    key = jax.random.key(0)
    kept = sx.Direct() if gradient == "direct" else sx.Checkpointed()
    integrator = sx.RK4(shape.steps, kept)
    control = sx.Particles.draw(field, shape.particles, key=key, form=form)
    net = sx.Net(field, control, integrator=integrator, key=key)
    parameters, frame = jax.tree.flatten(net)
    mesh = Mesh(
        [[jax.devices()[i * particles + j] for j in range(particles)] for i in range(data)],
        (DATA, PARTICLES),
    )
    both, devices = (DATA, PARTICLES), data * particles
    everywhere = NamedSharding(mesh, PartitionSpec())

    def objective(parameters: Any, x: Any, y: Any) -> Any:
        model = jax.tree.unflatten(frame, parameters)
        misfit = jnp.sum((model(x) - y) ** 2) / shape.batch
        return 100 * misfit + sx.penalty(model) / devices

    def step(parameters: Any, x: Any, y: Any) -> Any:
        value, gradient = jax.value_and_grad(objective)(parameters, x, y)
        flat = jnp.concatenate([leaf.ravel() for leaf in [*gradient, value[None]]])
        return jax.lax.psum(flat, both) if devices > 1 else flat

    shared = jax.shard_map(
        step,
        mesh=mesh,
        in_specs=(PartitionSpec(), PartitionSpec(both), PartitionSpec(both)),
        out_specs=PartitionSpec(),
        check_vma=False,
    )
    as_given = functools.partial(jax.ShapeDtypeStruct, dtype=jnp.float32)
    rows = as_given((shape.batch, shape.dim), sharding=NamedSharding(mesh, PartitionSpec(both)))
    leaves = [as_given(leaf.shape, sharding=everywhere) for leaf in parameters]
    return jax.jit(shared).lower(leaves, rows, rows).compile()


def contents(program: Any) -> dict[str, float]:
    """Operations, bytes sent and memory of one device. The body of a loop is counted once."""
    memory = program.memory_analysis()
    sent = collectives(program.as_text())
    return {
        "operations": float(program.cost_analysis()["flops"]),
        "memory": float(memory.temp_size_in_bytes + memory.argument_size_in_bytes),
        "all_reduce": sent.get("all-reduce", 0.0),
        "gathered": sent.get("all-gather", 0.0) + sent.get("reduce-scatter", 0.0),
        "all_reduces": float(len(re.findall(r" all-reduce(?:-start)?\(", program.as_text()))),
    }


def collectives(text: str) -> dict[str, float]:
    """Bytes of the whole arrays that each kind of collective operation works on.

    An all-gather is counted by its result, and a reduce-scatter by its argument, which is the result
    times the number of devices in a group.
    """
    found: dict[str, float] = {}
    for line in text.splitlines():
        match = COLLECTIVE.search(line)
        if match is None:
            continue
        arrays = ARRAY.finditer(match["types"])
        size = sum(
            BYTES[array["dtype"]] * math.prod(int(n) for n in array["dims"].split(",") if n)
            for array in arrays
        )
        if match["kind"] == "reduce-scatter":
            size *= _group(line)
        found[match["kind"]] = found.get(match["kind"], 0.0) + size
    return found


def _group(line: str) -> int:
    """The number of devices in a group, from `replica_groups={{0,1},{2,3}}` or `[2,4]<=[8]`."""
    listed = re.search(r"replica_groups=\{\{([\d,]+)\}", line)
    if listed:
        return len(listed[1].split(","))
    shaped = re.search(r"replica_groups=\[(\d+),(\d+)\]", line)
    return int(shaped[2]) if shaped else 1
