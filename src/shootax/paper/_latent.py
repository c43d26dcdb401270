"""What the experiments with images have in common: latent models, and how their recipes train them."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from shootax import Gaussian, Optimizer, count, summary
from shootax.data import Sequences
from shootax.nn import ImageDecoder, ImageEncoder, LatentModel
from shootax.paper import _models as models
from shootax.paper._experiment import AbstractExperiment
from shootax.paper._plan import Configuration, Settings

RECIPE = {
    "learning_rate": 0.001,
    "schedule": {"kind": "cosine"},
    "clip": None,
    "weight_decay": 0.0,
    "norm": "layer",
    "widening": 1,
    "visible": 0.5,
    "hidden": 0.5,
    "momentum": 1.0,
    "momentum_by_particles": True,
    "momentum_unit": 5.0,
    "lift_unit": 1.0,
    "frozen_epochs": 0,
}
"""The recipe `paper` of the experiments with images. A recipe may also have `steps` (of RK4 in all,
by default one for each frame), `ema`, `theta3` (the strength of θ₃ in the penalty), and `last` and
`decoder_activation` of the decoder. They are not in this one, because it is compared with the settings
that are stored with results."""


class LatentExperiment(AbstractExperiment):
    """An experiment with latent models, which are large: every seed trains by itself."""

    def group_size(self, settings: Settings, configuration: Configuration) -> int:
        return 1


def make_model(
    configuration: Configuration, seed: int, options: Mapping[str, Any], times: np.ndarray
) -> LatentModel:
    """The model of a seed before training. The channels of the decoder are those of the encoder,
    the other way round, times `widening`."""
    keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), 1))
    net = models.make_net(
        configuration,
        seed,
        dim=options["dim"],
        position=Gaussian(std=options["visible"], hidden=options["hidden"]),
        options=options,
        T=float(times[-1]),
        steps=options.get("steps", len(times) - 1),
    )
    channels, norm = options["channels"], options["norm"]
    encoder = ImageEncoder(
        options["dim"], frames=options["first"], channels=channels, norm=norm, key=keys[0]
    )
    wide = [options["widening"] * number for number in reversed(channels)]
    decoder = ImageDecoder(
        options["dim"],
        channels=wide,
        norm=norm,
        last=options.get("last"),
        activation=options.get("decoder_activation", "relu"),
        key=keys[1],
    )
    return LatentModel(encoder, net, decoder, times)


def optimizer(configuration: Configuration, options: Mapping[str, Any]) -> Optimizer:
    """The optimiser of a recipe. Weights of encoder and decoder decay, not their biases and norms;
    those of the net have their penalty."""
    weights = ("weight", *(f"layers.{i}.weight" for i in range(len(options["channels"]))))
    names = [f"{coder}.{name}" for coder in ("encoder", "decoder") for name in weights]
    if options.get("last"):
        names.append("decoder.last.weight")
    strength = options["weight_decay"]
    decay = {name: strength for name in names} if strength else None
    return models.optimizer(configuration, options, decay)


def measured(model: LatentModel) -> dict[str, Any]:
    """The measures of the net, whose parameters are the ones that the paper counts."""
    return {**summary(model.net), "coder_parameters": count((model.encoder, model.decoder))}


def predictions(model: LatentModel, sequences: Sequences, first: int) -> np.ndarray:
    """All frames of all sequences from their first ones."""
    return np.asarray(_call(model, inputs(model, sequences, first)))


def inputs(model: LatentModel, sequences: Sequences, first: int) -> Array:
    """What the encoder sees, in the precision of the model, which may come from a file."""
    precision = jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))[0].dtype
    return jnp.asarray(sequences.first(first), precision)


@eqx.filter_jit
def _call(model: LatentModel, x: Any) -> Any:
    return model(x)


def squared_errors(model: LatentModel, sequences: Sequences, first: int) -> np.ndarray:
    """The mean squared error of every frame of every sequence, `(n, time)`."""
    errors = predictions(model, sequences, first).astype(float) - sequences.frames
    return np.mean(errors**2, axis=tuple(range(2, errors.ndim)))
