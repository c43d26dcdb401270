"""The plan for large scale: the model of a training step against compiled programs."""

import json
import os
import subprocess
import sys

import pytest

import shootax as sx
from benchmarks.plan.__main__ import PLANNED, ROOT, planned_tables
from benchmarks.plan.model import ACCELERATORS, H100, Shape, best, need, prediction
from benchmarks.plan.program import collectives
from shootax._systems import operations

SHAPE = Shape("some", 8, 8, 64, 512, 1)

HLO = """
  %a = f32[9793]{0} all-reduce(%x), channel_id=1, replica_groups={{0,1,2,3}}, to_apply=%sum
  %b = f32[64,144]{1,0} all-gather(%y), channel_id=2, replica_groups=[2,4]<=[8], dimensions={0}
  %c = f32[16,144]{1,0} reduce-scatter(%b), channel_id=3, replica_groups=[2,4]<=[8], dimensions={0}
  %d = f32[9793]{0} add(%all-reduce.1, %a)
  %e = (f32[3]{0}, bf16[2,2]{1,0}) all-reduce-start(%p, %q), replica_groups={{0,1}}
"""


def test_bytes_of_collectives_are_read():
    assert collectives(HLO) == {
        "all-reduce": 4 * 9793 + 4 * 3 + 2 * 4,
        "all-gather": 4 * 64 * 144,
        "reduce-scatter": 4 * 16 * 144 * 4,
    }


def test_one_device_has_all_operations():
    """Forward and backward, four stages: 12 times those of one evaluation."""
    counts = operations(sx.UpDown(8, 8), 64, 512)
    assert need(SHAPE, 1, 1, "dense").operations == 12 * counts["dense"]
    assert need(SHAPE, 1, 1, "kernel").operations == 12 * counts["kernel"]


def test_parameters_are_those_of_a_net():
    import jax

    net = sx.Net(sx.UpDown(8, 8), particles=64, key=jax.random.key(0))
    assert SHAPE.parameters == sx.count(net)


def test_what_is_shared_falls_with_the_devices():
    shape = Shape("many", 8, 8, 4096, 4096, 1)
    one, eight = need(shape, 1, 1, "kernel"), need(shape, 1, 8, "kernel")
    assert eight.operations == pytest.approx(one.operations / 8)
    assert one.reduced == one.gathered == 0
    assert eight.reduced == 4 * (shape.parameters + 1)
    # Positions and momenta of all particles, in 4 evaluations, there and back.
    assert eight.gathered == 4 * 2 * 4 * 2 * 4096 * 72
    assert need(shape, 8, 1, "kernel").operations > eight.operations  # particles' own work, 8 times


def test_predictions_say_what_bounds_them_and_whether_they_fit():
    for accelerator in ACCELERATORS:
        for shape in PLANNED:
            found = best(shape, accelerator, 64)
            parts = {key: found[key] for key in ("compute", "memory", "network", "start")}
            assert found["bound"] == max(parts, key=lambda name: parts[name])
            assert found["seconds"] >= max(parts.values()) * (1 - 1e-12)
            assert found["fits"] == (found["gigabytes"] * 1e9 < 0.9 * accelerator.memory)
    small = prediction(Shape("tiny", 1, 8, 5, 50), H100, 1, 1, "dense")
    assert small["bound"] == "start"
    assert len(list(planned_tables())) == 2 * len(ACCELERATORS)


@pytest.mark.slow
def test_model_agrees_with_compiled_programs(tmp_path):
    """Operations to a quarter, memory to a fifth, bytes sent to the byte, and one all-reduce."""
    path = tmp_path / "check.json"
    code = f"""
import pathlib
from benchmarks.plan import __main__ as plan
plan.CHECKED, plan.LAYOUTS = plan.CHECKED[:1], [(1, 1, "kernel"), (8, 1, "dense"), (2, 4, "kernel")]
plan.FEW_LAYOUTS = []
plan.check(pathlib.Path({str(path)!r}))
"""
    env = {**os.environ, "XLA_FLAGS": "", "JAX_DISABLE_MOST_OPTIMIZATIONS": "0"}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, check=True)
    records = json.loads(path.read_text())
    assert len(records) == 3
    for each in records:
        found, said = each["found"], each["model"]
        assert said["operations"] == pytest.approx(found["operations"], rel=0.25)
        assert said["memory"] == pytest.approx(found["memory"], rel=0.2)
        assert said["reduced"] == found["all_reduce"]
        assert said["gathered"] == found["gathered"]
        assert found["all_reduces"] == (each["mesh"] != [1, 1])
