"""The common parts of the experiments with images: latent models and their training."""

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
"""The recipe `paper` of the experiments with images. A recipe may also have `steps` (the total number of
RK4 steps, by default one for each frame), `ema`, `theta3` (the strength of θ₃ in the penalty), and `last`
and `decoder_activation` of the decoder. This recipe does not contain them, because it is compared with
the settings that are stored with results."""


class LatentExperiment(AbstractExperiment):
    """An experiment with latent models. They are large, so every seed trains separately."""

    def group_size(self, settings: Settings, configuration: Configuration) -> int:
        return 1


def make_model(
    configuration: Configuration, seed: int, options: Mapping[str, Any], times: np.ndarray
) -> LatentModel:
    """The model of a seed before training. The decoder has the channels of the encoder in reverse order,
    times `widening`."""
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
    """The optimiser of a recipe. Weight decay applies to the weights of encoder and decoder, but not to
    their biases and norms, nor to the net, which has its penalty."""
    weights = ("weight", *(f"layers.{i}.weight" for i in range(len(options["channels"]))))
    names = [f"{coder}.{name}" for coder in ("encoder", "decoder") for name in weights]
    if options.get("last"):
        names.append("decoder.last.weight")
    strength = options["weight_decay"]
    decay = {name: strength for name in names} if strength else None
    return models.optimizer(configuration, options, decay)


def measured(model: LatentModel) -> dict[str, Any]:
    """The measures of the net. The paper only counts the parameters of the net."""
    return {**summary(model.net), "coder_parameters": count((model.encoder, model.decoder))}


def predictions(model: LatentModel, sequences: Sequences, first: int) -> np.ndarray:
    """Predict all frames of all sequences from their first frames."""
    return np.asarray(_call(model, inputs(model, sequences, first)))


def inputs(model: LatentModel, sequences: Sequences, first: int) -> Array:
    """The input of the encoder, in the precision of the model, which may be from a file."""
    precision = jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))[0].dtype
    return jnp.asarray(sequences.first(first), precision)


@eqx.filter_jit
def _call(model: LatentModel, x: Any) -> Any:
    return model(x)


def squared_errors(model: LatentModel, sequences: Sequences, first: int) -> np.ndarray:
    """The mean squared error of every frame of every sequence, `(n, time)`."""
    errors = predictions(model, sequences, first).astype(float) - sequences.frames
    return np.mean(errors**2, axis=tuple(range(2, errors.ndim)))
