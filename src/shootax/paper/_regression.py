"""Functions of one variable: the quadratic-like one, and the cubic."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from shootax import FORMULATIONS, Net, Uniform, summary
from shootax.data import DOMAIN, FUNCTIONS, sample_function
from shootax.paper import _models as models
from shootax.paper._experiment import AbstractExperiment
from shootax.paper._plan import Configuration, Settings

# Data are drawn once for all runs. Runs differ in their initial values and the order of the samples.
TRAINING, VALIDATION = 1000, 1001

SIZES = {"training": 500, "validation": 1000, "test": 1000, "batch_size": 50}
WEIGHTS = {"data_weight": 100.0, "penalty_weight": 1.0, "steps": 10}

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {
        "seeds": range(2),
        "formulations": FORMULATIONS,
        "inflations": (4,),
        "particles": (5,),
        "epochs": 20,
        "options": {**SIZES, **WEIGHTS, "training": 100, "validation": 100},
    },
    "quick": {
        "seeds": range(3),
        "formulations": FORMULATIONS,
        "inflations": (4, 16, 64),
        "particles": (15,),
        "epochs": 300,
        "options": {**SIZES, **WEIGHTS},
    },
    "paper": {
        "seeds": range(10),
        "formulations": FORMULATIONS,
        "inflations": (4, 8, 16, 32, 64, 128),
        "particles": (15,),
        "epochs": 500,
        # Fits by few and by many particles are compared at one inflation factor.
        "options": {**SIZES, **WEIGHTS, "more_particles": [2, 5, 25], "more_at": 16},
    },
}

RECIPES: dict[str, dict[str, Any]] = {
    "paper": {
        "learning_rate": 0.01,
        "schedule": {"kind": "plateau", "drop": 0.5, "patience": 10, "every": 10},
        "clip": None,
        "momentum": 0.1,
        "momentum_by_particles": False,
        "hidden": 0.5,
        "lift_unit": 1.0,
        "frozen_epochs": 50,
    },
    "best": {
        "learning_rate": 0.05,
        "schedule": {"kind": "cosine", "warmup": 0.1},
        "clip": 10.0,
        "momentum": 2.0,
        "momentum_by_particles": True,
        "hidden": 0.5,
        "lift_unit": 10.0,
        "frozen_epochs": 50,
    },
}
# The code of 2020 averages over particles. The model is the same, but Adam's steps are K times smaller.
RECIPES["averaged"] = {**RECIPES["paper"], "momentum_by_particles": True}


class Regression(AbstractExperiment):
    """UpDown nets of all formulations that are fitted to samples of a function."""

    presets = PRESETS
    recipes = RECIPES

    def __init__(self, name: str):
        self.name = name
        formula = {"quadratic": "x² + 3/(1 + x²)", "cubic": "x³"}[name]
        self.about = f"fits {formula}: test loss and complexity of four formulations against α"
        self.times = {"smoke": "under 1 min", "quick": "under 5 min", "paper": "about 40 min"}

    def configurations(self, settings: Settings) -> list[Configuration]:
        kinds = ("static-particles", "dynamic-particles")
        return models.configurations(settings) + models.more_particles(settings, kinds)

    def task(
        self, settings: Settings, configuration: Configuration
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        options = settings.options
        held_out = sample_function(self.name, options["validation"], VALIDATION)
        samples = sample_function(self.name, options["training"], TRAINING)
        fit_options = {
            "optimizer": models.optimizer(configuration, options),
            "validation": held_out,
        }
        return samples, fit_options

    def net(self, settings: Settings, configuration: Configuration, seed: int) -> Net:
        """The net of a seed before training."""
        return models.make_net(
            configuration,
            seed,
            dim=1,
            position=Uniform(*DOMAIN, hidden=settings.options["hidden"]),
            options=settings.options,
            T=1.0,
            steps=settings.options["steps"],
        )

    def evaluate(
        self, settings: Settings, configuration: Configuration, net: Net
    ) -> dict[str, Any]:
        options = settings.options
        x = np.linspace(*DOMAIN, options["test"])[:, None]
        error = float(mean_square(net, x, FUNCTIONS[self.name](x)))
        measured = {"test_mse": error, **summary(net)}
        weighted = options["data_weight"] * error + options["penalty_weight"] * measured["penalty"]
        return {**measured, "objective": weighted}


@eqx.filter_jit
def _mean_square(net: Net, x: Any, y: Any) -> Any:
    return jnp.mean((net(x) - y) ** 2)


def mean_square(net: Net, x: np.ndarray, y: np.ndarray) -> float:
    """The mean squared error of a net."""
    return float(_mean_square(net, *(jnp.asarray(a, jnp.result_type(float)) for a in (x, y))))
