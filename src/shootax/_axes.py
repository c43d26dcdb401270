"""The device axes that training runs over, as seen from inside its program."""

import jax

DATA, PARTICLES = "shootax_data", "shootax_particles"
"""The names of the axes inside a program, independent of those in the user's mesh."""


def size_of(axis: str) -> int:
    """The number of devices along an axis; 1 in programs that do not run over it."""
    try:
        return int(jax.lax.axis_size(axis))
    except NameError:
        return 1
