"""Double precision, no silent promotion, the shapes in signatures checked, and a quick compiler."""

import os
import pathlib

# Nearly all the time of the suite is that of compiling programs which run once. So they are hardly
# optimised, and a program that two tests, two workers or a test and a command need is compiled once.
# `XLA_FLAGS=` in the environment, as in `make test-all`, leaves the compiler as users have it.
# This stands before the import of JAX, and in the environment, for the sake of child processes.
if "XLA_FLAGS" not in os.environ:
    os.environ["XLA_FLAGS"] = "--xla_cpu_use_fusion_emitters=false"
    os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    programs = pathlib.Path(__file__).parents[1] / ".pytest_cache" / "programs"
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(programs)
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.05"

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


@pytest.fixture
def standard_promotion():
    """For tests that train: Optax promotes silently inside Adam."""
    with jax.numpy_dtype_promotion("standard"):
        yield


@pytest.fixture(autouse=True)
def room_for_programs():
    """So that hundreds of tests can compile in one process."""
    from shootax._cache import make_room  # after the hook above

    make_room(share=0.8, quiet=True)
