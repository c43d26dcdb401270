"""The settings of a reproduction, and the configurations that it trains."""

import dataclasses
from collections.abc import Mapping
from typing import Any

COLUMNS = ("experiment", "preset", "recipe", "formulation", "inflation", "particles")
"""The columns of the results that say what was trained."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of a reproduction, as plain data; made by [`shootax.paper.make_settings`][].

    **Arguments:**

    - `experiment`, `preset`, `recipe`: their names.
    - `seeds`, `formulations`, `inflations`, `particles`: what is combined.
    - `epochs`: of every training.
    - `options`: of the experiment: sizes of data sets, learning rates and so on.
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
    """One model and the way it is trained, up to the seed.

    **Arguments:**

    - `formulation`, `inflation`, `particles`: of the model; `None` without particles.
    - `more`: values of the experiment's own.
    """

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

    def as_columns(self, settings: Settings) -> dict[str, Any]:
        """The columns of the results that say what was trained."""
        values = {**vars(settings), **vars(self)}
        return {**{name: values[name] for name in COLUMNS}, **self.more}

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> "Configuration":
        """The configuration that `as_columns` was made from."""
        more = {key: value for key, value in columns.items() if key not in COLUMNS}
        return cls(columns["formulation"], columns["inflation"], columns["particles"], more)
