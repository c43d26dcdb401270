"""The optimiser of a training for which none is given."""

from typing import Any

import equinox as eqx
import jax

from shootax import _checks as checks
from shootax._controls import AbstractParticleControl
from shootax._lifts import AffineLift
from shootax._net import Net
from shootax._readouts import LinearReadout
from shootax._train.optimizer import Optimizer
from shootax._train.schedules import Cosine

FROZEN = 0.1
"""The fraction of the epochs for which visible positions stay where they start."""

_USUAL = 0.2  # makes the usual learning rate of modules, 0.01, of 0.05


def recommended(model: Any, epochs: int = 500) -> Optimizer:
    """The optimiser that [`shootax.fit`][] takes where you give none: print it, or change a part of it
    with `dataclasses.replace`.

    For a [`shootax.Net`][] with particles, a hidden state and θ* in closed form it is Adam at 0.05 with
    a warm-up, clipped gradients, momenta at a scale of $1/K$ (a step in all of them moves θ $K$ times
    as far as a step in one), the affine lift at a scale of 3, and visible positions that stay for the
    first tenth of the epochs. For anything else it is `Optimizer()`.

    **Arguments:** the `model`, and the number of `epochs` that it is to be trained for.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=16), particles=20, key=jax.random.key(0))
        optimizer = sx.extend.recommended(net, epochs=100)
        print(optimizer.learning_rate, optimizer.freeze)  # 0.05 {'visible-positions': 10}
        ```
    """
    epochs = checks.positive_integer(epochs, "epochs")
    if not _is_usual(model):
        return Optimizer()
    scale = {"momenta": 1 / model.control.ensemble.particles}
    if isinstance(model.lift, AffineLift):
        scale["lift"] = 3.0
    for name, part, known in (
        ("lift", model.lift, AffineLift),
        ("readout", model.readout, LinearReadout),
    ):
        if not isinstance(part, known) and jax.tree.leaves(eqx.filter(part, eqx.is_inexact_array)):
            scale[name] = _USUAL  # a module of its own kind
    still = int(FROZEN * epochs)
    return Optimizer(
        0.05,
        schedule=Cosine(warmup=0.1),
        clip=10.0,
        lr_scale=scale,
        freeze={"visible-positions": still} if still else None,
    )


def _is_usual(model: Any) -> bool:
    """Whether a model is a net of the kind that the numbers were found with."""
    if not isinstance(model, Net) or not isinstance(model.control, AbstractParticleControl):
        return False
    state = model.field.state
    vector = isinstance(state, jax.ShapeDtypeStruct) and len(state.shape) == 1
    return vector and model.field.hidden_size > 0 and model.control.maximiser.conserves
