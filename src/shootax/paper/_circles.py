"""Concentric circles: the rate at which nets fit their training data perfectly, by inflation factor."""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from shootax import Net, Uniform, summary
from shootax.data import annuli
from shootax.paper import _models as models
from shootax.paper._experiment import AbstractExperiment
from shootax.paper._plan import Configuration, Settings

TRAINING, VALIDATION, TEST = 3000, 3001, 3002

SIZES = {"inner": 1000, "outer": 2000, "batch_size": 128, "steps": 10}

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {
        "seeds": range(2),
        "formulations": ("dynamic-particles",),
        "inflations": (2, 5),
        "particles": (5,),
        "epochs": 3,
        "options": {**SIZES, "inner": 100, "outer": 200, "data_weights": [100.0, 3.0]},
    },
    "quick": {
        "seeds": range(10),
        "formulations": ("dynamic-particles",),
        "inflations": (5, 10, 20),
        "particles": (20,),
        "epochs": 20,
        "options": {**SIZES, "data_weights": [100.0, 3.0]},
    },
    "paper": {
        "seeds": range(50),
        "formulations": ("dynamic-particles",),
        "inflations": (5, 10, 20),
        "particles": (20,),
        "epochs": 20,
        "options": {**SIZES, "data_weights": [100.0, 3.0]},
    },
}

RECIPES: dict[str, dict[str, Any]] = {
    "paper": {
        "penalty_weight": 1.0,
        "learning_rate": 0.005,
        "schedule": {"kind": "cosine"},
        "clip": None,
        "momentum": 0.1,
        "momentum_by_particles": False,
        "hidden": 0.5,
        "lift_unit": 1.0,
        "frozen_epochs": 0,
    },
}
# The code of 2020 averages over particles. The model is the same, but Adam's steps are K times smaller.
RECIPES["averaged"] = {**RECIPES["paper"], "momentum_by_particles": True}
RECIPES["best"] = {
    **RECIPES["averaged"],
    "learning_rate": 0.05,
    "schedule": {"kind": "cosine", "warmup": 0.1},
    "clip": 10.0,
    "momentum": 2.0,
    "lift_unit": 10.0,
}
"""`best` was found on validation points with other seeds (`benchmarks/circles_recipes.py`)."""


class Circles(AbstractExperiment):
    """UpDown with a linear classifier, trained with two weights of the classification loss."""

    name = "circles"
    about = "tells a disc from a ring: how often training data are fit perfectly, against α"
    presets: ClassVar = PRESETS
    recipes: ClassVar = RECIPES
    times: ClassVar = {"smoke": "under 1 min", "quick": "under 5 min", "paper": "about 15 min"}

    def configurations(self, settings: Settings) -> list[Configuration]:
        out = []
        for weight in settings.options["data_weights"]:
            out.extend(models.configurations(settings, data_weight=weight))
        return out

    def task(
        self, settings: Settings, configuration: Configuration
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        fit_options = {
            "loss": "cross_entropy",
            "validation": _data(settings, VALIDATION),
            "optimizer": models.optimizer(configuration, settings.options),
        }
        return _data(settings, TRAINING), fit_options

    def net(self, settings: Settings, configuration: Configuration, seed: int) -> Net:
        """The net of a seed before training."""
        return models.make_net(
            configuration,
            seed,
            dim=2,
            position=Uniform(hidden=settings.options["hidden"]),
            options=settings.options,
            T=1.0,
            steps=settings.options["steps"],
            readout=2,
        )

    def evaluate(
        self, settings: Settings, configuration: Configuration, net: Net
    ) -> dict[str, Any]:
        """Evaluate a net. `test_mse` is the mean squared error of the class probability."""
        x, y = _data(settings, TEST)
        logits = _logits(net, x)
        probability = 1 / (1 + np.exp(logits[:, 0] - logits[:, 1]))
        accuracy = _accuracy(net, *_data(settings, TRAINING))
        return {
            "test_mse": float(np.mean((probability - y) ** 2)),
            **summary(net),
            "train_accuracy": accuracy,
            "test_accuracy": float(np.mean(np.argmax(logits, axis=1) == y)),
            "success": accuracy == 1.0,
        }


def _data(settings: Settings, seed: int) -> tuple[np.ndarray, np.ndarray]:
    return annuli(settings.options["inner"], settings.options["outer"], seed=seed)


@eqx.filter_jit
def _call(net: Net, x: Any) -> Any:
    return net(x)


def _logits(net: Net, x: np.ndarray) -> np.ndarray:
    return np.asarray(_call(net, jnp.asarray(x, jnp.result_type(float))), np.float64)


def _accuracy(net: Net, x: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(np.argmax(_logits(net, x), axis=1) == y))
