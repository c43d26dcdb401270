"""From a model that generates its weights to a plain network that has them.

Data never act on particles, so the weights at every stage of the integrator can be worked out once.
What is left is a residual network, without particles, that gives the same output.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from shootax import checks
from shootax.along import at_stages
from shootax.controls import Particles, Stages
from shootax.integrators import AbstractFixedStep, AbstractIntegrator
from shootax.net import Net


def bake(model: Any, *, integrator: AbstractFixedStep | None = None) -> Any:
    """The same model with its weights worked out, without particles.

    **Arguments:**

    - `model`: a [`shootax.Net`][], or any pytree that holds some, such as a chain.
    - `integrator`: another fixed-step integrator for the plain network, e.g. one with fewer steps.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        plain = sx.bake(net)
        print(plain.control.theta["theta1"].shape)  # (10, 4, 1, 4): steps, stages, matrix
        ```
    """
    return jax.tree.map(
        lambda leaf: _bake(leaf, integrator or leaf.integrator) if isinstance(leaf, Net) else leaf,
        model,
        is_leaf=lambda leaf: isinstance(leaf, Net),
    )


@eqx.filter_jit
def _bake(net: Net, integrator: AbstractIntegrator) -> Net:
    if not isinstance(integrator, AbstractFixedStep):
        raise ValueError(
            f"{type(integrator).__name__} has no fixed stages to bake. Give a fixed-step integrator, "
            "as in bake(net, integrator=RK4(steps=20))."
        )
    field, control = net.field, net.control
    if isinstance(control, Stages):
        raise ValueError("The model is baked already: its weights fit its own integrator alone.")
    system = control.system(field, 0)
    theta = at_stages(system, control.T, integrator, system.theta)
    baked = Stages(
        theta=theta,
        penalty=control.penalty,
        fractions=integrator.fractions,
        weights=integrator.weights,
        T=control.T,
    )
    return eqx.tree_at(lambda n: (n.control, n.integrator), net, (baked, integrator))


def predict(model: Any, x: PyTree[Array], *, batch_size: int = 4096) -> PyTree[Array]:
    """The outputs for many rows, in batches. The particles are integrated once for all of them."""
    batch_size = checks.positive_integer(batch_size, "batch_size")

    def prepare(leaf: Any) -> Any:
        fixed = isinstance(leaf, Net) and isinstance(leaf.integrator, AbstractFixedStep)
        return bake(leaf) if fixed and isinstance(leaf.control, Particles) else leaf

    plain = jax.tree.map(prepare, model, is_leaf=lambda leaf: isinstance(leaf, Net))
    rows = jax.tree.leaves(x)[0].shape[0]
    parts = [
        plain(jax.tree.map(lambda leaf, s=start: leaf[s : s + batch_size], x))
        for start in range(0, max(rows, 1), batch_size)
    ]
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *parts)
