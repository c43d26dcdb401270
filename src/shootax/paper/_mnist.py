"""MNIST: small residual networks of images whose layers come from particles, or are free."""

from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, UInt8

from shootax import (
    AbstractSampler,
    ConvUpDown,
    Cosine,
    Euler,
    Gaussian,
    Net,
    Optimizer,
    Quadratic,
    count,
    formulation,
    penalty,
)
from shootax.data import LabelledImages, mnist
from shootax.nn import Classifier, ImageStem, resnet
from shootax.paper._experiment import AbstractExperiment
from shootax.paper._plan import Configuration, Settings

SPLIT_SEED = 0
"""Of the permutation of the training images whose first 5,000 are held out for validation."""

SIZES = [
    {"channels": 16, "particles": 40},
    {"channels": 12, "particles": 12},
    {"channels": 8, "particles": 8},
]
"""Channels of the images that flow, and how many particles make their weights. The first two are trained
with particles and with free layers from every seed, all other networks from the first seed alone."""

FULL: dict[str, Any] = {
    "training": 55_000,
    "validation": 5_000,
    "test": 10_000,
    "batch_size": 64,
    "stem": 8,
    "layers": 3,
    "side": 3,
    "cells": 4,
    "sizes": SIZES,
    "main": 2,
    "passed": [{"channels": 12, "particles": 12}],
}

ORDER = ("dynamic-particles", "dynamic-direct", "static-particles", "static-direct")
MAIN = ORDER[:2]

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {
        "seeds": range(1),
        "formulations": ORDER,
        "inflations": (2,),
        "particles": (4,),
        "epochs": 2,
        "options": {
            **FULL,
            **{"training": 256, "validation": 64, "test": 128, "stem": 2, "layers": 2},
            "sizes": [{"channels": 4, "particles": 4}],
            "passed": [{"channels": 4, "particles": 4}],
        },
    },
    "quick": {
        "seeds": range(1),
        "formulations": ORDER,
        "inflations": (2,),
        "particles": (8, 12, 40),
        "epochs": 2,
        "options": FULL,
    },
    "paper": {
        "seeds": range(3),
        "formulations": ORDER,
        "inflations": (2,),
        "particles": (8, 12, 40),
        "epochs": 10,
        "options": FULL,
    },
}

RECIPE: dict[str, Any] = {
    "data_weight": 1.0,
    "penalty_weight": 1e-5,
    "learning_rate": 0.015,
    "momenta_scale": 7.0,
    "positions_scale": 2.0,
    "warmup": 0.05,
    "clip": 1.0,
    "ema": 0.998,
    "smoothing": 0.02,
    "shift": 1,
    "position": 1.0,
    "momentum": 0.5,
    "verify": True,
    "rounds": 1,
}

RECIPES: dict[str, dict[str, Any]] = {
    "paper": RECIPE,
    "long": {**RECIPE, "rounds": 2, "shift": 2},
    "wide": {**RECIPE, "rounds": 2, "stem": 16},
    "pooled": {**RECIPE, "pool": "max"},
    "other-data": {**RECIPE, "verify": False},
}
"""`long` has twice the epochs, and shifts images by up to two pixels; `wide` has twice the epochs, and
twice the channels in the first convolution. `pooled` halves images by the largest of four pixels, not by
a stride of 2. `other-data` takes files of MNIST's format with any contents, such as Fashion-MNIST."""


