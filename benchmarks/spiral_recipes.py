"""Compare recipes for the spiral: dynamic with particles, α = 32, on validation snippets.

Prints the median and the worst of five seeds. No results are reported for these seeds.

    python benchmarks/spiral_recipes.py [--formulation static-direct]
"""

import argparse
import dataclasses

import jax
import numpy as np

from shootax import DivergedError, penalty
from shootax.data import SpiralSnippets, spiral
from shootax.paper import EXPERIMENTS, make_settings
from shootax.paper._spiral import POINTS, VALIDATION, norms, pasted, trajectories

SEEDS = range(100, 105)

COSINE = {"schedule": {"kind": "cosine", "warmup": 0.1}, "clip": 10.0}
UNITS = {"momentum_by_particles": True, "momentum": 2.0}
CANDIDATES = {
    "paper": {},
    "cosine, rate 0.01": {**COSINE},
    "cosine, rate 0.03": {**COSINE, "learning_rate": 0.03},
    "cosine, rate 0.1": {**COSINE, "learning_rate": 0.1},
    "rate 0.03, on the curve (best)": {**COSINE, "learning_rate": 0.03, "on_curve": True},
    "rate 0.03, momenta 0.5": {**COSINE, "learning_rate": 0.03, "momentum": 0.5},
    "rate 0.03, momenta by particles": {**COSINE, "learning_rate": 0.03, **UNITS},
    "rate 0.03, lift in units of 3": {**COSINE, "learning_rate": 0.03, "lift_unit": 3.0},
    "rate 0.1, momenta by particles": {**COSINE, "learning_rate": 0.1, **UNITS},
    "rate 0.03, momenta by particles, lift in units of 3": {
        **COSINE,
        "learning_rate": 0.03,
        **UNITS,
        "lift_unit": 3.0,
    },
}


def losses(recipe: dict, formulation: str) -> list[tuple[float, float, float]]:
    """Distances on validation snippets and along the pasted trajectory, and R, for each seed."""
    experiment = EXPERIMENTS["spiral"]
    known = make_settings(
        experiment, "paper", seeds=SEEDS, formulations=[formulation], inflations=[32]
    )
    settings = dataclasses.replace(known, options={**known.options, **recipe})
    configuration = experiment.configurations(settings)[0]
    x, y = SpiralSnippets(spiral(), settings.options["validation"], POINTS)(
        jax.random.key(VALIDATION)
    )
    found = []
    for outcome in experiment.train(settings, configuration, list(SEEDS)):
        if isinstance(outcome, DivergedError):
            found.append((np.inf, np.inf, np.inf))
            continue
        short = norms(np.asarray(trajectories(outcome.net, x)) - np.asarray(y))[0]
        long = norms(pasted(outcome.net) - spiral().x)[0]
        found.append((short, long, float(penalty(outcome.net))))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--formulation", default="dynamic-particles")
    formulation = parser.parse_args().formulation
    for name, recipe in CANDIDATES.items():
        each = np.array(losses(recipe, formulation))
        short, long, cost = np.median(each, axis=0)
        worst = each.max(axis=0)
        print(
            f"{name:52} short {short:.4f} (worst {worst[0]:.4f}), long {long:.3f} "
            f"(worst {worst[1]:.3f}), R {cost:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
