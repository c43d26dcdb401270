"""What the experiments with images have in common: latent models, and how recipes train them."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

from shootax.data import Sequences
from shootax.ensemble import Gaussian
from shootax.experiments import models
from shootax.experiments.base import Experiment
from shootax.latent import ImageDecoder, ImageEncoder, LatentModel
from shootax.measures import count, summary
from shootax.sweeps.plan import Configuration, Settings


class LatentExperiment(Experiment):
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
        steps=len(times) - 1,
    )
    channels, norm = options["channels"], options["norm"]
    encoder = ImageEncoder(
        options["dim"], frames=options["first"], channels=channels, norm=norm, key=keys[0]
    )
    wide = [options["widening"] * number for number in reversed(channels)]
    decoder = ImageDecoder(options["dim"], channels=wide, norm=norm, key=keys[1])
    return LatentModel(encoder, net, decoder, times)


def training_options(configuration: Configuration, options: Mapping[str, Any]) -> dict[str, Any]:
    """What `fit` wants to know: of the recipe, and Adam with weight decay if there is any."""
    units = {}
    if options["lift_unit"] != 1:
        units["lift"] = options["lift_unit"]
    if models.with_particles(configuration):
        units["momenta"] = options["momentum_unit"] / (configuration.particles or 1)
    known: dict[str, Any] = {
        "learning_rate": options["learning_rate"],
        "schedule": models.schedule(options["schedule"]),
        "clip": options["clip"],
        "units": units or None,
    }
    if options["weight_decay"]:
        decay = optax.add_decayed_weights(options["weight_decay"], mask=coders)
        known["optimizer"] = optax.chain(optax.scale_by_adam(), decay)
    return known


def coders(model: LatentModel) -> Any:
    """Which arrays decay: the weights of encoder and decoder. Those of the net have their penalty."""
    arrays = jax.tree.map(lambda leaf: eqx.is_inexact_array(leaf) and leaf.ndim > 1, model)
    none = jax.tree.map(lambda _: False, model.net)
    return eqx.tree_at(lambda m: m.net, arrays, none)


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
