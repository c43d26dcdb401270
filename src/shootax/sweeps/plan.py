"""What a sweep is made of: settings, configurations, and groups of seeds that train together."""

import abc
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from shootax.errors import DivergedError
from shootax.train import Checkpoint, Fit
from shootax.train.display import Show


@dataclasses.dataclass(frozen=True)
class Settings:
    """All that decides the numbers of a sweep, as plain data.

    `options` belong to the experiment: sizes of data sets, learning rates and so on.
    """

    experiment: str
    preset: str
    recipe: str
    seeds: tuple[int, ...]
    formulations: tuple[str, ...]
    inflations: tuple[int, ...]
    particles: tuple[int, ...]
    epochs: int
    options: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """The settings as JSON has them."""
        lists = {k: list(v) if isinstance(v, tuple) else v for k, v in vars(self).items()}
        return {**lists, "options": dict(self.options)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Settings":
        """The settings that `as_json` wrote."""
        made: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in values.items()
        }
        return cls(**made)


@dataclasses.dataclass(frozen=True)
class Configuration:
    """One model and the way it is trained, up to the seed. `more` is the experiment's own."""

    formulation: str
    inflation: int
    particles: int | None
    more: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        """A name for files."""
        particles = "" if self.particles is None else f"-k{self.particles}"
        more = "".join(f"-{key.replace('_', '-')}-{value}" for key, value in self.more.items())
        return f"{self.formulation}-a{self.inflation}{particles}{more}"

    @property
    def title(self) -> str:
        """A name for people."""
        particles = "" if self.particles is None else f" K={self.particles}"
        more = "".join(f" {key.replace('_', ' ')} {value}" for key, value in self.more.items())
        return f"{self.formulation} α={self.inflation}{particles}{more}"


@dataclasses.dataclass(frozen=True)
class Group:
    """Seeds of one configuration that train as one program."""

    configuration: Configuration
    seeds: tuple[int, ...]

    @property
    def name(self) -> str:
        """A name for files."""
        first, last = self.seeds[0], self.seeds[-1]
        return f"{self.configuration.name}-s{first}" + (f"-{last}" if last != first else "")


class AbstractExperiment(abc.ABC):
    """What can be swept over: it says which configurations there are, trains and measures them.

    `presets` and `recipes` map a name to settings and options; `times` says how long a preset takes.
    """

    name: str
    about: str
    presets: Mapping[str, Mapping[str, Any]]
    recipes: Mapping[str, Mapping[str, Any]]
    times: Mapping[str, str]

    @abc.abstractmethod
    def configurations(self, settings: Settings) -> list[Configuration]:
        """All configurations of a sweep, in the order in which they are to run."""

    @abc.abstractmethod
    def group_size(self, settings: Settings, configuration: Configuration) -> int:
        """How many seeds train as one program."""

    @abc.abstractmethod
    def train(
        self,
        settings: Settings,
        configuration: Configuration,
        seeds: Sequence[int],
        *,
        checkpoint: Checkpoint | None = None,
        progress: Show | None = None,
    ) -> list[Fit | DivergedError]:
        """Trains a net from each seed, all as one program."""

    @abc.abstractmethod
    def evaluate(
        self, settings: Settings, configuration: Configuration, net: Any
    ) -> dict[str, Any]:
        """What the results say of a trained net."""


def planned(experiment: AbstractExperiment, settings: Settings) -> list[Group]:
    """All groups of a sweep. The split never depends on what is finished: a group that is resumed
    is the same program on the same seeds."""
    groups = []
    for configuration in experiment.configurations(settings):
        size, seeds = experiment.group_size(settings, configuration), settings.seeds
        parts = [seeds[i : i + size] for i in range(0, len(seeds), size)]
        groups.extend(Group(configuration, tuple(part)) for part in parts)
    return groups
