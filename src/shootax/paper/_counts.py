"""The paper's two tables of parameter counts."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray

import shootax as sx


class Counted(NamedTuple):
    """The models of one table: `dim`, and the numbers of particles and inflation factors."""

    dim: int
    particles: tuple[int, ...]
    inflations: tuple[int, ...]


COUNTED = {
    "regression": Counted(1, (2, 5, 15, 25), (4, 8, 16, 32, 64, 128)),
    "spiral": Counted(2, (15, 25, 50), (16, 32, 64, 128)),
}
"""The two tables by name."""


def parameter_counts() -> list[dict[str, Any]]:
    """Count the parameters in all cells of the paper's two tables, each from a constructed model.

    !!! example

        ```python
        from shootax.paper import parameter_counts

        print(len(parameter_counts()) > 0)  # True
        ```
    """
    out = []
    for name, table in COUNTED.items():
        kinds = [("particles", "dynamic-particles", k) for k in table.particles]
        kinds += [(kind, kind, None) for kind in ("static-direct", "dynamic-direct")]
        for label, formulation, particles in kinds:
            for inflation in table.inflations:
                out.append(
                    {
                        "experiment": name,
                        "formulation": label,
                        "particles": particles,
                        "inflation": inflation,
                        "parameters": _count(formulation, table.dim, inflation, particles),
                    }
                )
    return out


def _count(formulation: str, dim: int, inflation: int, particles: int | None) -> int:
    """Construct the model, without filling its arrays, and count its trainable parameters."""

    def make(key: PRNGKeyArray) -> sx.Net:
        field = sx.UpDown(dim, inflation)
        control = sx.formulation(formulation, field, particles=particles or 1, key=key)
        return sx.Net(field, control, key=key)

    return sx.count(eqx.filter_eval_shape(make, jax.random.key(0)))
