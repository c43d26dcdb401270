"""Default training settings, which depend on the number of samples."""

from typing import NamedTuple

from shootax.sklearn._tables import power_of_two

SMALL = 1500
"""Up to this number of samples, regularisation has its full strength."""
MOST_EPOCHS, FEWEST_EPOCHS = 100, 10
MOST_SAMPLES = 1_000_000
"""The approximate maximal number of samples that training sees in total, over all epochs. Large tables
then reach nearly all of their score."""
SMALLEST_BATCH, LARGEST_BATCH = 32, 128


class Recipe(NamedTuple):
    """Settings for a number of samples."""

    penalty_weight: float
    weight_decay: float
    batch_size: int
    epochs: int


def recipe(samples: int) -> Recipe:
    """Settings for training with `samples` samples.

    A prior matters less the more data there are, so penalty and weight decay fall with the square of
    the number of samples beyond `SMALL`. Batches grow and epochs become fewer, so that the training
    time grows more slowly than the table.
    """
    share = min(1.0, SMALL / max(samples, 1)) ** 2
    return Recipe(
        penalty_weight=0.01 * share,
        weight_decay=0.5 * share,
        batch_size=min(power_of_two(samples // 22, SMALLEST_BATCH), LARGEST_BATCH),
        epochs=min(MOST_EPOCHS, max(FEWEST_EPOCHS, MOST_SAMPLES // max(samples, 1))),
    )


def rate_for(batch_size: int) -> float:
    """The learning rate for a batch size: larger batches have less noise and allow larger steps."""
    return 0.01 if batch_size <= SMALLEST_BATCH else 0.02
