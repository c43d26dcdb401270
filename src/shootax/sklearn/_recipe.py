"""Settings of a training that depend on the number of samples, where a user named none."""

from typing import NamedTuple

from shootax.sklearn._tables import power_of_two

SMALL = 1500
"""Up to so many samples regularisation is at its full strength."""
MOST_EPOCHS, FEWEST_EPOCHS = 100, 10
MOST_SAMPLES = 1_000_000
"""About how many samples a training sees at most, again and again: large tables then have nearly
all of the score."""
SMALLEST_BATCH, LARGEST_BATCH = 32, 128


class Recipe(NamedTuple):
    """Settings for a number of samples."""

    penalty_weight: float
    weight_decay: float
    batch_size: int
    epochs: int


def recipe(samples: int) -> Recipe:
    """Settings for training with so many samples.

    A prior says less the more data there are, so penalty and weight decay fall with the square of
    the number of samples, once these are many. Batches grow and epochs become fewer, so that large
    tables do not take proportionally long.
    """
    share = min(1.0, SMALL / max(samples, 1)) ** 2
    return Recipe(
        penalty_weight=0.01 * share,
        weight_decay=0.5 * share,
        batch_size=min(power_of_two(samples // 22, SMALLEST_BATCH), LARGEST_BATCH),
        epochs=min(MOST_EPOCHS, max(FEWEST_EPOCHS, MOST_SAMPLES // max(samples, 1))),
    )


def rate_for(batch_size: int) -> float:
    """The learning rate for a batch size: larger batches have less noise, and bear larger steps."""
    return 0.01 if batch_size <= SMALLEST_BATCH else 0.02
