"""Measure the waiting times of a new user: seconds of fresh processes, cold and warm.

Each line is a separate program, run with a folder for compiled programs that is empty at first (cold,
then warm). Processor time counts all threads, as a quiet machine with one core would need. Imports are
included.

    python -m benchmarks.first_contact [PART ...]
    python -m benchmarks.first_contact --json benchmarks/first_contact.json
    python -m benchmarks.first_contact --markdown benchmarks/first_contact.json
    python -m benchmarks.first_contact --seeds 10

The last command prints the output of the README's example for several seeds of its data and its net.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import Any

import jax
import numpy as np

import shootax as sx

README = """
x = np.random.default_rng(0).uniform(-1.5, 1.5, (500, 1))
y = x**2 + 3 / (1 + x**2)
net = sx.Net(sx.UpDown(dim=1, inflation=16), particles=15, key=jax.random.key(0))
net = sx.fit(net, x, y, epochs=100).net
print(net(np.array([[0.0], [1.0]])))
sx.save("net.safetensors", net)
"""

FIT = """
x = np.random.default_rng(0).standard_normal(({batch}, {dim}))
field = sx.UpDown({dim}, {inflation})
net = sx.Net(field, particles={particles}, integrator=sx.RK4({steps}), key=jax.random.key(0))
sx.fit(net, x, x, epochs=1, batch_size={batch})
"""
REGRESSION = {"dim": 1, "inflation": 16, "particles": 15, "steps": 10, "batch": 50}
ROTATING = {"dim": 20, "inflation": 10, "particles": 100, "steps": 16, "batch": 25}
SMALL = "net = sx.Net(sx.UpDown(1, 16), particles=15, key=jax.random.key(0))\n"

RIVAL = """
from benchmarks.speed import {module} as rival
from benchmarks.speed.cases import CASES, start
case = CASES[{case!r}]
rival.runner(case, start(case))()
"""

TABLE = """
import numpy as np
from shootax.sklearn import ShootingRegressor
rng = np.random.default_rng(0)
x = rng.normal(size=(1000, 8))
ShootingRegressor().fit(x, x[:, 0] * x[:, 1] + rng.normal(size=1000))
"""

FORECAST = """
import numpy as np
from shootax.sklearn import ShootingForecaster
t = np.arange(40) * 0.2
waves = np.sin(t + np.random.default_rng(0).uniform(0, 6, (20, 1)))[:, :, None]
ShootingForecaster(history=3, horizon=5).fit(waves, times=t)
"""

PENALTY = """
import jax.numpy as jnp

class Quartic(sx.AbstractPenalty):
    def __call__(self, theta):
        return sum(jnp.sum(w**2) / 2 + jnp.sum(w**4) / 4 for w in jax.tree.leaves(theta))

x = np.random.default_rng(0).uniform(-1.5, 1.5, (500, 1))
field = sx.UpDown(dim=1, inflation=4)
control = sx.Particles.draw(field, 5, penalty=Quartic(), key=jax.random.key(0))
net = sx.Net(field, control, key=jax.random.key(1))
net = sx.fit(net, x, x**2, epochs=2).net
print(net(np.array([[0.0], [1.0]])))
"""

DATA = """
import numpy as np
rng = np.random.default_rng(0)
x = rng.normal(size=(1000, 8))
y = x[:, 0] * x[:, 1] + rng.normal(size=1000)
table = np.column_stack([x, y])
np.savetxt("table.csv", table, delimiter=",", header="a,b,c,d,e,f,g,h,y", comments="")
import jax
import shootax as sx
sx.save("net.safetensors", sx.Net(sx.UpDown(1, 16), particles=15, key=jax.random.key(0)))
"""

COMMAND = """
import sys
from shootax.cli import main
sys.argv = {arguments}
main()
"""


def _command(*arguments: str) -> str:
    return COMMAND.format(arguments=["shootax", *arguments])


IMPORTS = "import jax\nimport numpy as np\nimport shootax as sx\n"
PROGRAMS = {
    "import jax": "import jax",
    "import shootax": IMPORTS,
    "the README's first block": IMPORTS + README,
    "draw a net": IMPORTS + SMALL,
    "first step of fit, regression": IMPORTS + FIT.format(**REGRESSION),
    "first step of fit, rotating MNIST": IMPORTS + FIT.format(**ROTATING),
    "first step by Diffrax, regression": RIVAL.format(module="rival_diffrax", case="regression-16"),
    "first step by Diffrax, rotating MNIST": RIVAL.format(
        module="rival_diffrax", case="rotating-mnist"
    ),
    "first step by torchdiffeq, regression": RIVAL.format(
        module="rival_torch", case="regression-16"
    ),
    "summary": IMPORTS + SMALL + "sx.summary(net)",
    "bake": IMPORTS + SMALL + "sx.bake(net)",
    "predict": IMPORTS + SMALL + "sx.predict(net, np.zeros((1000, 1)))",
    "estimator, 1,000 rows": TABLE,
    "forecaster": FORECAST,
    "own penalty, 2 epochs": IMPORTS + PENALTY,
    "shootax fit, 1,000 rows": _command("fit", "table.csv", "--target", "y"),
    "shootax info": _command("info", "net.safetensors"),
}

MEASURED = """
import json, os, time
began = time.perf_counter()
try:
{program}
finally:
    used = os.times()
    print(json.dumps([time.perf_counter() - began, used.user + used.system]))
