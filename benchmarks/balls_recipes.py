"""Compare recipes for bouncing balls: dynamic with particles at the paper's size, a short training on
5000 sequences, judged by the validation sequences. Prints the errors of the ten frames after those shown.

    python benchmarks/balls_recipes.py [--epochs 4] [--only TEXT]
"""

import argparse
import dataclasses
import time
from typing import Any

from shootax import DivergedError
from shootax.paper import EXPERIMENTS, make_settings
from shootax.paper import _latent as latent
from shootax.paper._balls import AHEAD, SEEN

TRAINING = 5000
SEED = 100  # not one of the seeds that results are reported for

FULL = {"channels": [16, 32, 64]}
FEWER = {
    **FULL,
    "steps": 10,
    "batch_size": 50,
    "hidden_frames": 14,
    "momentum": 0.3,
    "decoder_activation": "gelu",
    "ema": 0.998,
}
RECIPES = {
    "momenta 0.3, rate 0.005": FEWER,
    "momenta 0.3, rate 0.01": {**FEWER, "learning_rate": 0.01},
    "momenta 0.3, rate 0.005, lift in units of 10": {**FEWER, "lift_unit": 10.0},
    "momenta 0.1, rate 0.005": {**FEWER, "momentum": 0.1},
    "momenta 1, rate 0.005, 19 steps": {**FEWER, "momentum": 1.0, "steps": 19},
    "momenta 0.3, rate 0.005, 19 steps": {**FEWER, "steps": 19},
    "as `best`": FULL,
}


def error(recipe: dict, epochs: int) -> tuple[float, float]:
    """The mean error of the predicted frames, and the seconds of training."""
    experiment: Any = EXPERIMENTS["bouncing-balls"]
    known = make_settings(
        experiment, "paper", "best", seeds=[SEED], formulations=["dynamic-particles"]
    )
    options = {**known.options, **recipe, "training": TRAINING}
    settings = dataclasses.replace(known, epochs=epochs, options=options)
    (configuration,) = experiment.configurations(settings)
    start = time.process_time()
    (fitted,) = experiment.train(settings, configuration, [SEED])
    seconds = time.process_time() - start
    if isinstance(fitted, DivergedError):
        return float("nan"), seconds
    held_out = experiment.data(settings, "validation")
    errors = latent.squared_errors(fitted.net, held_out, SEEN).mean(axis=0)
    return float(errors[SEEN : SEEN + AHEAD].mean()), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--only", default="", help="only recipes with this text in their name")
    arguments = parser.parse_args()
    for name, recipe in RECIPES.items():
        if arguments.only in name:
            found, seconds = error(recipe, arguments.epochs)
            print(f"{name:50} {found:.4f}, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
