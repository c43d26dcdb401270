"""What all experiments of the paper do in the same way: plan their configurations, and train them."""

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shootax import DivergedError, FitResult, fit_many
from shootax.extend import Checkpoint
from shootax.paper import _models as models
from shootax.paper._plan import Configuration, Settings


class AbstractExperiment(abc.ABC):
    """An experiment: which nets are trained, on which data, and how they are evaluated.

    `presets` and `recipes` map a name to settings and options; `times` describes how long a preset takes.
    """

    name: str
    about: str
    presets: Mapping[str, Mapping[str, Any]]
    recipes: Mapping[str, Mapping[str, Any]]
    times: Mapping[str, str]

    @abc.abstractmethod
    def net(self, settings: Settings, configuration: Configuration, seed: int) -> Any:
        """The net of a seed before training."""

    @abc.abstractmethod
    def task(
        self, settings: Settings, configuration: Configuration
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The data and the keyword arguments for `fit`."""

    @abc.abstractmethod
    def evaluate(
        self, settings: Settings, configuration: Configuration, net: Any
    ) -> dict[str, Any]:
        """The results of a trained net."""

    def evaluate_seed(
        self, settings: Settings, configuration: Configuration, net: Any, seed: int
    ) -> dict[str, Any]:
        """The same, for experiments whose seeds have data of their own."""
        return self.evaluate(settings, configuration, net)

    def prepare(self, settings: Settings) -> None:
        """Raise where something that the experiment needs, such as files of data, is missing."""
        return None

    def batch_size(self, settings: Settings) -> int:
        """Samples in a batch."""
        return settings.options["batch_size"]

    def configurations(self, settings: Settings) -> list[Configuration]:
        """All configurations, in the order in which they are to run."""
        return models.configurations(settings)

    def seeds(self, settings: Settings, configuration: Configuration) -> tuple[int, ...]:
        """The seeds that a configuration is trained from."""
        return settings.seeds

    def group_size(self, settings: Settings, configuration: Configuration) -> int:
        """How many seeds train as one program."""
        batch = self.batch_size(settings)
        return models.group_size(lambda: self.net(settings, configuration, 0), batch)

    def start(
        self, settings: Settings, configuration: Configuration, seeds: Sequence[int]
    ) -> list[Any]:
        """What is trained from each seed, before training."""
        return [self.net(settings, configuration, seed) for seed in seeds]

    def train(
        self,
        settings: Settings,
        configuration: Configuration,
        seeds: Sequence[int],
        *,
        checkpoint: Checkpoint | None = None,
        progress: Callable[[int, str], None] | None = None,
    ) -> list[FitResult | DivergedError]:
        """Train a net from each seed, all as one program."""
        data, fit_options = self.task(settings, configuration)
        options = {**settings.options, **configuration.more}
        return fit_many(
            self.start(settings, configuration, seeds),
            *data,
            seeds=seeds,
            together=True,
            data_strength=options["data_weight"],  # as recorded settings call it
            penalty_strength=options["penalty_weight"],
            progress=progress,
            checkpoint=checkpoint,
            **{
                "epochs": settings.epochs,
                "batch_size": self.batch_size(settings),
                **fit_options,
            },
        )
