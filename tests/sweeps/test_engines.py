"""Engines: what is said before anything runs, and a sweep on a real Ray cluster whose node dies."""

import builtins
import concurrent.futures
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

import pytest

import shootax as sx
from shootax.sweeps import LocalEngine, RayEngine, Real, Store, grid_sweep, run_sweep, search
from shootax.sweeps._parcel import pack, signature, unpack
from shootax.sweeps._ray_worker import Board, _here, _other_versions
from shootax.sweeps._store import package_versions

# The calls are counted in files; the net and its training are real.
MODULE = """
import pathlib, time
import jax, jax.numpy as jnp
import shootax as sx


def train(config, seed, ctx):
    seen = pathlib.Path(ctx.shared["seen"])
    found = ctx.checkpoint.exists()
    with open(seen / f"{ctx.name}.calls", "a") as file:
        file.write(f"{found}\\n")
    x = jnp.linspace(-1, 1, 12)[:, None]
    net = sx.Net(sx.UpDown(dim=1, inflation=2), particles=2, integrator=sx.RK4(2),
                 key=jax.random.key(seed))
    fit = sx.fit(net, x, config["scale"] * x**2, epochs=3, seed=seed, progress=False,
                 checkpoint=sx.extend.Checkpoint(ctx.checkpoint, ctx.checkpoint_seconds))
    ctx.progress(3, 3, "trained")
    time.sleep(ctx.shared["again"] if found else ctx.shared["first"])
    sx.save(ctx.folder / "net.safetensors", fit.net)
    (ctx.out / "models" / f"{ctx.name}.txt").write_text(ctx.name)
    return {"objective": fit.history["objective"]}
"""


def test_engine_is_checked(tmp_path):
    for options, message in (
        ({"engine": "slurm"}, "Unknown engine 'slurm'. Choose one of: local, ray"),
        ({"engine": 3}, "'local', 'ray', a LocalEngine or a RayEngine; got 3"),
        ({"engine": "ray", "jobs": 2}, "jobs=2 is the number of processes of engine='local'"),
        ({"engine": LocalEngine(2), "jobs": 2}, "Leave jobs out"),
        ({"jobs": 0}, "jobs must be"),
    ):
        with pytest.raises(ValueError, match=message):
            run_sweep("json:loads", {"x": [1]}, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_settings_of_ray_are_checked():
    for options, message in (
        ({"gpus": -1}, "gpus must be a number, 0 or more; got -1"),
        ({"cpus": "all"}, "cpus must be a number"),
        ({"retries": 0.5}, "retries must be a whole number"),
        ({"resources": {"TPU": -2}}, "TPU must be a number"),
    ):
        with pytest.raises(ValueError, match=message):
            RayEngine(**options)


def test_environment_of_a_task_computes_the_same_and_names_no_place():
    given = {
        **{"XLA_FLAGS": "--a", "JAX_ENABLE_X64": "1", "HOME": "/somewhere"},
        **{"JAX_PLATFORMS": "cpu", "JAX_COMPILATION_CACHE_DIR": "/somewhere"},
    }
    engine = RayEngine(runtime_env={"working_dir": ".", "env_vars": {"NPROC": "7"}})
    made = engine.environment(given)
    assert made["working_dir"] == "."
    variables = made["env_vars"]
    assert variables["XLA_FLAGS"] == "--a --xla_cpu_multi_thread_eigen=false"
    assert (variables["JAX_ENABLE_X64"], variables["NPROC"]) == ("1", "7")
    assert not {"HOME", "JAX_PLATFORMS", "JAX_COMPILATION_CACHE_DIR"} & variables.keys()
    key = "XLA_PYTHON_CLIENT_PREALLOCATE"
    assert key not in variables
    assert RayEngine(gpus=0.5).environment({})["env_vars"][key] == "false"
    assert RayEngine(cpus=4).environment({})["env_vars"]["OMP_NUM_THREADS"] == "4"


def test_missing_ray_is_said(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **options):
        if name.split(".")[0] == "ray":
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"needs Ray: pip install 'shootax\[ray\]'"):
        run_sweep("json:loads", {"x": [1]}, tmp_path / "out", engine="ray")


def test_files_travel_and_stay_in_their_folder(tmp_path):
    (tmp_path / "a" / "models" / "deep").mkdir(parents=True)
    (tmp_path / "a" / "models" / "deep" / "x.bin").write_bytes(b"\0\1")
    (tmp_path / "a" / "runs").mkdir()
    (tmp_path / "a" / "runs" / "not.json").write_text("{}")
    (tmp_path / "a" / "models" / "link").symlink_to("/etc/hostname")
    parcel = pack(tmp_path / "a", ["runs"])
    assert parcel == {"models/deep/x.bin": b"\0\1"}
    unpack(parcel, tmp_path / "b")
    assert (tmp_path / "b" / "models" / "deep" / "x.bin").read_bytes() == b"\0\1"
    unpack(pack(tmp_path / "a" / "runs" / "not.json"), tmp_path / "c.json")
    assert (tmp_path / "c.json").read_text() == "{}"
    for name in ("../x", "/x", "a/../../x", "c:x", "a\\b"):
        with pytest.raises(ValueError, match="must be in the folder of the sweep"):
            unpack({name: b""}, tmp_path / "b")


