"""Search for hyper-parameters of a small regression, and print all trials and the best one.

python examples/search.py --out search --trials 12 --jobs 2
python examples/search.py --out search --trials 12 --engine ray --address auto

You can stop it at any time; the same command resumes the search.
"""

import argparse

import jax
import numpy as np

import shootax as sx
from shootax.sweeps import Integer, LocalEngine, RayEngine, Real, search, to_pandas

SPACE = {
    "learning_rate": Real(1e-3, 1e-1, log=True),
    "particles": Integer(2, 12),
    "activation": ["relu", "tanh"],
}


def train(config, seed, ctx):
    """Train a net on 80 points of a sine, and return the error on 80 other points."""
    x = np.random.default_rng(seed).uniform(-1.5, 1.5, (160, 1))
    y = np.sin(3 * x)
    field = sx.UpDown(dim=1, inflation=8, activation=config["activation"])
    net = sx.Net(field, particles=config["particles"], key=jax.random.key(seed))
    result = sx.fit(
        net,
        x[:80],
        y[:80],
        epochs=ctx.shared["epochs"],
        optimizer=sx.Optimizer(learning_rate=config["learning_rate"]),
        checkpoint=ctx.checkpoint,
        seed=seed,
    )
    sx.save(ctx.folder / "net.safetensors", result.net)
    return {"test_mse": float(np.mean((np.asarray(result.net(x[80:])) - y[80:]) ** 2))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="search")
    parser.add_argument("--trials", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--engine", choices=("local", "ray"), default="local")
    parser.add_argument("--address")
    given = parser.parse_args()
    engine = RayEngine(given.address) if given.engine == "ray" else LocalEngine(given.jobs)
    found = search(
        train,
        SPACE,
        given.out,
        metric="test_mse",
        trials=given.trials,
        engine=engine,
        shared={"epochs": given.epochs},
    )
    print(to_pandas(found.trials).drop(columns="reason").to_string(index=False))
    print("best:", found.best)


if __name__ == "__main__":
    main()
