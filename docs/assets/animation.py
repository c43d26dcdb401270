"""The moving picture of the first page: `python animation.py FOLDER` writes `shooting.gif`.

A shooting network is trained on one function. The picture then goes along its depth: particles in
position and momentum, the weights that they generate, and the data that these weights move.
"""

import io
import pathlib
import sys

import jax
import matplotlib
import numpy as np
from PIL import Image

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import shootax as sx
from shootax.plots._axes import flattened, particle_states

FRAMES, HOLD = 36, 10
INK, GREEN, ORANGE = "#222222", "#009E73", "#E69F00"


def trained() -> sx.Net:
    x = np.random.default_rng(0).uniform(-1.5, 1.5, (300, 1))
    field = sx.UpDown(dim=1, inflation=16)
    net = sx.Net(field, particles=12, key=jax.random.key(2))
    return sx.fit(net, x, sx.data.quadratic_like(x), epochs=400, progress=False).net


def frame(k: int, net: sx.Net, grid: np.ndarray, paths: np.ndarray, parts, theta) -> Image.Image:
    """The picture at the k-th depth."""
    style = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
    with matplotlib.rc_context(style):
        figure, axes = plt.subplots(1, 3, figsize=(9, 2.9), layout="constrained")
        q, p = parts
        axes[0].plot(q[: k + 1], p[: k + 1], color=ORANGE, lw=1, alpha=0.7)
        axes[0].plot(q[k], p[k], "o", color=ORANGE, ms=5)
        axes[0].set(title="particles", xlabel="position q", ylabel="momentum p")
        axes[0].set(xlim=_limits(q), ylim=_limits(p))
        shown = np.sign(theta) * np.sqrt(np.abs(theta))  # so that small weights can be seen
        largest = np.abs(shown).max()
        axes[1].imshow(shown[k], cmap="RdBu_r", vmin=-largest, vmax=largest)
        axes[1].set(title=f"weights at depth t = {k / (FRAMES - 1):.2f}", xticks=[], yticks=[])
        truth = sx.data.quadratic_like(grid)
        axes[2].plot(grid, truth, color="0.8", lw=5)
        axes[2].plot(grid, paths[:, k], color=GREEN, lw=2)
        axes[2].set(
            title="data: from x to y", xlabel="input", xlim=(-1.5, 1.5), ylim=_limits(paths)
        )
        picture = io.BytesIO()
        figure.savefig(picture, format="png", dpi=80)
        plt.close(figure)
    return Image.open(picture).convert("RGB")


def _limits(values: np.ndarray) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    room = 0.08 * (high - low)
    return low - room, high + room


def main(folder: pathlib.Path) -> None:
    net = trained()
    times = np.linspace(0, 1, FRAMES)
    grid = np.linspace(-1.5, 1.5, 121)[:, None]
    paths = np.asarray(net(grid, times))[:, :, 0]
    moved = particle_states(net, times)
    q, p = flattened(moved.q), flattened(moved.p)
    path = sx.theta_path(net, times)
    # The matrix from (x, σ(v), 1) to the velocities of x and v, as one picture.
    above = np.concatenate([np.zeros((FRAMES, 1, 1)), path["theta1"], path["b1"][..., None]], 2)
    below = np.concatenate([path["theta2"], path["theta3"], path["b2"][..., None]], axis=2)
    theta = np.concatenate([above, below], axis=1)
    parts = (q[:, :, 0], p[:, :, 0])
    frames = [frame(k, net, grid, paths, parts, theta) for k in range(FRAMES)]
    first = frames[0].quantize(64)
    rest = [each.quantize(palette=first, dither=Image.Dither.NONE) for each in frames[1:]]
    wait = [400] + [80] * (FRAMES - 2) + [1500]
    first.save(
        folder / "shooting.gif",
        save_all=True,
        append_images=rest,
        duration=wait,
        loop=0,
        optimize=True,
    )
    frames[-1].save(folder / "shooting.png")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
