"""The examples run, and do what they say."""

import importlib.util
import pathlib
import subprocess
import sys

import jax
import pytest

import shootax as sx

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.usefixtures("standard_promotion")
def test_custom_field_learns():
    assert load("custom_field").main(epochs=60) < 0.05


@pytest.mark.slow
def test_transport_costs_what_optimal_transport_does():
    cost, exact, miss = load("transport").main(points=8, steps=150)
    assert miss < 0.05
    assert abs(cost / exact - 1) < 0.05


@pytest.mark.slow
@pytest.mark.usefixtures("standard_promotion")
def test_a_single_hidden_layer_fits_a_function():
    """The function has variance 0.04."""
    assert load("single_hidden_layer").run("quadratic") < 0.01


@pytest.mark.slow
@pytest.mark.usefixtures("standard_promotion")
def test_a_shooting_resnet_reads_digits():
    example = load("digits_resnet")
    with jax.enable_x64(False):
        count, share = example.run("fresh", epochs=30)
    assert share > 0.85
    plain = example.build("plain", particles=8, key=jax.random.key(0))
    assert count < sx.count(plain) / 5


@pytest.mark.slow
@pytest.mark.usefixtures("standard_promotion")
def test_a_layer_under_the_barron_penalty_fits_a_function():
    """The function has variance 0.04."""
    with jax.enable_x64(False):
        assert load("barron").run() < 0.01


@pytest.mark.slow
def test_search_is_run_and_goes_on(tmp_path):
    """As a script, whose function the processes run from its file."""
    command = [sys.executable, str(EXAMPLES / "search.py"), "--out", str(tmp_path / "out")]
    command += ["--epochs", "2", "--trials"]
    for trials in ("2", "3"):
        done = subprocess.run([*command, trials], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "best: {'trial':" in done.stdout
    runs = sx.sweeps.read_results(tmp_path / "out")
    assert [run["status"] for run in runs] == ["ok"] * 3
    assert len(list((tmp_path / "out" / "models").glob("*/net.safetensors"))) == 3


@pytest.mark.slow
@pytest.mark.usefixtures("standard_promotion")
def test_a_stream_trains_in_constant_memory():
    """The peak of the whole process, which other tests may have raised before."""
    early, late = load("stream").main(gigabytes=0.5)
    assert late < early + 150


@pytest.mark.slow
@pytest.mark.usefixtures("standard_promotion")
def test_a_trained_network_in_discrete_time_is_optimal_in_every_layer():
    example = load("discrete_digits")
    options = {"samples": 12, "dim": 3, "iterations": 400}
    found = example.run("symplectic", **options)
    assert min(found["before"]) > 0.1
    assert max(found["after"]) < 1e-3
    few = example.run("few", **{**options, "samples": 20})
    assert max(few["after"]) > 1e-2
