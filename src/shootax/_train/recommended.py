"""The default optimiser of a training."""

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
"""The fraction of the epochs in which visible positions are frozen at their initial values."""

_USUAL = 0.2  # reduces 0.05 to 0.01, the usual learning rate of modules


def recommended(model: Any, epochs: int = 500) -> Optimizer:
    """The default optimiser of [`shootax.fit`][]. Print it, or change a part of it with
    `dataclasses.replace`.

    For a [`shootax.Net`][] with particles, a hidden state and θ* in closed form, it is Adam with a
    learning rate of 0.05, a warm-up and clipped gradients. The learning rate of momenta is scaled by
    $1/K$ (a step in all of them moves θ $K$ times as far as a step in one), that of the affine lift by
    3, and visible positions are frozen for the first tenth of the epochs. For any other model it is
    `Optimizer()`.

    **Arguments:** `model`: the model to train; `epochs`: the number of epochs to train it for.

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
            scale[name] = _USUAL  # another kind of module
    still = int(FROZEN * epochs)
    return Optimizer(
        0.05,
        schedule=Cosine(warmup=0.1),
        clip=10.0,
        lr_scale=scale,
        freeze={"visible-positions": still} if still else None,
    )


def _is_usual(model: Any) -> bool:
    """Whether a model is a net of the kind that these settings were tuned for."""
    if not isinstance(model, Net) or not isinstance(model.control, AbstractParticleControl):
        return False
    state = model.field.state
    vector = isinstance(state, jax.ShapeDtypeStruct) and len(state.shape) == 1
    return vector and model.field.hidden_size > 0 and model.control.maximiser.conserves
