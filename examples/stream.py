"""Train on more data than fit in memory, on one or more devices.

Batches are drawn while the training runs, and none is kept. `--gigabytes 10` draws 10 GB of data and
prints the peak memory of the process. `--devices 2` splits the CPU into two devices.
"""

import argparse
import resource
from collections.abc import Iterator

import jax
import numpy as np

import shootax as sx

COLUMNS, SAMPLES = 2500, 1000


def batches(seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield batches of 10 MB: samples of 2,500 numbers, and a function of the first two numbers as
    target."""
    rng = np.random.default_rng(seed)
    while True:
        x = rng.random((SAMPLES, COLUMNS), np.float32) - 0.5
        yield x, x[:, :1] * x[:, 1:2]


def peak_megabytes() -> float:
    """The peak resident memory of this process so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(gigabytes: float = 0.1, devices: int = 1) -> tuple[float, float]:
    """Train on this many gigabytes; return the peak memory after a tenth of them and at the end."""
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
