"""Make the settings of a sweep from a preset, a recipe and the options of a command."""

from collections.abc import Sequence

from shootax import FORMULATIONS
from shootax import _checks as checks
from shootax.paper._experiment import AbstractExperiment
from shootax.paper._plan import Settings

PRESETS = ("smoke", "quick", "paper")


def make_settings(
    experiment: AbstractExperiment,
    preset: str = "quick",
    recipe: str = "paper",
    *,
    seeds: int | Sequence[int] | None = None,
    formulations: Sequence[str] | None = None,
    inflations: Sequence[int] | None = None,
    particles: Sequence[int] | None = None,
) -> Settings:
    """Make the settings of a sweep from a preset and a recipe.

    **Arguments:**

    - `experiment`: one of [`shootax.paper.EXPERIMENTS`][].
    - `preset`: the size of the sweep, `"smoke"`, `"quick"` or `"paper"`.
    - `recipe`: how the models are trained, such as `"paper"` or `"best"`.
    - `seeds`, `formulations`, `inflations`, `particles`: replace the values of the preset. `seeds` may be
        the number of seeds.

    !!! example

        ```python
        from shootax.paper import EXPERIMENTS, make_settings

        settings = make_settings(EXPERIMENTS["quadratic"], "paper", seeds=3)
        print(settings.inflations)  # (4, 8, 16, 32, 64, 128)
        ```
    """
    checks.instance(
        experiment, AbstractExperiment, "experiment", 'make_settings(EXPERIMENTS["cubic"])'
    )
    checks.one_of(preset, experiment.presets, "preset")
    checks.one_of(recipe, experiment.recipes, "recipe")
    chosen = dict(experiment.presets[preset])
    options = {**chosen.pop("options"), **experiment.recipes[recipe]}
    if seeds is not None:
        chosen["seeds"] = range(seeds) if isinstance(seeds, int) else seeds
    for name, given in (
        ("formulations", formulations),
        ("inflations", inflations),
        ("particles", particles),
    ):
        if given is not None:
            if not given:
                raise ValueError(f"{name} must not be empty. Give at least one.")
            chosen[name] = given
    if particles is not None:
        options.pop("more_particles", None)
    for name in chosen["formulations"]:
        checks.one_of(name, FORMULATIONS, "model")
    for name in ("inflations", "particles"):
        for number in chosen[name]:
            checks.positive_integer(number, name)
    if not list(chosen["seeds"]):
        raise ValueError("seeds must not be empty. Give at least one.")
    return Settings(
        experiment=experiment.name,
        preset=preset,
        recipe=recipe,
        seeds=tuple(int(seed) for seed in chosen["seeds"]),
        formulations=tuple(chosen["formulations"]),
        inflations=tuple(chosen["inflations"]),
        particles=tuple(chosen["particles"]),
        epochs=chosen["epochs"],
        options=options,
    )
