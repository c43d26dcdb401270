"""Train on many devices: what each device holds, and how they communicate.

The whole program of a training runs on every device. Parameters, and everything computed from them, are
the same on all devices. Each device has its own part of every batch, and computes with the particles and
this part as if there were no other device. One sum over all devices combines their gradients. So every
form of the equations and every gradient mode works as on one device, and there is no communication inside
the time loop, except for the positions and momenta if particles are sharded, too.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, PyTree

from shootax._axes import DATA, PARTICLES
from shootax._cores import shares_steps
from shootax._train.hosts import gathered, highest
from shootax._train.samples import AbstractSampler, Data

AXES = (DATA, PARTICLES)


@dataclasses.dataclass(frozen=True)
class Sharing:
    """Devices that train together, as a mesh with the axes `(data, particles)`.

    `bounds` has, for each device, the index of its first sample and that after its last one. It is
    empty if samples come from a sampler or a stream.
    """

    mesh: Mesh
    bounds: tuple[tuple[int, int], ...] = ()

    @property
    def devices(self) -> int:
        return self.mesh.size

    @property
    def particle_devices(self) -> int:
        return self.mesh.shape[PARTICLES]

    def rounded(self, number: int) -> int:
        """The smallest number, at least `number`, that all devices can share evenly."""
        return -(-number // self.devices) * self.devices

    # Inside the program.

    def own(self, values: Array) -> Array:
        """This device's part of an array that all devices have."""
        size = values.shape[0] // self.devices
        return jax.lax.dynamic_slice_in_dim(values, jax.lax.axis_index(AXES) * size, size)

    def exchanged(self, shard: Array, index: Array) -> Array:
        """This device's part of the samples `index`, each from the device that holds it."""
        first, last = jnp.asarray(self.bounds)[jax.lax.axis_index(AXES)]
        here = (index >= first) & (index < last)
        found = shard[jnp.where(here, index - first, 0)]
        mine = jnp.where(here.reshape(-1, *[1] * (found.ndim - 1)), found, jnp.zeros_like(found))
        return jax.lax.psum_scatter(mine, AXES, tiled=True)

    def total(self, values: PyTree[Array]) -> PyTree[Array]:
        """The sum over all devices."""
        return jax.lax.psum(values, AXES)

    # Around it.

    def over(self, run: Callable[..., Any], specs: Callable[..., Any]) -> Callable[..., Any]:
        """Run a function on all devices. `specs` specifies how its arguments are sharded. Its results
        are the same on all devices."""

        def together(*arguments: Any) -> Any:
            arrays, rest = eqx.partition(arguments, eqx.is_array)
            return jax.shard_map(
                lambda arrays: run(*eqx.combine(arrays, rest)),
                mesh=self.mesh,
                in_specs=(specs(arrays),),
                out_specs=PartitionSpec(),
                check_vma=False,
            )(arrays)

        return together

    def replicated(self, tree: PyTree) -> PyTree:
        """Put the arrays of a tree on every device."""
        return self._placed(tree, PartitionSpec(), lambda shape: shape)

    def sharded(self, tree: PyTree, axis: int = 0) -> PyTree:
        """Shard this process's part of arrays over its devices along an axis."""
        here = _devices_here(self)
        spec = PartitionSpec(*[None] * axis, AXES)

        def whole(shape: tuple[int, ...]) -> tuple[int, ...]:
            long = shape[axis] // here * self.devices
            return (*shape[:axis], long, *shape[axis + 1 :])

        return self._placed(tree, spec, whole)

    def _placed(self, tree: PyTree, spec: PartitionSpec, shape: Callable[..., Any]) -> PyTree:
        sharding = NamedSharding(self.mesh, spec)

        def place(leaf: Any) -> Any:
            if not eqx.is_array_like(leaf) or isinstance(leaf, bool | int | float | complex):
                return leaf
            if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
                return jax.random.wrap_key_data(place(jax.random.key_data(leaf)))
            here = np.asarray(leaf)
            return jax.make_array_from_process_local_data(sharding, here, shape(here.shape))

        return jax.tree.map(place, tree)


