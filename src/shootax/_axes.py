"""The axes of devices that a training runs over, as seen from inside its program."""

import jax

DATA, PARTICLES = "shootax_data", "shootax_particles"
"""Their names inside a program, whatever those of the user's mesh are."""


def size_of(axis: str) -> int:
    """The number of devices along an axis; 1 in programs that do not run over it."""
    try:
        return int(jax.lax.axis_size(axis))
    except NameError:
        return 1
