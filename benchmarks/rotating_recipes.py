"""Compare recipes for rotating MNIST: static direct on 400 training sequences, judged by the other 100.

Prints the errors of the frames that are shown in training, and of frame 3, which is never shown: for the
100 sequences, and for the 400, of which only the angle is new.

    python benchmarks/rotating_recipes.py [--epochs 150] [--only TEXT]
"""

import argparse
import dataclasses

import numpy as np

from shootax import DivergedError
from shootax.data import rotating_mnist
from shootax.data._rotating import HELD_OUT
from shootax.paper import EXPERIMENTS, make_settings
from shootax.paper import _latent as latent

TRAINING = 400
SEED = 100  # not one of the seeds that results are reported for

LIFT = {"lift_unit": 10.0}
WARM = {"schedule": {"kind": "cosine", "warmup": 0.05}, "clip": 10.0, "learning_rate": 0.01, **LIFT}
KNOWN = {**WARM, "weight_decay": 0.3}
FEWER = {**KNOWN, "hidden_frames": 8}
GELU = {**FEWER, "decoder_activation": "gelu"}
RECIPES = {
    "rate 0.001 (paper)": {},
    "rate 0.003": {"learning_rate": 0.003},
    "rate 0.01": {"learning_rate": 0.01},
    "rate 0.005, lift in units of 10": {"learning_rate": 0.005, **LIFT},
    "rate 0.005, no norm": {"learning_rate": 0.005, "norm": "none"},
    "rate 0.01, lift in units of 10, no norm": {"learning_rate": 0.01, "norm": "none", **LIFT},
    "rate 0.01, lift in units of 10, decay 0.03": {
        "learning_rate": 0.01,
        "weight_decay": 0.03,
        **LIFT,
    },
    "with warm-up and clipping, decay 0.03": {**WARM, "weight_decay": 0.03},
    "with warm-up and clipping, decay 0.3": {**WARM, "weight_decay": 0.3},
    "with warm-up and clipping, decay 1": {**WARM, "weight_decay": 1.0},
    "in 15 versions, decay 0.3 (best)": {**WARM, "weight_decay": 0.3, "versions": 15},
    "in 15 versions, decay 0.1": {**WARM, "weight_decay": 0.1, "versions": 15},
    "in 15 versions, decay 1": {**WARM, "weight_decay": 1.0, "versions": 15},
    "7 frames a step, EMA 0.998": {**FEWER, "ema": 0.998},
    "7 frames a step": FEWER,
    "7 frames a step, GELU": GELU,
    "7 frames a step, GELU, penalty 1": {**GELU, "penalty_weight": 1.0},
    "7 frames a step, GELU, θ₃ 0.1": {**GELU, "theta3": 0.1},
    "7 frames a step, GELU, penalty 0.05": {**GELU, "penalty_weight": 0.05},
    "7 frames a step, GELU, rate 0.005": {**GELU, "learning_rate": 0.005},
    "7 frames a step, GELU, no norm": {**GELU, "norm": "none"},
    "7 frames a step, GELU, twice the channels": {**GELU, "widening": 2},
    "7 frames a step, GELU, one more convolution": {**GELU, "last": 8},
    "7 frames a step, GELU, decoder of 2020": {**GELU, "widening": 2, "last": 16},
}


def errors(recipe: dict, epochs: int) -> list[tuple[float, float]]:
    """The mean error of all frames except the held-out frame, and the error of that frame, for the 100
    sequences and for the 400."""
    experiment = EXPERIMENTS["rotating-mnist"]
    known = make_settings(experiment, "paper", seeds=[SEED], formulations=["static-direct"])
    options = {**known.options, **recipe, "training": TRAINING}
    settings = dataclasses.replace(known, epochs=epochs, options=options)
    (configuration,) = experiment.configurations(settings)
    (fitted,) = experiment.train(settings, configuration, [SEED])
    if isinstance(fitted, DivergedError):
        raise fitted
    found = []
    for sequences in reversed(rotating_mnist()[0].split(TRAINING)):
        frames = latent.squared_errors(fitted.net, sequences, options["first"]).mean(axis=0)
        found.append((float(np.delete(frames, HELD_OUT).mean()), float(frames[HELD_OUT])))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--epochs", type=int, help="epochs of all recipes; by default 100, with warm-up 150"
    )
    parser.add_argument("--only", default="", help="only recipes with this text in their name")
    arguments = parser.parse_args()
    for name, recipe in RECIPES.items():
        if arguments.only not in name:
            continue
        epochs = arguments.epochs or (150 if "clip" in recipe else 100)
        (shown, hidden), (shown_train, hidden_train) = errors(recipe, epochs)
        print(
            f"{name:45} {epochs} epochs: {shown:.4f}, frame {HELD_OUT} {hidden:.4f}; of the training "
            f"sequences {shown_train:.4f}, {hidden_train:.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
