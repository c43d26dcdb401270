"""Bouncing balls: predict images from the first three."""

import functools
from typing import Any

import numpy as np

from shootax import Validation
from shootax.data import MaskedFrames, Sequences, bouncing_balls
from shootax.nn import LatentModel
from shootax.paper import _latent as latent
from shootax.paper._latent import LatentExperiment
from shootax.paper._plan import Configuration, Settings
from shootax.paper._rotating import ORDER

# Data are drawn once for all runs. Runs differ in their initial values and the order of the sequences.
TRAINING, VALIDATION, TEST = 4000, 4001, 4002

FRAMES, SEEN, AHEAD = 20, 3, 10
"""The numbers of frames: of a sequence, for the encoder, and after them to predict in the test."""

FULL = {
    "training": 10_000,
    "validation": 500,
    "test": 500,
    "batch_size": 25,
    "first": SEEN,
    "dim": 50,
    "channels": [16, 32, 64],
}
WEIGHTS = {"data_weight": 100.0, "penalty_weight": 1e-4}

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {
        "seeds": range(1),
        "formulations": ("static-direct", "dynamic-particles"),
        "inflations": (2,),
        "particles": (5,),
        "epochs": 2,
        "options": {
            **FULL,
            **WEIGHTS,
            "training": 50,
            "validation": 20,
            "test": 20,
            "dim": 4,
            "channels": [2, 4, 8],
        },
    },
    "quick": {
        "seeds": range(1),
        "formulations": ("static-direct", "dynamic-particles"),
        "inflations": (5,),
        "particles": (50,),
        "epochs": 50,
        "options": {
            **FULL,
            **WEIGHTS,
            "training": 2000,
            "validation": 100,
            "channels": [8, 16, 32],
        },
    },
    "paper": {
        "seeds": range(1),
        "formulations": ORDER,
        "inflations": (20,),
        "particles": (100,),
        "epochs": 100,
        "options": {**FULL, **WEIGHTS},
    },
}

PAPER = {**latent.RECIPE, "hidden_frames": 0}

BEST = {
    **PAPER,
    "learning_rate": 0.005,
    "schedule": {"kind": "cosine", "warmup": 0.05},
    "clip": 10.0,
    "weight_decay": 0.03,
    "hidden_frames": 10,
    "channels": [8, 16, 32],
}

FULL_SIZE = {
    **BEST,
    "channels": [16, 32, 64],
    "batch_size": 50,
    "steps": 12,
    "hidden_frames": 15,
    "momentum": 0.3,
    "decoder_activation": "gelu",
    "ema": 0.998,
}

RECIPES: dict[str, dict[str, Any]] = {
    "paper": PAPER,
    "best": BEST,
    "full": FULL_SIZE,
    "brief": {**FULL_SIZE, "channels": [8, 16, 32], "steps": 10, "epochs": 12},
}
"""`best` takes an hour or two. It has half of the channels, and half of the frames of each sequence,
redrawn in every epoch, because decoding is expensive. Its learning rate and decay were chosen on
validation sequences. `full` has all channels and takes two hours. It has fewer steps, larger batches, a
quarter of the frames, and smaller initial momenta, because with larger momenta the flow is too stiff for
these steps. `brief` compares formulations in a few minutes each. It is `full` with half of the channels
and an eighth of the epochs."""

TIMES = {"smoke": "under 2 min", "quick": "about 15 min", "paper": "about 15 h"}


class BouncingBalls(LatentExperiment):
    """Latent models of all formulations that predict frames of balls from the first three."""

    name = "bouncing-balls"
    about = "sees three frames of bouncing balls and predicts the next ten"
    presets = PRESETS
    recipes = RECIPES
    times = TIMES

    def task(
        self, settings: Settings, configuration: Configuration
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The data and the keyword arguments for `fit`, which keeps the best epoch by validation."""
        train, held_out = (self.data(settings, part) for part in ("training", "validation"))
        fit_options: dict[str, Any] = {
            "validation": Validation((held_out.first(SEEN), held_out.frames), keep_best=True),
            "optimizer": latent.optimizer(configuration, settings.options),
        }
        if "epochs" in settings.options:
            fit_options["epochs"] = min(settings.options["epochs"], settings.epochs)
        hidden = settings.options["hidden_frames"]
        if hidden == 0:
            return (train.first(SEEN), train.frames), fit_options
        return (MaskedFrames(train, first=SEEN, hidden=hidden),), fit_options

    def data(self, settings: Settings, part: str = "test") -> Sequences:
        """The sequences for `"training"`, `"validation"` or `"test"`."""
        seed = {"training": TRAINING, "validation": VALIDATION, "test": TEST}[part]
        return _balls(settings.options[part], seed)

    def net(self, settings: Settings, configuration: Configuration, seed: int) -> LatentModel:
        """The model of a seed before training."""
        times = 0.1 * np.arange(FRAMES)
        return latent.make_model(configuration, seed, settings.options, times)

    def evaluate(
        self, settings: Settings, configuration: Configuration, net: LatentModel
    ) -> dict[str, Any]:
        """Evaluate a model. `mse_per_step` is for the ten predicted frames; `test_mse` is its mean."""
        errors = latent.squared_errors(net, self.data(settings), SEEN)
        steps = errors.mean(axis=0)[SEEN : SEEN + AHEAD]
        return {
            "test_mse": float(steps.mean()),
            **latent.measured(net),
            "mse_per_step": [float(mean) for mean in steps],
        }


@functools.cache
def _balls(sequences: int, seed: int) -> Sequences:
    return bouncing_balls(sequences, frames=FRAMES, seed=seed)
