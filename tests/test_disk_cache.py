"""Compiled programs on disk: kept by default, and nobody's setting is overridden."""

import os
import pathlib
import stat
import subprocess
import sys

import jax
import pytest

import shootax as sx
from shootax import _disk_cache as disk
from shootax._disk_cache import keeping_programs

SOURCE = pathlib.Path(sx.__file__).parents[1]


@pytest.fixture
def no_setting(monkeypatch, tmp_path):
    """As for a user who has set nothing; programs go to a folder of the test."""
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    monkeypatch.setenv(disk.VARIABLE, str(tmp_path / "programs"))
    jax.config.update("jax_compilation_cache_dir", None)
    disk._jax_cache.reset_cache()
    disk.default_folder.cache_clear()
    yield tmp_path / "programs"
    for name, value in before.items():
        jax.config.update(name, value)
    disk.default_folder.cache_clear()
    disk._jax_cache.reset_cache()


def fresh_program():
    """A program that no cache knows yet in this process."""
    return jax.jit(lambda x: x * 3 + len(os.urandom(1)))


def kept(folder):
    return sorted(path.name for path in folder.glob("*/*-cache"))


def test_only_programs_inside_are_kept_and_the_setting_is_put_back(no_setting):
    fresh_program()(1.0)
    assert kept(no_setting) == []
    with keeping_programs:
        with keeping_programs:
            pass
        assert jax.config.jax_compilation_cache_dir == str(no_setting / disk.tag())
        fresh_program()(1.0)
    assert len(kept(no_setting)) == 1
    assert jax.config.jax_compilation_cache_dir is None
    assert jax.config.jax_persistent_cache_min_compile_time_secs > 0
    jax.jit(lambda x: x * 5 + 2)(1.0)
    assert len(kept(no_setting)) == 1


def test_a_setting_that_comes_later_is_used(no_setting, tmp_path):
    """JAX opens a folder once; ours must not be in the way of one that the user sets afterwards."""
    with keeping_programs:
        fresh_program()(1.0)
    jax.config.update("jax_compilation_cache_dir", str(tmp_path / "own"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    with keeping_programs:
        assert jax.config.jax_compilation_cache_dir == str(tmp_path / "own")
        jax.jit(lambda x: x * 7 + 1)(1.0)
    assert len(list((tmp_path / "own").glob("*-cache"))) == 1
    assert len(kept(no_setting)) == 1
    assert sx.use_compilation_cache() == tmp_path / "own"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_others_may_not_write_into_a_folder_of_programs(no_setting, tmp_path):
    folder = sx.use_compilation_cache(tmp_path)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_setting_made_inside_stays(no_setting, tmp_path):
    with keeping_programs:
        jax.config.update("jax_compilation_cache_dir", str(tmp_path / "own"))
    assert jax.config.jax_compilation_cache_dir == str(tmp_path / "own")


@pytest.mark.parametrize("word", ["off", "0", "False"])
def test_the_environment_turns_it_off(no_setting, monkeypatch, word):
    monkeypatch.setenv(disk.VARIABLE, word)
    disk.default_folder.cache_clear()
    with keeping_programs:
        assert jax.config.jax_compilation_cache_dir is None
    assert sx.use_compilation_cache() is None


def test_a_function_turns_it_off(no_setting, monkeypatch):
    monkeypatch.setattr(keeping_programs, "_off", False)
    assert sx.use_compilation_cache() == no_setting / disk.tag()
    assert sx.use_compilation_cache(False) is None
    with keeping_programs:
        assert jax.config.jax_compilation_cache_dir is None


@pytest.mark.skipif(sys.platform == "win32" or os.getuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_no_error(no_setting):
    no_setting.mkdir(mode=0o500)
    with keeping_programs:
        assert jax.config.jax_compilation_cache_dir is None


def test_a_file_in_its_place_is_no_error(no_setting):
    no_setting.write_text("")
    with keeping_programs:
        assert jax.config.jax_compilation_cache_dir is None


@pytest.mark.skipif(sys.platform == "win32", reason="no permissions of this kind")
def test_programs_that_others_may_have_written_are_not_loaded(no_setting):
    folder = no_setting / disk.tag()
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    with keeping_programs:
        assert jax.config.jax_compilation_cache_dir is None


def test_programs_of_another_processor_or_version_are_elsewhere(monkeypatch):
    tag = disk.tag()
    assert jax.__version__ in tag
    for change in (
        lambda: monkeypatch.setattr(disk, "_processor", lambda: "another one"),
        lambda: monkeypatch.setattr(disk.jaxlib.version, "__version__", "0.0.1"),
    ):
        change()
        disk.tag.cache_clear()
        assert disk.tag() != tag
    monkeypatch.undo()
    disk.tag.cache_clear()
    assert disk.tag() == tag
    assert disk._processor().strip()


def test_the_oldest_programs_go_first(tmp_path):
    for i, version in enumerate(("old", "new", "new", "new")):
        path = tmp_path / version / f"{i}-cache"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(100))
        os.utime(path, (1e9 + i, 1e9 + i))
    (tmp_path / "new" / "unrelated").write_bytes(bytes(1000))
    disk.tidy(tmp_path, 400)
    assert len(kept(tmp_path)) == 4
    disk.tidy(tmp_path, 350)
    assert kept(tmp_path) == ["2-cache", "3-cache"]
    assert (tmp_path / "new" / "unrelated").exists()


PROGRAM = """
import sys, jax
import jax.numpy as jnp
import shootax as sx
events = []
jax.monitoring.register_event_listener(lambda event, **_: events.append(event))
net = sx.Net(sx.Affine(dim=1), particles=2, integrator=sx.Euler(2), key=jax.random.key(0))
fitted = sx.fit(net, [[0.0], [1.0]], [[1.0], [2.0]], epochs=1).net
@jax.jit
def of_the_user(x):
    return x + 1


of_the_user(jnp.ones(3))
hits = sum(event.endswith("cache_hits") for event in events)
print(hits, float(fitted([[0.5]])[0, 0]), jax.config.jax_compilation_cache_dir)
"""


def test_a_second_process_finds_the_programs_of_the_first(tmp_path):
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JAX_COMPILATION", "JAX_PERSISTENT"))
    }
    clean |= {disk.VARIABLE: str(tmp_path), "PYTHONPATH": str(SOURCE)}

    def run():
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(command, capture_output=True, text=True, env=clean, check=True)
        assert done.stderr == ""
        return done.stdout.split()

    first, second = run(), run()
    assert first[0] == "0"
    assert int(second[0]) >= 3
    assert second[1:] == first[1:] == [first[1], "None"]
    names = kept(tmp_path)
    assert any("run_epochs" in name for name in names)
    assert not any("of_the_user" in name for name in names)
