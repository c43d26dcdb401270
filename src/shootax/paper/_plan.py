"""The settings of a reproduction, and its configurations."""

import dataclasses
from collections.abc import Mapping
from typing import Any

COLUMNS = ("experiment", "preset", "recipe", "formulation", "inflation", "particles")
"""The columns of the results that identify a configuration."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of a reproduction as plain data, from [`shootax.paper.make_settings`][].

    **Arguments:**

    - `experiment`, `preset`, `recipe`: the names of the experiment, the preset and the recipe.
    - `seeds`, `formulations`, `inflations`, `particles`: the values to combine.
    - `epochs`: the number of epochs of each training.
    - `options`: other options of the experiment, such as sizes of data sets and learning rates.
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
        """Convert the settings to JSON values."""
        lists = {k: list(v) if isinstance(v, tuple) else v for k, v in vars(self).items()}
        return {**lists, "options": dict(self.options)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Settings":
        """Construct settings from the values of `as_json`."""
        made: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in values.items()
        }
        return cls(**made)


@dataclasses.dataclass(frozen=True)
class Configuration:
    """A model and its training, except for the seed.

    **Arguments:**

    - `formulation`, `inflation`, `particles`: the formulation, inflation factor and number of particles
        of the model. `particles` is `None` for models without particles.
    - `more`: additional values of the experiment.
    """

    formulation: str
    inflation: int
    particles: int | None
    more: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        """A name for use in file names."""
        particles = "" if self.particles is None else f"-k{self.particles}"
        more = "".join(f"-{key.replace('_', '-')}-{value}" for key, value in self.more.items())
        return f"{self.formulation}-a{self.inflation}{particles}{more}"

    @property
    def title(self) -> str:
        """A readable name."""
        particles = "" if self.particles is None else f" K={self.particles}"
        more = "".join(f" {key.replace('_', ' ')} {value}" for key, value in self.more.items())
        return f"{self.formulation} α={self.inflation}{particles}{more}"

    def as_columns(self, settings: Settings) -> dict[str, Any]:
        """The columns of the results that identify this configuration."""
        values = {**vars(settings), **vars(self)}
        return {**{name: values[name] for name in COLUMNS}, **self.more}

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> "Configuration":
        """Construct the configuration from its columns."""
        more = {key: value for key, value in columns.items() if key not in COLUMNS}
        return cls(columns["formulation"], columns["inflation"], columns["particles"], more)