def test_change_of_a_checkpoint_is_seen(tmp_path):
    place = tmp_path / "state"
    place.mkdir()
    (place / "one").write_text("1")
    before = signature(place)
    assert signature(place) == before
    (place / "one").write_text("22")
    assert signature(place) != before


def test_board_keeps_the_latest_checkpoint():
    board = Board()
    board.keep("g", {"": b"old"}, news=False)
    assert board.news()[1:] == ([], {})
    board.keep("g", {"": b"new"})
    board.say("g", {"text": "x"})
    assert board.news()[1:] == ([("g", {"text": "x"})], {"g": {"": b"new"}})
    assert board.news()[1:] == ([], {})
    assert board.news()[0] == board.news()[0] != Board().news()[0]
    assert board.latest("g") == (False, {"": b"new"})
    board.complete()
    board.forget("g")
    assert board.latest("g") == (True, None)


def test_script_of_another_machine_is_copied(tmp_path):
    script = tmp_path / "study.py"
    script.write_text("A = 1\n")
    same = f"{script}:train"
    assert _here("module:train", None) == "module:train"
    assert _here(same, "A = 1\n") == same
    other = _here(same, "A = 2\n")
    assert other != same
    assert pathlib.Path(other.removesuffix(":train")).read_text() == "A = 2\n"
    assert _here(same, "A = 2\n") == other


def test_other_versions_are_refused():
    assert _other_versions(package_versions()) == ""
    assert "numpy" in _other_versions({"numpy": "0.1"})
    assert "(there 0.1). Install the same versions" in _other_versions({"numpy": "0.1"})


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("module")
    (folder / "ray_study.py").write_text(MODULE)
    sys.path.insert(0, str(folder))
    yield "ray_study:train"
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def head():
    """A head without cores for work, on the loopback address alone."""
    # Ray binds to the address of the network otherwise. It reads this when it is imported.
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - else everything else goes first
    pytest.importorskip("ray")
    import ray
    from ray.cluster_utils import Cluster

    common = {"node_ip_address": "127.0.0.1", "object_store_memory": 80_000_000}
    made = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **common}
    )
    ray.init(made.address)  # while there is no other node, so that this process belongs to the head
    made.new_node = lambda: made.add_node(num_cpus=1, **common)
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def cluster(head):
    """The head, to which a test adds nodes. They leave with it."""
    yield head
    for node in list(head.worker_nodes):
        with contextlib.suppress(AssertionError):
            head.remove_node(node, allow_graceful=False)


GRID = {"scale": [0.25 * number for number in range(1, 13)]}


def results(runs):
    """What does not depend on the time a run took."""
    return [
        {k: v for k, v in run.items() if k not in ("seconds", "processor_seconds")} for run in runs
    ]


def files(out):
    folder = pathlib.Path(out) / "models"
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def swept_while_losing(cluster, node, ready, *arguments, **options):
    """The runs of a sweep, and what `ready()` said when the node was killed without notice.

    The sweep runs in a thread: Ray starts nodes in the main one alone.
    """
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        engine = RayEngine(cluster.address)
        sweep = pool.submit(run_sweep, *arguments, engine=engine, **options)
        while not (state := ready()):
            assert not sweep.done()
            time.sleep(0.1)
        cluster.new_node()
        state = ready() or state
        with contextlib.suppress(AssertionError):  # a process that is dead and not waited for yet
            cluster.remove_node(node, allow_graceful=False)
        return sweep.result(), state


@pytest.mark.slow
def test_sixty_runs_on_a_cluster_that_loses_a_node(cluster, study, tmp_path):
    """All results are there, bit for bit those of the local engine, and no finished run is repeated."""
    seen, local, out = (tmp_path / name for name in ("seen", "local", "out"))
    for folder in (seen, local):
        folder.mkdir()
    dying = cluster.new_node()
    cluster.new_node()

    def ready():
        names = {path.stem for path in (out / "runs").glob("*.json")}
        return names if len(names) >= 12 else None

    shared = {"seen": str(seen), "first": 0.5, "again": 0.0}
    runs, finished = swept_while_losing(
        cluster, dying, ready, study, GRID, out, seeds=5, shared=shared
    )
    assert len(runs) == 60
    assert {run["status"] for run in runs} == {"ok"}, [run["reason"] for run in runs]
    calls = {path.stem: path.read_text().splitlines() for path in seen.glob("*.calls")}
    repeated = {name for name, lines in calls.items() if len(lines) > 1}
    assert len(calls) == 60
    assert not repeated & finished
    assert len(repeated) <= 2  # what was running on the node, and what was just being handed to it
    assert not list(Store(out).checkpoints.iterdir())

    elsewhere = {**shared, "seen": str(local), "first": 0.0}
    expected = run_sweep(study, GRID, tmp_path / "expected", seeds=5, shared=elsewhere)
    assert results(runs) == results(expected)
    assert files(out) == files(tmp_path / "expected")
    assert len(files(out)) == 120
    # The local engine finds all of it finished.
    assert run_sweep(study, GRID, out, seeds=5, shared=shared) == runs
    assert json.loads((out / "results.json").read_text()) == runs


