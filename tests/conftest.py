"""Double precision, no silent promotion, the shapes in signatures checked, and a quick compiler."""

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

# The parts that no user hands anything to: elsewhere the library's own checks have the word.
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


@pytest.hookimpl(tryfirst=True)  # before those marked as slow are left out
def pytest_collection_modifyitems(items):
    """The cases in `long_cases.txt` are slow ones, while others of the same test stay quick."""
    listed = set(LONG.read_text(encoding="utf-8").splitlines())
    for item in items:
        if item.nodeid in listed:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def standard_promotion():
    """For tests that train: Optax promotes silently inside Adam."""
    with jax.numpy_dtype_promotion("standard"):
        yield


@pytest.fixture(autouse=True)
def room_for_programs():
    """So that hundreds of tests can compile in one process.

    To look at it, and to collect garbage among millions of objects, takes a while: not after every test.
    """
    from shootax._cache import make_room  # after the hook above

    number = next(_TESTS)
    if (number % 20 == 0 and make_room(share=0.5, quiet=True)) or number % 200 == 0:
        gc.collect()


_TESTS = itertools.count(1)
gc.disable()
