"""The paper's two tables of parameter counts."""

import json
from typing import Any, NamedTuple

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray
from rich.console import Console
from rich.table import Table

import shootax as sx


class Experiment(NamedTuple):
    """The models of one table: `dim`, and the numbers of particles and inflation factors."""

    dim: int
    particles: tuple[int, ...]
    inflations: tuple[int, ...]


EXPERIMENTS = {
    "regression": Experiment(1, (2, 5, 15, 25), (4, 8, 16, 32, 64, 128)),
    "spiral": Experiment(2, (15, 25, 50), (16, 32, 64, 128)),
}


def rows() -> list[dict[str, Any]]:
    """One row for each entry of the two tables, counted from a model made for it."""
    out = []
    for name, experiment in EXPERIMENTS.items():
        kinds = [("particles", "dynamic-particles", k) for k in experiment.particles]
        kinds += [(kind, kind, None) for kind in ("static-direct", "dynamic-direct")]
        for label, formulation, particles in kinds:
            for inflation in experiment.inflations:
                out.append(
                    {
                        "experiment": name,
                        "formulation": label,
                        "particles": particles,
                        "inflation": inflation,
                        "parameters": _count(formulation, experiment.dim, inflation, particles),
                    }
                )
    return out


def _count(formulation: str, dim: int, inflation: int, particles: int | None) -> int:
    """Constructs the model, without filling its arrays, and counts what could be trained."""

    def make(key: PRNGKeyArray) -> sx.Net:
        field = sx.UpDown(dim, inflation)
        control = sx.formulation(formulation, field, particles=particles or 1, key=key)
        return sx.Net(field, control, key=key)

    return sx.count(eqx.filter_eval_shape(make, jax.random.key(0)))


def run(as_json: bool) -> None:
    """Prints the tables."""
    entries = rows()
    if as_json:
        print(json.dumps(entries, indent=1))
        return
    console = Console()
    for name, experiment in EXPERIMENTS.items():
        table = Table(title=f"Parameters, {name}")
        for heading in ("formulation", "particles", *(f"α={a}" for a in experiment.inflations)):
            table.add_column(heading, justify="right", no_wrap=True)
        lines: dict[tuple[str, Any], list[str]] = {}
        for entry in entries:
            if entry["experiment"] == name:
                line = lines.setdefault((entry["formulation"], entry["particles"]), [])
                line.append(f"{entry['parameters']:,}")
        for (formulation, particles), numbers in lines.items():
            table.add_row(formulation, str(particles or ""), *numbers)
        console.print(table)
