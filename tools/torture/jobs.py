"""Small jobs to be killed. Each is a function of a folder that runs in its own process.

A job can be started again in the same folder any number of times; it then resumes or starts over.
"""

import json
import pathlib
import sys
import time
from typing import Any

CSV = "a,b,y\n" + "".join(f"{i % 7},{'xyz'[i % 3]},{(i % 5) / 2 + i % 7}\n" for i in range(40))
EPOCHS = 40


def add(config: dict[str, Any], seed: int, ctx: Any) -> dict[str, Any]:
    """The cheapest run of a sweep."""
    return {"value": config["x"] + seed + 0.125}


def data() -> Any:
    import numpy as np

    x = np.linspace(-1.0, 1.0, 8, dtype=np.float32)[:, None]
    return x, x**2


def net(seed: int = 0, particles: int = 2) -> Any:
    import jax

    import shootax as sx

    return sx.Net(
        sx.UpDown(1, 2), particles=particles, integrator=sx.RK4(2), key=jax.random.key(seed)
    )


def fitted(seed: int, checkpoint: pathlib.Path) -> Any:
    """Run a short training with a checkpoint after every epoch."""
    import shootax as sx

    x, y = data()
    # With a callback the program returns after every epoch, so there are many places to interrupt it.
    return sx.fit(
        net(seed), x, y, epochs=EPOCHS, seed=seed, checkpoint=sx.extend.Checkpoint(checkpoint, every=0.0),
        callbacks=[lambda report: time.sleep(0.002)],
    )  # fmt: skip


def run_of_sweep(config: dict[str, Any], seed: int, ctx: Any) -> dict[str, Any]:
    """A run with a checkpoint and a model file, which is recorded when it begins."""
    import shootax as sx

    with open(pathlib.Path(ctx.shared["log"]), "a", encoding="utf-8") as log:
        log.write(f"{ctx.name}\n")
    found = fitted(seed + config["x"], ctx.checkpoint)
    sx.save(ctx.folder / "net.safetensors", found.net)
    return {"objective": found.history["objective"][-1]}


# The jobs that are killed. Each prepares its folder if it is new, and works in it.


def save(folder: pathlib.Path) -> None:
    """Save two models to one file in turn, until the end."""
    import shootax as sx

    models = [sx.load(folder / f"{name}.safetensors") for name in "ab"]
    for turn in range(12):
        sx.save(folder / "net.safetensors", models[turn % 2])


def prepare_save(folder: pathlib.Path) -> None:
    import shootax as sx

    sx.save(folder / "a.safetensors", net(0, 2_000))
    sx.save(folder / "b.safetensors", net(1, 6_000))


def fit(folder: pathlib.Path) -> None:
    import shootax as sx

    found = fitted(3, folder / "training.ckpt")
    sx.save(folder / "net.safetensors", found.net, record={"history": _columns(found.history)})


def _columns(history: Any) -> dict[str, list[float]]:
    return {str(name): [float(v) for v in column] for name, column in history.items()}


def sweep(folder: pathlib.Path) -> None:
    from shootax.sweeps import run_sweep

    run_sweep(
        "tools.torture.jobs:run_of_sweep", {"x": [1, 2, 3]}, folder / "out", seeds=2,
        shared={"log": str(folder / "begun")}, checkpoint_seconds=0.0,
    )  # fmt: skip


def _command(*arguments: Any) -> None:
    from shootax.cli import main

    sys.argv = ["shootax", *map(str, arguments)]
    try:
        main()
    except SystemExit as end:  # which commands also raise when they succeed
        if end.code not in (0, None):
            raise


def prepare_table(folder: pathlib.Path) -> None:
    (folder / "data.csv").write_text(CSV, encoding="utf-8")
    options = ("--target", "y", "--out", folder / "model.safetensors", "--particles", 2)
    _command("fit", folder / "data.csv", *options, "--epochs", 2, "--seed", 1)


def table(folder: pathlib.Path) -> None:
    options = ("--target", "y", "--out", folder / "model.safetensors", "--particles", 2)
    _command("fit", folder / "data.csv", *options, "--epochs", 40)


def predict(folder: pathlib.Path) -> None:
    names = (folder / "model.safetensors", folder / "data.csv")
    _command("predict", *names, "--out", folder / "answers.csv.gz")


def prepare_export(folder: pathlib.Path) -> None:
    import shootax as sx

    sx.save(folder / "a.safetensors", net(0))
    sx.save(folder / "b.safetensors", net(1))
    for to, ending in ENDINGS.items():
        _plain(folder, "a", to, ending)


def _plain(folder: pathlib.Path, name: str, to: str, ending: str) -> None:
    import shootax as sx

    sx.export.write(sx.load(folder / f"{name}.safetensors"), folder / f"net-{to}{ending}", to=to)  # pyright: ignore


ENDINGS = {"numpy": ".npz", "torch": ".py", "stablehlo": ".stablehlo", "onnx": ".onnx"}


def export(folder: pathlib.Path) -> None:
    """Export another model over the existing files."""
    for to, ending in ENDINGS.items():
        _plain(folder, "b", to, ending)


def prepare_compress(folder: pathlib.Path) -> None:
    import jax

    import shootax as sx

    sx.save(
        folder / "given.safetensors",
        sx.Net(sx.Affine(1), sx.Static(sx.Affine(1), key=jax.random.key(0)), key=jax.random.key(1)),
    )


def compress(folder: pathlib.Path) -> None:
    options = ("--particles", "1", "--starts", 1, "--iterations", 5)
    _command(
        "compress", folder / "given.safetensors", "--out", folder / "few.safetensors", *options
    )


def report(folder: pathlib.Path) -> None:
    _command("report", folder / "a.safetensors", "--out", folder / "report.html")


def watch(folder: pathlib.Path) -> None:
    _command("watch", folder)


def finished(folder: pathlib.Path) -> dict[str, Any]:
    """The finished groups of a sweep so far, with their objectives."""
    found = {}
    for path in sorted((folder / "out" / "runs").glob("*.json")):
        for run in json.loads(path.read_text(encoding="utf-8"))["runs"]:
            if run["status"] == "ok":
                found[path.stem] = run["objective"]
    return found
