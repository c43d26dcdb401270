"""Compare recipes for the concentric circles on validation data.

Prints, for the lower weight of the classification loss, how many of ten seeds fit their training data
perfectly, and the median of the objective on validation data. No results are reported for these seeds.

    python benchmarks/circles_recipes.py
"""

import dataclasses

import numpy as np

from shootax import DivergedError
from shootax.paper import EXPERIMENTS, make_settings

SEEDS = range(100, 110)
WEIGHT = 3.0
COSINE = {"schedule": {"kind": "cosine", "warmup": 0.1}, "clip": 10.0}
SCALED = {"momentum_by_particles": True, "momentum": 2.0}
CANDIDATES = {
    "paper": {},
    "averaged": {"momentum_by_particles": True},
    "rate 0.02": {**COSINE, "learning_rate": 0.02},
    "rate 0.05": {**COSINE, "learning_rate": 0.05},
    "rate 0.05, momenta by particles": {**COSINE, **SCALED, "learning_rate": 0.05},
    "rate 0.05, momenta by particles, lift 10": {
        **COSINE,
        **SCALED,
        "learning_rate": 0.05,
        "lift_unit": 10.0,
    },
    "rate 0.02, lift 10": {**COSINE, "learning_rate": 0.02, "lift_unit": 10.0},
}


def main() -> None:
    experiment = EXPERIMENTS["circles"]
    for name, recipe in CANDIDATES.items():
        known = make_settings(experiment, "paper", seeds=SEEDS)
        options = {**known.options, "data_weights": [WEIGHT], **recipe}
        settings = dataclasses.replace(known, options=options)
        words = []
        for configuration in experiment.configurations(settings):
            successes, objectives = 0, []
            for outcome in experiment.train(settings, configuration, list(SEEDS)):
                if isinstance(outcome, DivergedError):
                    objectives.append(np.inf)
                    continue
                last = {name: column[-1] for name, column in outcome.history.items()}
                objectives.append(WEIGHT * last["validation"] + last["penalty"])
                successes += experiment.evaluate(settings, configuration, outcome.net)["success"]
            middle = np.median(objectives)
            words.append(f"α = {configuration.inflation}: {successes:2} of 10, {middle:.3f}")
        print(f"{name:45} " + "; ".join(words), flush=True)


if __name__ == "__main__":
    main()
