"""What all experiments do in the same way: plan their configurations, and train them."""

import abc
from collections.abc import Sequence
from typing import Any

from shootax.errors import DivergedError
from shootax.experiments import models
from shootax.sweeps.plan import AbstractExperiment, Configuration, Settings
from shootax.train import Checkpoint, Fit
from shootax.train.display import Show
from shootax.train.fit import fit_many


class Experiment(AbstractExperiment):
    """An experiment that says what the nets are and what they are to learn."""

    @abc.abstractmethod
    def net(self, settings: Settings, configuration: Configuration, seed: int) -> Any:
        """The net of a seed before training."""

    @abc.abstractmethod
    def task(
        self, settings: Settings, configuration: Configuration
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The data, as `fit` takes them first, and what else it is told."""

    def batch_size(self, settings: Settings) -> int:
        """Rows in a batch."""
        return settings.options["batch_size"]

    def configurations(self, settings: Settings) -> list[Configuration]:
        return models.configurations(settings)

    def group_size(self, settings: Settings, configuration: Configuration) -> int:
        rows = self.batch_size(settings)
        return models.group_size(lambda: self.net(settings, configuration, 0), rows)

    def train(
        self,
        settings: Settings,
        configuration: Configuration,
        seeds: Sequence[int],
        *,
        checkpoint: Checkpoint | None = None,
        progress: Show | None = None,
    ) -> list[Fit | DivergedError]:
        data, told = self.task(settings, configuration)
        options = {**settings.options, **configuration.more}
        return fit_many(
            [self.net(settings, configuration, seed) for seed in seeds],
            *data,
            seeds=seeds,
            together=True,
            batch_size=self.batch_size(settings),
            data_weight=options["data_weight"],
            penalty_weight=options["penalty_weight"],
            progress=progress,
            checkpoint=checkpoint,
            **{"epochs": settings.epochs, **told},
        )