"""


def seconds(program: str, folder: pathlib.Path) -> tuple[float, float]:
    """Wall-clock and processor seconds of a fresh process that works in `folder`."""
    root = pathlib.Path(__file__).parents[1]
    hidden = ("JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment["SHOOTAX_CACHE"] = str(folder / "programs")
    path = [str(root / "src"), str(root), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path)
    indented = "\n".join("    " + line for line in program.strip().splitlines())
    command = [sys.executable, "-c", MEASURED.format(program=indented)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)
    if done.returncode:
        raise RuntimeError(f"The program failed:\n{program}\n{done.stderr}")
    wall, processor = json.loads(done.stdout.strip().splitlines()[-1])
    return wall, processor


def measure(name: str) -> dict[str, Any]:
    """Seconds of a program with an empty folder of compiled programs, and the smaller of two later
    runs."""
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        if name.startswith("shootax"):
            seconds(DATA, folder)
            shutil.rmtree(folder / "programs", ignore_errors=True)
        cold, *warm = (seconds(PROGRAMS[name], folder) for _ in range(3))
    wall, processor = (min(column) for column in zip(*warm, strict=True))
    return {
        "program": name,
        "cold_processor": cold[1],
        "cold_wall": cold[0],
        "warm_processor": processor,
        "warm_wall": wall,
        "version": sx.__version__,
    }


HEADER = "| | cold, processor | cold, wall | warm, processor | warm, wall |\n|---|---|---|---|---|"


def line(row: dict[str, Any]) -> str:
    """A row of the table in Markdown."""
    times = ("cold_processor", "cold_wall", "warm_processor", "warm_wall")
    return f"| {row['program']} | " + " | ".join(f"{row[time]:.1f} s" for time in times) + " |"


def promised(seeds: int) -> bool:
    """Run the README's example for several seeds, each of data and net, and check the printed values."""
    good = True
    for seed in range(seeds):
        x = np.random.default_rng(seed).uniform(-1.5, 1.5, (500, 1))
        net = sx.Net(sx.UpDown(dim=1, inflation=16), particles=15, key=jax.random.key(seed))
        net = sx.fit(net, x, x**2 + 3 / (1 + x**2), epochs=100).net
        found = np.asarray(net(np.array([[0.0], [1.0]])))[:, 0]
        near = bool(np.abs(found - [3.0, 2.5]).max() < 0.05)
        good &= near
        print(f"seed {seed}: {found[0]:.3f} and {found[1]:.3f}, {'near' if near else 'NOT near'}")
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # pyright: ignore
    parser.add_argument("parts", nargs="*", help="only programs whose names contain one of these")
    parser.add_argument("--json", type=pathlib.Path, help="add the results to this file")
    parser.add_argument("--markdown", type=pathlib.Path, help="print the table of a results file")
    parser.add_argument(
        "--seeds", type=int, help="run the README's example for this number of seeds"
    )
    given = parser.parse_args()
    if given.seeds:
        sys.exit(0 if promised(given.seeds) else 1)
    print(HEADER)
    if given.markdown:
        print("\n".join(map(line, json.loads(given.markdown.read_text("utf-8")))))
        return
    found = {}
    if given.json and given.json.exists():
        found = {row["program"]: row for row in json.loads(given.json.read_text("utf-8"))}
    for name in PROGRAMS:
        if given.parts and not any(part in name for part in given.parts):
            continue
        found[name] = measure(name)
        print(line(found[name]), flush=True)
        if given.json:
            rows = [json.dumps(found[key], ensure_ascii=False) for key in PROGRAMS if key in found]
            given.json.write_text("[\n" + ",\n".join(rows) + "\n]\n", "utf-8")


if __name__ == "__main__":
    main()
