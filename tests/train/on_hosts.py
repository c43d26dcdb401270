"""One of several processes that train together, for `test_hosts`.

python tests/train/on_hosts.py <process> <processes> <port> <out> [<checkpoint> <epochs> <kind>]
"""

import json
import pathlib
import sys

import jax
import numpy as np

import shootax as sx

process, processes, port = (int(word) for word in sys.argv[1:4])
out = pathlib.Path(sys.argv[4])
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_num_cpu_devices", 1)
if processes > 1:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(
        f"127.0.0.1:{port}", processes, process, heartbeat_timeout_seconds=10
    )

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (23, 1))  # no two processes have the same number of samples
Y = np.sin(3 * X)


def mine(values):
    return np.array_split(values, processes)[process]


class Slow:
    """So many batches of which each process has its part, with time to end it in between."""

    def __iter__(self):
        for start in range(0, 16, 8):
            yield mine(X[start : start + 8]), mine(Y[start : start + 8])

    def __len__(self):
        return 2


net = sx.Net(sx.UpDown(dim=1, inflation=2), particles=2, key=jax.random.key(0))
path = sys.argv[5] if len(sys.argv) > 5 and sys.argv[5] != "-" else None
epochs = int(sys.argv[6]) if len(sys.argv) > 6 else 4
kind = sys.argv[7] if len(sys.argv) > 7 else "arrays"
options = {"epochs": epochs, "mesh": "auto" if processes > 1 else None, "progress": False}
if path is not None:
    options["checkpoint"] = sx.extend.Checkpoint(pathlib.Path(path), every=0)


def tell(report):
    """Lets the test see how far it is."""
    if process == 0:
        out.with_suffix(".epoch").write_text(str(report.epoch))


if kind == "stream":
    found = sx.fit(net, Slow(), callbacks=[tell], **options)
else:
    validation = (mine(X[:9]), mine(Y[:9]))
    arrays = mine(X), mine(Y)
    found = sx.fit(net, *arrays, batch_size=6, validation=validation, callbacks=[tell], **options)
if process == 0:
    history = {name: column.tolist() for name, column in found.history.items()}
    out.write_text(json.dumps(history))
