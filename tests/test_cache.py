"""Compiled programs: on disk, and in memory."""

import pathlib
import sys

import jax
import jax.numpy as jnp
import pytest

from shootax import _cache
from shootax._cache import make_room


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts maps")
def test_programs_are_dropped_when_they_take_too_much():
    @jax.jit
    def double(x):
        return 2 * x

    double(jnp.ones(3))
    assert double._cache_size() == 1
    assert not make_room(share=1.0)
    assert double._cache_size() == 1
    before = _maps()
    assert make_room(share=1e-6, quiet=True)
    assert double._cache_size() == 0
    assert _maps() < before
    assert double(jnp.ones(3))[0] == 2


def test_the_warning_about_dropped_programs_has_the_numbers(monkeypatch):
    cleared = []
    monkeypatch.setattr(_cache, "_warned", [])
    monkeypatch.setattr(jax, "clear_caches", lambda: cleared.append(True))
    monkeypatch.setattr(_cache, "_maps_taken", lambda: 900)
    monkeypatch.setattr(_cache, "_maps_limit", lambda: 1000)
    assert not make_room(share=0.95)
    with pytest.warns(UserWarning, match="has 900 memory maps of at most 1000"):
        assert make_room(share=0.5)
    assert cleared == [True]


def test_without_proc_nothing_is_dropped(monkeypatch):
    def missing(*args, **kwargs):
        raise OSError("no such file")

    monkeypatch.setattr("builtins.open", missing)
    monkeypatch.setattr(pathlib.Path, "read_text", missing)
    assert _cache._maps_taken() is None
    assert _cache._maps_limit() == 65530
    assert not make_room(share=1e-9)


def _maps() -> int:
    return len(pathlib.Path("/proc/self/maps").read_text().splitlines())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts maps")
def test_programs_are_not_dropped_without_a_word(monkeypatch):
    monkeypatch.setattr("shootax._cache._warned", [])
    with pytest.warns(UserWarning, match="All compiled programs of JAX are dropped") as caught:
        dropped = [make_room(share=1e-6) for _ in range(2)]
    assert dropped == [True, True]
    assert len(caught) == 1
