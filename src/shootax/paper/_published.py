"""Published results for the experiments with images, such as mean squared errors per pixel."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

PUBLISHED: Mapping[str, Mapping[str, float]] = {
    "rotating-mnist": {
        "GPPVAE-dis": 0.0309,
        "GPPVAE-joint": 0.0288,
        "ODE2VAE": 0.0194,
        "ODE2VAE-KL": 0.0188,
        "UpDown, in the paper": 0.0122,
        "static direct, run again by the authors": 0.0126,
        "dynamic with particles, run again by the authors": 0.0112,
        "InImNet": 0.0125,
        "latent SDE": 0.0118,
    },
    "bouncing-balls": {
        "DTSBN-S": 0.0732,
        "DDPAE": 0.0242,
        "ODE2VAE": 0.0093,
        "UpDown dynamic with particles, in the paper": 0.0146,
        "UpDown static with particles, in the paper": 0.0150,
        "UpDown static, in the paper": 0.0154,
        "InImNet, convolutional": 0.0122,
    },
}

MNIST_ERRORS: Mapping[str, tuple[int, float]] = {
    "ODE net (Chen 2018)": (220_000, 0.42),
    "ResNet (Chen 2018)": (600_000, 0.41),
    "augmented neural ODE (Dupont 2019)": (84_000, 1.8),
    "neural ODE (Dupont 2019)": (84_000, 3.6),
}
"""Published MNIST classifiers: their numbers of parameters, and their test errors in per cent."""

CURVES: Mapping[str, Sequence[float]] = {
    "ODE2VAE": (0.0032, 0.0037, 0.0046, 0.0058, 0.0070, 0.0087, 0.0108, 0.0134, 0.0163, 0.0197),
    "DDPAE": (0.0105, 0.0132, 0.0162, 0.0192, 0.0221, 0.0252, 0.0285, 0.0318, 0.0355, 0.0400),
    "DTSBN-S": (0.0067, 0.0182, 0.0337, 0.0506, 0.0683, 0.0849, 0.0996, 0.1126, 0.1237, 0.1333),
}
"""Bouncing balls: the errors of the first, second, …, tenth predicted frame."""


def comparison(experiment: str, runs: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """Lines of a table: the model, its mean squared error over seeds with the spread, and the source."""
    lines = [(name, f"{mse:.4f}", "published") for name, mse in PUBLISHED[experiment].items()]
    names = dict.fromkeys(run["formulation"] for run in runs if run["status"] == "ok")
    for name in names:
        good = [run for run in runs if run["status"] == "ok" and run["formulation"] == name]
        values = [run["test_mse"] for run in good]
        spread = f" ± {np.std(values, ddof=1):.4f}" if len(values) > 1 else ""
        seeds = f"{len(values)} seed{'s' if len(values) > 1 else ''}"
        lines.append((name, f"{np.mean(values):.4f}{spread}", f"here, {seeds}"))
    return lines


def as_markdown(lines: Sequence[tuple[str, str, str]]) -> str:
    """Format the table as Markdown."""
    head = "| model | test MSE | from |\n|---|---|---|\n"
    return head + "".join(f"| {name} | {mse} | {where} |\n" for name, mse, where in lines)