def as_sharing(mesh: Any, pays: Callable[[], bool]) -> Sharing | None:
    """Convert the option `mesh` of `fit`. `pays` returns whether several cores of a CPU should share a
    batch; it is called only for `"auto"`."""
    if mesh is None and shares_steps():
        mesh = "auto"
    if mesh is None:
        return None
    if isinstance(mesh, str) and mesh == "auto":
        devices = np.array(jax.devices())
        cores = devices[0].platform == "cpu" and jax.process_count() == 1
        if len(devices) == 1 or (cores and not pays()):
            return None
        return Sharing(Mesh(devices.reshape(-1, 1), AXES))
    expected = (
        'mesh must be "auto" for all devices, or a jax.sharding.Mesh whose axes are called "data" and, '
        'if particles are sharded, "particles"'
    )
    if not isinstance(mesh, Mesh):
        raise ValueError(f"{expected}; got {mesh!r}.")
    names, devices = tuple(map(str, mesh.axis_names)), mesh.devices
    if names == ("particles", "data"):
        devices = devices.T
    elif names == ("particles",):
        devices = devices[None]
    elif len(names) == 1:
        devices = devices[:, None]
    elif names != ("data", "particles"):
        raise ValueError(f"{expected}; got axes {names}.")
    if not any(device.process_index == jax.process_index() for device in devices.flat):
        raise ValueError(
            "No device of the mesh belongs to this process. Make the mesh from jax.devices(), which has "
            "the devices of all processes."
        )
    return Sharing(Mesh(devices, AXES))


def placed(sharing: Sharing, data: Data | AbstractSampler) -> tuple[Sharing, Any]:
    """Put samples on devices: those of a process evenly on its own devices, padded with copies that are
    never used. All devices get the weights of all samples."""
    if isinstance(data, AbstractSampler):
        return sharing, sharing.replicated(data)
    process, owners = jax.process_index(), [d.process_index for d in sharing.mesh.devices.flat]
    parts = gathered(np.asarray(data.sample_weight))
    counts, weight = [len(part) for part in parts], np.concatenate(parts)
    size = max(-(-count // owners.count(p)) for p, count in enumerate(counts) if p in owners)
    offsets, seen, bounds = np.cumsum([0, *counts]), {}, []
    for owner in owners:
        first = seen.get(owner, 0)
        last = min(first + size, counts[owner])
        bounds.append((int(offsets[owner] + min(first, last)), int(offsets[owner] + last)))
        seen[owner] = first + size
    arrays = filled((data.x, data.y, data.times), size * owners.count(process))
    x, y, times = sharing.sharded(arrays)
    sharing = dataclasses.replace(sharing, bounds=tuple(bounds))
    return sharing, Data(x, y, sharing.replicated(weight), times)


def placed_validation(sharing: Sharing, data: Data | None) -> Data | None:
    """Shard held-out samples over the devices in their order."""
    return None if data is None else placed_evenly(sharing, data)


def placed_evenly(sharing: Sharing, data: Data, block: int = 1) -> Data:
    """Shard samples over the devices in their order, in whole blocks on every device, padded with copies
    of weight zero."""
    samples = data.sample_weight.shape[0]
    size = -(-even_share(sharing, samples) // block) * block
    full = filled(data, size * _devices_here(sharing))
    weight = np.asarray(full.sample_weight).copy()
    weight[samples:] = 0
    return sharing.sharded(full._replace(sample_weight=weight))


def even_share(sharing: Sharing, samples: int) -> int:
    """The number of samples of a device, if this process has `samples` samples: the largest number on
    any device."""
    return int(highest(-(-samples // _devices_here(sharing))))


def _devices_here(sharing: Sharing) -> int:
    return sum(d.process_index == jax.process_index() for d in sharing.mesh.devices.flat)


def filled(tree: PyTree, size: int) -> PyTree:
    """Extend arrays to `size` samples by repeating them."""
    return jax.tree.map(
        lambda leaf: np.take(np.asarray(leaf), np.arange(size) % leaf.shape[0], axis=0), tree
    )


def training_specs(arrays: Any) -> Any:
    """The partition specs of the arguments of `run_epochs`."""
    number, progress, orders, frame, data, validation, settings, recipe = arrays
    apart, same = PartitionSpec(AXES), PartitionSpec()
    if isinstance(data, Data):
        kept = jax.tree.map(lambda _: apart, data)
        data = kept._replace(sample_weight=same)
    else:
        data = jax.tree.map(lambda _: same, data)
    validation = jax.tree.map(lambda _: apart, validation)
    first = jax.tree.map(lambda _: same, (number, progress, orders, frame))
    return *first, data, validation, *jax.tree.map(lambda _: same, (settings, recipe))


def polish_specs(arrays: Any) -> Any:
    """The partition specs of the arguments of `run_polish`."""
    number, progress, frame, data, validation, settings, recipe = arrays
    apart, same = PartitionSpec(AXES), PartitionSpec()
    return (
        *jax.tree.map(lambda _: same, (number, progress, frame)),
        *jax.tree.map(lambda _: apart, (data, validation)),
        *jax.tree.map(lambda _: same, (settings, recipe)),
    )