@pytest.mark.slow
def test_checkpoint_of_a_node_that_died_is_on_the_next_one(cluster, study, tmp_path):
    """No folder is shared: the checkpoint comes to the driver, and from there to the other node."""
    dying = cluster.new_node()
    out = tmp_path / "out"
    # It is killed while the first call waits, when its checkpoint has arrived here.
    runs, _ = swept_while_losing(
        *(cluster, dying, lambda: list((out / "checkpoints").glob("scale*"))),
        *(study, {"scale": [1.0]}, out),
        shared={"seen": str(tmp_path), "first": 300.0, "again": 0.0},
        checkpoint_seconds=0.0,
    )
    assert [run["status"] for run in runs] == ["ok"], runs[0]["reason"]
    calls = (tmp_path / "scale-1.0-s0.calls").read_text().splitlines()
    assert calls == ["False", "True"]
    assert not list((out / "checkpoints").iterdir())


@pytest.mark.slow
def test_process_that_dies_again_and_again_is_given_up(cluster, tmp_path, monkeypatch):
    (tmp_path / "deadly.py").write_text(
        "import os\n\ndef train(config, seed, ctx):\n"
        "    open(os.path.join(ctx.shared['seen'], 'calls'), 'a').write('x')\n"
        "    if config['x']:\n        os._exit(7)\n    return {'y': 1}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    cluster.new_node()
    runs = run_sweep(
        "deadly:train",
        {"x": [0, 1]},
        tmp_path / "out",
        engine=RayEngine(cluster.address, retries=1),
        shared={"seen": str(tmp_path)},
    )
    assert [run["status"] for run in runs] == ["ok", "failed"]
    assert "Ray gave up on this run" in runs[1]["reason"]
    assert (tmp_path / "calls").read_text() == "xxx"  # one good call, and two that died
    left = Store(tmp_path / "out").finished(grid_sweep("deadly:train", {"x": [0, 1]}).groups)
    assert list(left) == ["x-0-s0"]


@pytest.mark.slow
def test_an_experiment_is_reproduced_on_a_cluster(cluster, tmp_path):
    """`shootax reproduce --engine ray` calls this: a smoke run, with the numbers of the local engine."""
    from shootax.paper import EXPERIMENTS, make_settings, reproduce

    cluster.new_node()
    experiment = EXPERIMENTS["cubic"]
    settings = make_settings(experiment, "smoke", seeds=1, formulations=["static-direct"])
    there = reproduce(experiment, settings, tmp_path / "there", engine=RayEngine(cluster.address))
    here = reproduce(experiment, settings, tmp_path / "here", jobs=1)
    assert there
    assert all(run["status"] == "ok" for run in there), there
    assert [run["test_mse"] for run in there] == [run["test_mse"] for run in here]


@pytest.mark.slow
def test_the_command_reproduces_on_the_cluster_at_an_address(cluster, tmp_path):
    """In a process of its own, which knows the cluster by its address alone."""
    cluster.new_node()

    def command(out, *options):
        given = ["reproduce", "cubic", "--preset", "smoke", "--seeds", "1"]
        given += ["--models", "static-direct", "--out", str(tmp_path / out), *options]
        program = [sys.executable, "-c", "from shootax.cli import main; main()", *given]
        source = str(pathlib.Path(sx.__file__).parents[1])
        done = subprocess.run(
            program,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": source},
            cwd=tmp_path,
            timeout=500,
        )
        assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-1500:]
        return json.loads((tmp_path / out / "results.json").read_text())

    there = command("there", "--engine", "ray", "--address", cluster.address)
    here = command("here", "--jobs", "1")
    assert len(there) == len(here) > 0
    assert results(there) == results(here)


@pytest.mark.slow
def test_search_tries_on_a_cluster_what_it_tries_here(cluster, tmp_path, monkeypatch):
    pytest.importorskip("optuna")
    (tmp_path / "valley.py").write_text(
        "def train(config, seed, ctx):\n    return {'error': (config['x'] - 0.3) ** 2 + seed}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    cluster.new_node()
    options = {"metric": "error", "trials": 8, "at_once": 4, "seed": 1}
    there, here = (
        search("valley:train", {"x": Real(0.0, 1.0)}, tmp_path / name, engine=engine, **options)
        for name, engine in (("there", RayEngine(cluster.address)), ("here", LocalEngine(1)))
    )
    assert len(there.trials) == 8
    assert there.trials == here.trials
    assert there.best == min(there.trials, key=lambda trial: trial["value"])
    names = [
        (tmp_path / name / "trials.json").read_text(encoding="utf-8") for name in ("there", "here")
    ]
    assert names[0] == names[1]