class MNIST(AbstractExperiment):
    """UpDown networks on 7×7 pixels behind two convolutions of stride 2, of all formulations.

    They differ in where the weights of the layers come from. With `passed` on they have two blocks of
    layers, and the second has the particles of the first, moved.
    """

    name = "mnist"
    about = "reads handwritten digits: accuracy against parameters, shooting and free layers"
    presets: ClassVar = PRESETS
    recipes: ClassVar = RECIPES
    times: ClassVar = {"smoke": "under 2 min", "quick": "about 15 min", "paper": "about 3 h"}

    def configurations(self, settings: Settings) -> list[Configuration]:
        """The main ones first; free layers once for each number of channels."""
        out: dict[str, Configuration] = {}
        for name in settings.formulations:
            for inflation in settings.inflations:
                with_particles = name.endswith("-particles")
                for blocks, passed, sizes in _kinds(settings.options):
                    for size in sizes:
                        more = {"channels": size["channels"], "blocks": blocks, "passed": passed}
                        if not with_particles and not passed:
                            made = Configuration(name, inflation, None, more)
                        elif with_particles and size["particles"] in settings.particles:
                            made = Configuration(name, inflation, size["particles"], more)
                        else:
                            continue
                        out[made.name] = made
        return sorted(out.values(), key=lambda made: not _is_main(settings, made))

    def seeds(self, settings: Settings, configuration: Configuration) -> tuple[int, ...]:
        return settings.seeds if _is_main(settings, configuration) else settings.seeds[:1]

    def group_size(self, settings: Settings, configuration: Configuration) -> int:
        return 1

    def prepare(self, settings: Settings) -> None:
        self.data(settings)

    def task(
        self, settings: Settings, configuration: Configuration
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        options = settings.options
        train, held_out, _ = self.data(settings)
        sampler = Shifted(
            jnp.asarray(train.images), jnp.asarray(train.labels, float), options["shift"]
        )
        scale = None
        if configuration.particles is not None:
            scale = {
                "momenta": options["momenta_scale"],
                "positions": options["positions_scale"],
            }
        optimizer = Optimizer(
            options["learning_rate"],
            schedule=Cosine(warmup=options["warmup"]),
            clip=options["clip"],
            ema=options["ema"],
            lr_scale=scale,
        )
        fit_options = {
            "loss": smoothed(options["smoothing"]),
            "validation": (scaled(held_out.images), held_out.labels),
            "optimizer": optimizer,
            "epochs": options["rounds"] * settings.epochs,
        }
        return (sampler,), fit_options

    def data(self, settings: Settings) -> tuple[LabelledImages, LabelledImages, LabelledImages]:
        """Images to train, to validate and to test with. Those to test with are used only by
        `evaluate`, after training."""
        options = settings.options
        train, test = mnist(verify=options["verify"])
        order = np.random.default_rng(SPLIT_SEED).permutation(len(train.images))
        held = options["validation"]
        parts = order[held : held + options["training"]], order[:held]
        first, second = (LabelledImages(train.images[i], train.labels[i]) for i in parts)
        return first, second, LabelledImages(*(part[: options["test"]] for part in test))

    def net(self, settings: Settings, configuration: Configuration, seed: int) -> Classifier:
        """The network of a seed before training."""
        options, more = settings.options, configuration.more
        keys = jax.random.split(jax.random.key(seed), 2 * more["blocks"] + 2)
        nets = tuple(
            make_block(configuration, options, *keys[2 * i + 2 : 2 * i + 4])
            for i in range(more["blocks"])
        )
        stem = ImageStem(
            1,
            (options["stem"], more["channels"]),
            pool=options.get("pool", "none"),
            key=keys[0],
        )
        passed = bool(more["passed"])
        return resnet(
            nets,
            inputs=1,
            classes=10,
            reduce="none",
            pass_particles=passed,
            stem=stem,
            cells=options["cells"],
            key=keys[1],
        )

    def evaluate(
        self, settings: Settings, configuration: Configuration, net: Classifier
    ) -> dict[str, Any]:
        """Shares of images that are read correctly."""
        _, held_out, test = self.data(settings)
        right = accuracy(net, test)
        return {
            "parameters": count(net),
            "penalty": float(penalty(net)),
            "validation_accuracy": accuracy(net, held_out),
            "test_accuracy": right,
            "test_error": 1 - right,
        }


def _is_main(settings: Settings, configuration: Configuration) -> bool:
    channels = [size["channels"] for size in settings.options["sizes"][: settings.options["main"]]]
    more = configuration.more
    one_block = more["blocks"] == 1 and more["channels"] in channels
    return one_block and configuration.formulation in MAIN


def _kinds(options: Mapping[str, Any]) -> list[tuple[int, bool, list[dict[str, int]]]]:
    """Numbers of blocks, whether particles are passed on, and the sizes of such networks."""
    return [
        (1, False, options["sizes"]),
        (2, True, options["passed"]),
        (2, False, options["passed"]),
    ]


def make_block(
    configuration: Configuration,
    options: Mapping[str, Any],
    control_key: PRNGKeyArray,
    net_key: PRNGKeyArray,
) -> Net:
    """A block of layers: the residual steps of Euler's method, on images of any size.

    With particles θ is a mean over all places of all particles, by the strength of its penalty. Tanh has
    features of both signs, which trains better there than ReLU.
    """
    side, particles = options["side"], configuration.particles
    field = ConvUpDown(
        configuration.more["channels"],
        (side, side),
        configuration.inflation,
        activation="tanh",
    )
    drawn: dict[str, Any] = {"penalty": Quadratic()}
    if particles is not None:
        drawn = {
            "particles": particles,
            "position": Gaussian(options["position"]),
            "momentum": options["momentum"],
            "penalty": Quadratic(default=float(particles * side**2)),
        }
    elif configuration.formulation == "dynamic-direct":
        drawn["blocks"] = options["layers"]
    control = formulation(configuration.formulation, field, key=control_key, **drawn)
    return Net(field, control, integrator=Euler(options["layers"]), key=net_key)


class Shifted(AbstractSampler):
    """In every epoch all images, each shifted by up to `reach` pixels each way."""

    images: UInt8[Array, "n h w"]
    labels: Float[Array, " n"]
    reach: int = eqx.field(static=True)

    def __call__(self, key: PRNGKeyArray) -> tuple[Array, Array]:
        number, *size = self.images.shape
        corners = jax.random.randint(key, (number, 2), 0, 2 * self.reach + 1)
        around = (self.reach, self.reach)
        wide = jnp.pad(self.images, ((0, 0), around, around))
        cut = jax.vmap(lambda image, corner: jax.lax.dynamic_slice(image, corner, size))
        return scaled(cut(wide, corners)), self.labels


def scaled(images: Any) -> Any:
    """Bytes as numbers from 0 to 1, with an axis of one channel."""
    return images[:, None].astype(jnp.result_type(float)) / 255


def smoothed(smoothing: float) -> Any:
    """The cross-entropy whose target is mixed with the uniform distribution."""

    def loss(logits: Float[Array, " classes"], label: Array) -> Float[Array, ""]:
        logs = jax.nn.log_softmax(logits)
        return -(1 - smoothing) * logs[label.astype(int)] - smoothing * jnp.mean(logs)

    return loss


def accuracy(net: Classifier, data: LabelledImages, batch: int = 1000) -> float:
    """The share of images that are read correctly."""
    right = 0
    for start in range(0, len(data.images), batch):
        images = scaled(data.images[start : start + batch])
        found = np.argmax(np.asarray(_call(net, images)), axis=1)
        right += int(np.sum(found == data.labels[start : start + batch]))
    return right / len(data.images)


@eqx.filter_jit
def _call(net: Classifier, x: Any) -> Any:
    return net(x)
