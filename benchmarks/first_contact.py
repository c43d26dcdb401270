"""What a person waits for in the first minutes: seconds of fresh processes, cold and warm.

Each line is a program of its own, run twice with a folder for compiled programs that is empty at first
(cold, then warm). Processor time counts all threads: what a quiet machine with one core would need;
imports count as well.

    python -m benchmarks.first_contact [PART ...]
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

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

COMMAND = """
import numpy as np
import pandas as pd
rng = np.random.default_rng(0)
table = pd.DataFrame(rng.normal(size=(1000, 8)), columns=list("abcdefgh"))
table["y"] = table.a * table.b + rng.normal(size=1000)
table.to_csv("table.csv", index=False)
import sys
from shootax.cli import main
sys.argv = ["shootax", "fit", "table.csv", "--target", "y"]
main()
"""

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
    "shootax fit, 1,000 rows": COMMAND,
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
    """Wall and processor seconds of a fresh process, which works in a folder."""
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


def main(parts: list[str]) -> None:
    print(
        "| | cold, processor | cold, wall | warm, processor | warm, wall |\n|---|---|---|---|---|"
    )
    for name, program in PROGRAMS.items():
        if parts and not any(part in name for part in parts):
            continue
        with tempfile.TemporaryDirectory() as folder:
            cold, *warm = (seconds(program, pathlib.Path(folder)) for _ in range(3))
        best: list[Any] = [min(column) for column in zip(*warm, strict=True)]
        print(
            f"| {name} | {cold[1]:.1f} s | {cold[0]:.1f} s | {best[1]:.1f} s | {best[0]:.1f} s |",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
