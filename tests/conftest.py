"""Double precision, no silent promotion, checked shapes in signatures, and quick compilation."""

import gc
import itertools
import pathlib

import compiler

compiler.quick()  # before the import of JAX

import jax
import pytest
from jaxtyping import install_import_hook

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")

# Parts that get no arguments from users. Elsewhere, the library's own checks must raise the error.
install_import_hook(
    [
        "shootax._fields.block",
        "shootax._fields.convolution",
        "shootax._fields.grouped",
        "shootax._hamiltonian",
        "shootax._systems",
        "shootax._integrators.fixed_point",
        "shootax._integrators.gradients",
        "shootax._integrators.interpolation",
        "shootax._train.epoch",
        "shootax._train.losses",
    ],
    "beartype.beartype",
)


LONG = pathlib.Path(__file__).parent / "long_cases.txt"


@pytest.hookimpl(tryfirst=True)  # before slow tests are deselected
def pytest_collection_modifyitems(items):
    """Mark the cases in `long_cases.txt` as slow; other cases of the same test stay quick."""
    listed = set(LONG.read_text(encoding="utf-8").splitlines())
    for item in items:
        if item.nodeid in listed:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def standard_promotion():
    """Allow standard promotion in tests that train, because Optax promotes silently inside Adam."""
    with jax.numpy_dtype_promotion("standard"):
        yield


@pytest.fixture(autouse=True)
def room_for_programs():
    """Free compiled programs from time to time, so that hundreds of tests can compile in one process.

    The check and the garbage collection over millions of objects take a while, so they do not run after
    every test.
    """
    from shootax._cache import make_room  # after the hook above

    number = next(_TESTS)
    if (number % 20 == 0 and make_room(share=0.5, quiet=True)) or number % 200 == 0:
        gc.collect()


_TESTS = itertools.count(1)
gc.disable()
