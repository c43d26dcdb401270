"""The base class of the paper's experiments, which plans and trains their configurations."""

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shootax import DivergedError, FitResult, fit_many
from shootax.extend import Checkpoint
from shootax.paper import _models as models
from shootax.paper._plan import Configuration, Settings


class AbstractExperiment(abc.ABC):
    """An experiment: which nets are trained, on which data, and how they are evaluated.

    `presets` and `recipes` map names to settings and options. `times` describes how long a preset takes.
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
        """Evaluate a trained net."""

    def evaluate_seed(
        self, settings: Settings, configuration: Configuration, net: Any, seed: int
    ) -> dict[str, Any]:
        """Evaluate a trained net of a seed, for experiments whose data depend on the seed."""
        return self.evaluate(settings, configuration, net)

    def prepare(self, settings: Settings) -> None:
        """Raise if something that the experiment needs, such as a data file, is missing."""
        return None

    def batch_size(self, settings: Settings) -> int:
        """The number of samples in a batch."""
        return settings.options["batch_size"]

    def configurations(self, settings: Settings) -> list[Configuration]:
        """All configurations, in the order in which they run."""
        return models.configurations(settings)

    def seeds(self, settings: Settings, configuration: Configuration) -> tuple[int, ...]:
        """The seeds from which a configuration is trained."""
        return settings.seeds

    def group_size(self, settings: Settings, configuration: Configuration) -> int:
        """The number of seeds that train in one program."""
        batch = self.batch_size(settings)
        return models.group_size(lambda: self.net(settings, configuration, 0), batch)

    def start(
        self, settings: Settings, configuration: Configuration, seeds: Sequence[int]
    ) -> list[Any]:
        """The models of the seeds before training."""
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
        """Train a net from each seed, all in one program."""
        data, fit_options = self.task(settings, configuration)
        options = {**settings.options, **configuration.more}
        return fit_many(
            self.start(settings, configuration, seeds),
            *data,
            seeds=seeds,
            together=True,
            data_strength=options["data_weight"],  # its name in recorded settings
            penalty_strength=options["penalty_weight"],
            progress=progress,
            checkpoint=checkpoint,
            **{
                "epochs": settings.epochs,
                "batch_size": self.batch_size(settings),
                **fit_options,
            },
        )
