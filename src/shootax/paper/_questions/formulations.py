"""Does optimising over critical points generalise better? Four formulations at equal training loss.

Every formulation is trained with several strengths of the data term, and each seed has its own training
set. The training loss decreases with the strength. The figures and tables interpolate, to compare the
formulations at equal training losses.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from shootax import FORMULATIONS, DivergedError, FitResult, Net, Uniform, penalty, theory
from shootax.extend import Checkpoint
from shootax.paper import _models as models
from shootax.paper._experiment import AbstractExperiment
from shootax.paper._plan import Configuration, Settings
from shootax.paper._questions.tasks import Split, losses, noisy_task

OPTIONS = {
    "tasks": ["function", "circles"],
    "samples": [20, 2000, 200],
    "data_weights": [10.0, 100.0, 1000.0],
    "batch_size": 50,
    "steps": 5,
}

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {
        "seeds": range(2),
        "formulations": ("static-direct", "dynamic-particles"),
        "inflations": (2,),
        "particles": (3,),
        "epochs": 20,
        "options": {**OPTIONS, "tasks": ["function"], "samples": [20], "data_weights": [10, 100.0]},
    },
    "quick": {
        "seeds": range(5),
        "formulations": FORMULATIONS,
        "inflations": (8,),
        "particles": (8,),
        "epochs": 300,
        "options": {**OPTIONS, "tasks": ["function"], "samples": [20, 200]},
    },
    "paper": {
        "seeds": range(10),
        "formulations": FORMULATIONS,
        "inflations": (8,),
        "particles": (8,),
        "epochs": 400,
        "options": OPTIONS,
    },
}

RECIPES: dict[str, dict[str, Any]] = {
    "paper": {
        "penalty_weight": 1.0,
        "learning_rate": 0.03,
        "schedule": {"kind": "cosine", "warmup": 0.1},
        "clip": 10.0,
        "momentum": 1.0,
        "momentum_by_particles": True,
        "hidden": 0.5,
        "lift_unit": 1.0,
        "frozen_epochs": 0,
    },
}


class Formulations(AbstractExperiment):
    """UpDown nets of all formulations, for several numbers of samples. `epochs` counts updates."""

    name = "questions-formulations"
    about = "open question: which formulation generalises best at equal training loss"
    presets: ClassVar = PRESETS
    recipes: ClassVar = RECIPES
    times: ClassVar = {"smoke": "under 1 min", "quick": "under 5 min", "paper": "about 15 min"}

    def configurations(self, settings: Settings) -> list[Configuration]:
        options, out = settings.options, []
        for task in options["tasks"]:
            for samples in options["samples"]:
                for noise in (False, True):
                    for weight in options["data_weights"]:
                        more = {"task": task, "samples": samples, "noise": noise}
                        out += models.configurations(settings, **more, data_weight=weight)
        return out

    def task(
        self, settings: Settings, configuration: Configuration
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The indices of samples as data, because each net looks them up in its own training set."""
        samples = configuration.more["samples"]
        batch = min(samples, settings.options["batch_size"])
        told = {
            "loss": _own_loss if configuration.more["task"] == "function" else _own_cross_entropy,
            "optimizer": _inside(models.optimizer(configuration, settings.options)),
            "batch_size": batch,
            "epochs": max(1, settings.epochs * batch // samples),
        }
        number = np.arange(samples, dtype=float)
        return (number, number), told

    def net(self, settings: Settings, configuration: Configuration, seed: int) -> Net:
        """The net of a seed before training."""
        circles = configuration.more["task"] == "circles"
        return models.make_net(
            configuration,
            seed,
            dim=2 if circles else 1,
            position=Uniform(hidden=settings.options["hidden"]),
            options=settings.options,
            T=1.0,
            steps=settings.options["steps"],
            readout=2 if circles else None,
        )

    def start(
        self, settings: Settings, configuration: Configuration, seeds: Sequence[int]
    ) -> list[Any]:
        """The nets with their training sets."""
        nets = super().start(settings, configuration, seeds)
        splits = [_split(configuration, seed) for seed in seeds]
        return [OnOwnData(net, split) for net, split in zip(nets, splits, strict=True)]

    def train(
        self,
        settings: Settings,
        configuration: Configuration,
        seeds: Sequence[int],
        *,
        checkpoint: Checkpoint | None = None,
        progress: Callable[[int, str], None] | None = None,
    ) -> list[FitResult | DivergedError]:
        """Train a net from each seed on its own training set, all in one program."""
        outcomes = super().train(
            settings, configuration, seeds, checkpoint=checkpoint, progress=progress
        )
        return [_alone(outcome) for outcome in outcomes]

    def evaluate_seed(
        self, settings: Settings, configuration: Configuration, net: Net, seed: int
    ) -> dict[str, Any]:
        """Evaluate a net: losses on both sets, the energy, and the bounds of the certificate."""
        split = _split(configuration, seed)
        train_loss, _ = _measured(net, split.x, split.y, split.classes)
        test_loss, error = _measured(net, split.test_x, split.test_y, split.classes)
        probes = split.x[:20]
        found = theory.certify(net, probes, steps=10, jacobians=2)
        flow = found["Lipschitz constant of the flow"]
        return {
            "train_loss": train_loss,
            "test_loss": test_loss,
            "test_error": error,
            "penalty": float(penalty(net)),
            "norm_squared": found.norm_squared,
            "lipschitz_energy": flow.energy,
            "lipschitz_path": flow.path,
            "lipschitz_measured": flow.measured,
            "rademacher": theory.rademacher(net, split.x).rigorous,
        }

    def evaluate(
        self, settings: Settings, configuration: Configuration, net: Net
    ) -> dict[str, Any]:
        """Evaluate a net on the data of seed 0."""
        return self.evaluate_seed(settings, configuration, net, 0)


class OnOwnData(eqx.Module):
    """A net with its own training set. It takes indices of samples, and returns its outputs with the
    targets, so that nets with different data can train in one program."""

    net: Net
    x: Array
    y: Array

    def __init__(self, net: Net, split: Split):
        self.net = net
        self.x = jnp.asarray(split.x, jnp.result_type(float))
        self.y = jnp.asarray(split.y, jnp.result_type(float))

    def __call__(self, number: Array) -> tuple[Array, Array]:
        place = jnp.ravel(number).astype(int)
        x, y = (jax.lax.stop_gradient(leaf)[place] for leaf in (self.x, self.y))
        return self.net(x), y


def _own_loss(predicted: tuple[Array, Array], number: Array) -> Array:
    return jnp.mean((predicted[0] - predicted[1]) ** 2)


def _own_cross_entropy(predicted: tuple[Array, Array], number: Array) -> Array:
    return -jax.nn.log_softmax(predicted[0])[predicted[1].astype(int)]


def _inside(optimizer: Any) -> Any:
    """The optimiser, without updates of the data, which are arrays of the model."""
    return dataclasses.replace(optimizer, freeze={"x": None, "y": None})


def _alone(outcome: FitResult | DivergedError) -> FitResult | DivergedError:
    result = outcome.result if isinstance(outcome, DivergedError) else outcome
    bare = result._replace(net=result.net.net)
    return DivergedError(str(outcome), bare) if isinstance(outcome, DivergedError) else bare


def _split(configuration: Configuration, seed: int) -> Split:
    more = configuration.more
    return noisy_task(more["task"], more["samples"], more["noise"], seed)


@eqx.filter_jit
def _outputs(net: Net, x: Array) -> Array:
    return net(x)


def _measured(net: Net, x: np.ndarray, y: np.ndarray, classes: int) -> tuple[float, float]:
    found = np.asarray(_outputs(net, jnp.asarray(x, jnp.result_type(float))), np.float64)
    return losses(found, y, classes)
