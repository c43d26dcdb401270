"""Measure the time of a fresh process from the end of its imports to its first training step."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.speed.cases import Case
from benchmarks.speed.settings import Settings, record

# As a user would: draw a net and fit it. One epoch of one batch is one training step.
PROGRAM = """
import json, sys, time
began = time.perf_counter()
import jax
import numpy as np
import shootax as sx
ready = time.perf_counter()
sizes = json.loads(sys.argv[1])
sx.use_compilation_cache(sys.argv[2])
key = jax.random.key(0)
field = sx.UpDown(sizes["dim"], sizes["inflation"])
control = sx.Particles.draw(field, sizes["particles"], momentum=sizes["momentum"], T=sizes["T"], key=key)
net = sx.Net(field, control, integrator=sx.RK4(sizes["steps"]), key=key)
x = np.random.default_rng(0).standard_normal((sizes["batch"], sizes["dim"]))
drawn = time.perf_counter()
sx.fit(net, x, x, epochs=1, batch_size=sizes["batch"], optimizer=sx.Optimizer(1e-4), progress=False)
done = time.perf_counter()
print(json.dumps({"import": ready - began, "draw": drawn - ready, "total": done - ready}))
"""


def records(settings: Settings) -> Iterator[dict[str, Any]]:
    """For each case, the seconds to the first step, with a cold and with a warm compilation cache."""
    repetitions = 1 if settings.quick else 3
    for case in settings.chosen:
        yield {"progress": f"first step of {case.name}"}
        with tempfile.TemporaryDirectory() as folder:
            cold = first_step(case, pathlib.Path(folder))
            warm = [first_step(case, pathlib.Path(folder)) for _ in range(repetitions)]
        totals = [each["total"] for each in warm]
        yield record(
            "start",
            case.name,
            "cold",
            ratio=cold["total"] / float(np.median(totals)),
            ours_ms=1e3 * float(np.median(totals)),
            ours_fastest_ms=1e3 * min(totals),
            rival_ms=1e3 * cold["total"],
            import_ms=1e3 * float(np.median([each["import"] for each in warm])),
            draw_ms=1e3 * float(np.median([each["draw"] for each in warm])),
            threads=settings.threads,
            repetitions=repetitions,
        )


def first_step(case: Case, cache: pathlib.Path) -> dict[str, float]:
    """Seconds of a fresh process for its imports, for drawing the net, and until its first step."""
    sizes = {name: getattr(case, name) for name in _SIZES}
    command = [sys.executable, "-c", PROGRAM, json.dumps(sizes), str(cache)]
    done = subprocess.run(command, capture_output=True, text=True, env=_environment(os.environ))
    if done.returncode:
        raise RuntimeError(f"{case.name}: the first step failed in a fresh process:\n{done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1])


_SIZES = ("dim", "inflation", "particles", "batch", "T", "steps", "momentum")


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    """The environment without the user's compilation cache."""
    return {name: value for name, value in given.items() if name != "JAX_COMPILATION_CACHE_DIR"}
