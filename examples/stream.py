"""Training on more data than fit in memory, on as many devices as there are.

Batches are made while the training runs; none is kept. `--gigabytes 10` draws that much and prints the
peak of the memory that the process had. `--devices 2` splits the CPU into two devices.
"""

import argparse
import resource
from collections.abc import Iterator

import jax
import numpy as np

import shootax as sx

COLUMNS, SAMPLES = 2500, 1000


def batches(seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Samples of 2,500 numbers, 10 MB at a time, and a function of the first two to learn."""
    rng = np.random.default_rng(seed)
    while True:
        x = rng.random((SAMPLES, COLUMNS), np.float32) - 0.5
        yield x, x[:, :1] * x[:, 1:2]


def peak_megabytes() -> float:
    """The largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(gigabytes: float = 0.1, devices: int = 1) -> tuple[float, float]:
    """Trains on so many gigabytes; returns the peak after a tenth of them, and after all."""
    if devices > 1:
        jax.config.update("jax_num_cpu_devices", devices)  # before JAX starts
    mesh = jax.make_mesh((devices,), ("data",))
    keys = jax.random.split(jax.random.key(0))
    encoder = sx.nn.MLP(COLUMNS, 8, 4, key=keys[0])
    net = sx.Net(sx.UpDown(dim=4, inflation=2), particles=4, readout=1, key=keys[1])
    peaks = []
    found = sx.fit(
        sx.Chain(encoder, net),
        batches(),
        epochs=10,
        steps_per_epoch=max(1, round(gigabytes * 1e9 / (4 * SAMPLES * COLUMNS) / 10)),
        mesh=mesh,
        callbacks=[lambda report: peaks.append(peak_megabytes())],
    )
    print(f"{gigabytes:g} GB on {devices} device(s) in {found.seconds:.0f} s")
    print(f"peak memory: {peaks[0]:.0f} MB after a tenth, {peaks[-1]:.0f} MB at the end")
    return peaks[0], peaks[-1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=0.1)
    parser.add_argument("--devices", type=int, default=1)
    main(**vars(parser.parse_args()))
