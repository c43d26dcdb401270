"""Train the four formulations of the paper on one function."""

import json
import pathlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

import shootax as sx
from shootax._files import write_text
from shootax.cli.text import say, show_table
from shootax.data import quadratic_like, sample_function
from shootax.plots import fit_figure, save_figure

INFLATION, PARTICLES = 16, 15


def run(out: pathlib.Path, epochs: int, seed: int) -> None:
    """Train, print a table, and write `results.json`, the models and a figure to `out`."""
    console = Console()
    out.mkdir(parents=True, exist_ok=True)
    x, y = sample_function("quadratic", 500, seed)
    grid = np.linspace(-1.5, 1.5, 1000)[:, None]
    truth = quadratic_like(grid)
    console.print(
        f"Fitting x² + 3/(1 + x²) with UpDown, inflation {INFLATION}, {PARTICLES} particles, "
        f"{epochs} epochs, seed {seed}."
    )
    nets: dict[str, sx.Net] = {}
    results: list[dict[str, Any]] = []
    for name in sx.FORMULATIONS:
        key = jax.random.key(seed)
        field = sx.UpDown(dim=1, inflation=INFLATION)
        control = sx.formulation(name, field, particles=PARTICLES, key=key)
        freeze = {"positions": min(50, epochs // 10)} if "particles" in name else None
        schedule = sx.Cosine(warmup=0.1)
        optimizer = sx.Optimizer(0.02, schedule=schedule, clip=10.0, freeze=freeze)
        fitted = sx.fit(
            sx.Net(field, control, key=key),
            x,
            y,
            epochs=epochs,
            optimizer=optimizer,
            seed=seed,
        )
        nets[name] = fitted.net
        error = float(jnp.mean((fitted.net(grid) - truth) ** 2))
        results.append({"formulation": name, "test_mse": error, **sx.summary(fitted.net)})
        results[-1]["seconds"] = fitted.seconds
        console.print(f"  {name}: test MSE {error:.5f} after {fitted.seconds:.0f} s")
        sx.save(out / f"{name}.safetensors", fitted.net, record={"epochs": epochs, "seed": seed})
        write_text(out / "results.json", json.dumps(results, indent=1))
    show_table(_table(results), console)
    figure = fit_figure(nets, grid, truth, "x² + 3/(1 + x²): fits, and the way there along depth")
    paths = save_figure(figure, out, "fits")
    say("Written: " + ", ".join(str(p) for p in (*paths, out / "results.json")), console)


def _table(results: list[dict[str, Any]]) -> Table:
    table = Table(title="Four formulations of one model", box=SIMPLE, show_edge=False)
    headings = ("formulation", "parameters", "MSE", "penalty", "complexity", "H drift", "s")
    for heading in headings:
        table.add_column(
            heading, justify="left" if heading == "formulation" else "right", no_wrap=True
        )
    for row in results:
        drift = row["hamiltonian_drift"]
        table.add_row(
            row["formulation"],
            str(row["parameters"]),
            f"{row['test_mse']:.5f}",
            f"{row['penalty']:.3f}",
            f"{row['complexity_log2_frobenius']:.2f}",
            "–" if drift is None else f"{drift:.1e}",
            f"{row['seconds']:.0f}",
        )
    return table
