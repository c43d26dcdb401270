"""Figures of sequences of images, their predictions, latent trajectories, and errors over time."""

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from shootax.plots import COLOURS, INK, new_figure

INPUT, TARGET = "#D55E00", "#0072B2"
GREYS = ("#777777", "#999999", "#BBBBBB")


def sequence_figure(
    truth: Float[np.ndarray, "n time h w"],
    predictions: Mapping[str, Float[np.ndarray, "n time h w"]],
    *,
    seen: int = 1,
    tested: Sequence[int] = (),
) -> Any:
    """Draw two sequences, each with the predictions below it. Frames that the model takes as input have a
    red border, and frames that the test predicts have a blue border."""
    shown = min(2, len(truth))
    lines = [("truth", truth), *predictions.items()]
    steps = truth.shape[1]
    height = 0.55 * shown * len(lines)
    figure, axes = new_figure(shown * len(lines), steps, 0.52 * steps + 1.2, height)
    for i in range(shown):
        for j, (name, frames) in enumerate(lines):
            for k in range(steps):
                ax = axes[i * len(lines) + j, k]
                ax.imshow(frames[i, k], cmap="gray", vmin=0, vmax=1)
                ax.set(xticks=[], yticks=[])
                colour = INPUT if j == 0 and k < seen else TARGET if k in tested else None
                for spine in ax.spines.values():
                    spine.set(visible=colour is not None, color=colour or INK, lw=1.5)
            label = axes[i * len(lines) + j, 0]
            label.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=7)
    return figure


def latent_figure(paths: Mapping[str, Float[np.ndarray, "n time dim"]], labels: np.ndarray) -> Any:
    """Draw the first two principal components of all points of all trajectories, coloured by time."""
    figure, axes = new_figure(1, len(paths), 2.3 * len(paths) + 0.5, 2.6)
    dots: Any = None
    for ax, (name, path) in zip(axes[0], paths.items(), strict=True):
        points = path.reshape(-1, path.shape[-1])
        points = points - points.mean(axis=0)
        _, _, directions = np.linalg.svd(points, full_matrices=False)
        where = points @ directions[:2].T
        colours = np.tile(labels, len(path))
        dots = ax.scatter(*where.T, c=colours, s=1, cmap="twilight", rasterized=True)
        ax.set(title=name, xticks=[], yticks=[])
    figure.colorbar(dots, ax=list(axes[0]), shrink=0.8, label="angle in degrees")
    return figure


def steps_figure(
    curves: Mapping[str, Sequence[float]], published: Mapping[str, Sequence[float]], ylabel: str
) -> Any:
    """Draw errors against the number of steps ahead, with published errors in grey."""
    figure, axes = new_figure(1, 1, 4.6, 3.0)
    ax = axes[0, 0]
    styles = ("--", ":", "-.")
    for i, (name, curve) in enumerate(published.items()):
        x = range(1, len(curve) + 1)
        mean = f"{name} ({np.mean(curve):.4f})"
        ax.plot(x, curve, color=GREYS[i % 3], ls=styles[i % 3], lw=1.2, label=mean)
    for name, curve in curves.items():
        x = range(1, len(curve) + 1)
        label = f"{name} ({np.mean(curve):.4f})"
        ax.plot(x, curve, color=COLOURS.get(name, INK), lw=1.8, marker="o", ms=3, label=label)
    ax.set(xlabel="steps ahead", ylabel=ylabel, yscale="log")
    ax.legend(fontsize=7)
    return figure


def training_figure(
    histories: Mapping[str, Sequence[float]], seconds: Mapping[str, float], ylabel: str
) -> Any:
    """Draw errors against training time, assuming that all epochs take the same time."""
    figure, axes = new_figure(1, 1, 4.6, 3.0)
    ax = axes[0, 0]
    for name, errors in histories.items():
        minutes = seconds[name] / 60 * np.arange(1, len(errors) + 1) / len(errors)
        ax.plot(minutes, errors, color=COLOURS.get(name, INK), lw=1.2, label=name)
    ax.set(xlabel="training time in minutes", ylabel=ylabel, yscale="log")
    ax.legend(fontsize=7)
    return figure


def write_animation(
    path: pathlib.Path,
    truth: Float[np.ndarray, "n time h w"],
    predictions: Mapping[str, Float[np.ndarray, "n time h w"]],
    *,
    zoom: int = 3,
    milliseconds: int = 150,
) -> pathlib.Path:
    """Write a GIF with the true frames in the first row, and the predictions of each model below."""
    from PIL import Image

    lines = [truth, *predictions.values()]
    gap = 2
    images = []
    for k in range(truth.shape[1]):
        strips = [
            np.concatenate(
                [np.pad(f[i, k], gap // 2, constant_values=0.4) for i in range(len(f))], 1
            )
            for f in lines
        ]
        grey = np.clip(255 * np.concatenate(strips, 0), 0, 255).astype(np.uint8)
        images.append(Image.fromarray(np.kron(grey, np.ones((zoom, zoom), np.uint8))))
    path.parent.mkdir(parents=True, exist_ok=True)
    images[0].save(
        path, save_all=True, append_images=images[1:], duration=milliseconds, loop=0, optimize=True
    )
    return path
