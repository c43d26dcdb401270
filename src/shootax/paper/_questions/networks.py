"""How many particles does a standard network need?

Plain residual networks, $x_{k+1} = x_k + h (A_k σ(x_k) + b_k)$ with free weights in every layer, are
trained with and without the penalty. They are then replaced by particles whose θ(t) is closest to the
weights, or whose outputs are closest to the outputs. The latter are also fine-tuned. The readout is a
random linear map that is not trained, so that the layers have to do the work.
"""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from shootax import Affine, Cosine, Euler, Net, Optimizer, Piecewise, compress, count, fit, penalty
from shootax.paper._experiment import AbstractExperiment
from shootax.paper._plan import Configuration, Settings
from shootax.paper._questions.tasks import Split, losses, real_task

OPTIONS = {
    "tasks": ["digits", "cancer", "spiral"],
    "training": 360,
    "depths": [3, 12],
    "penalty_weights": [0.0, 1.0],
    "batch_size": 50,
    "iterations": 100,
    "matched": 60,
    "tuning": 15,
}
"""`matched` is the number of samples for matching outputs, `iterations` the number of iterations of
matching, and `tuning` the number of epochs of fine-tuning."""

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {
        "seeds": range(2),
        "formulations": ("dynamic-direct",),
        "inflations": (4,),
        "particles": (1, 4),
        "epochs": 3,
        "options": {
            **OPTIONS,
            "tasks": ["cancer"],
            "depths": [3],
            "training": 100,
            "iterations": 10,
            "tuning": 1,
        },
    },
    "quick": {
        "seeds": range(3),
        "formulations": ("dynamic-direct",),
        "inflations": (8,),
        "particles": (1, 4, 16),
        "epochs": 40,
        "options": {**OPTIONS, "depths": [3], "tasks": ["cancer", "spiral"]},
    },
    "paper": {
        "seeds": range(10),
        "formulations": ("dynamic-direct",),
        "inflations": (8,),
        "particles": (1, 2, 4, 8, 16),
        "epochs": 60,
        "options": OPTIONS,
    },
}

RECIPES: dict[str, dict[str, Any]] = {
    "paper": {"data_weight": 30.0, "learning_rate": 0.02, "clip": 10.0},
}


class Networks(AbstractExperiment):
    """Residual networks of width `inflation`, replaced by each number of `particles`."""

    name = "questions-networks"
    about = "open question: how many particles stand for a plain residual network"
    presets: ClassVar = PRESETS
    recipes: ClassVar = RECIPES
    times: ClassVar = {"smoke": "under 1 min", "quick": "about 5 min", "paper": "about 20 min"}

    def configurations(self, settings: Settings) -> list[Configuration]:
        options = settings.options
        return [
            Configuration(
                "dynamic-direct",
                width,
                None,
                {"task": task, "depth": depth, "penalty_weight": weight},
            )
            for width in settings.inflations
            for depth in options["depths"]
            for task in options["tasks"]
            for weight in options["penalty_weights"]
        ]

    def task(
        self, settings: Settings, configuration: Configuration
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        split = _split(settings, configuration)
        return (split.x, split.y), {"loss": split.loss, "optimizer": _optimizer(settings)}

    def net(self, settings: Settings, configuration: Configuration, seed: int) -> Net:
        """The residual network of a seed before training."""
        split, depth = _split(settings, configuration), configuration.more["depth"]
        keys = jax.random.split(jax.random.key(seed))
        field = Affine(configuration.inflation, activation="tanh")
        return Net(
            field,
            Piecewise(field, depth, key=keys[0]),
            readout=split.classes or split.y.shape[1],
            integrator=Euler(steps=depth),
            key=keys[1],
        )

    def evaluate(
        self, settings: Settings, configuration: Configuration, net: Net
    ) -> dict[str, Any]:
        """Evaluate the network, and its replacements in lists with an entry per number of particles."""
        split, key = _split(settings, configuration), jax.random.key(0)
        loss, error = _measured(net, split)
        out: dict[str, Any] = {
            "parameters": count(net),
            "test_loss": loss,
            "test_error": error,
            "penalty": float(penalty(net)),
            "counts": list(settings.particles),
        }
        columns: dict[str, list[float]] = {}
        for particles in settings.particles:
            for name, value in self._replaced(settings, configuration, net, split, particles, key):
                columns.setdefault(name, []).append(value)
        return out | columns

    def _replaced(
        self,
        settings: Settings,
        configuration: Configuration,
        net: Net,
        split: Split,
        particles: int,
        key: Any,
    ) -> Any:
        """The results, by name, for one number of particles."""
        options = settings.options
        told: dict[str, Any] = {
            "particles": [particles],
            "starts": 1,
            "iterations": options["iterations"],
            "key": key,
        }
        by_weights = compress(net, **told)
        yield "bound", by_weights.curve[0].bound
        yield "particle_parameters", by_weights.curve[0].parameters
        yield from _described("weights", by_weights, split)
        by_outputs = compress(net, match="outputs", x=split.x[: options["matched"]], **told)
        yield from _described("outputs", by_outputs, split)
        tuned = fit(
            by_outputs.net,
            split.x,
            split.y,
            loss=split.loss,
            epochs=options["tuning"],
            batch_size=options["batch_size"],
            data_strength=options["data_weight"],
            penalty_strength=configuration.more["penalty_weight"],
            optimizer=_optimizer(settings),
            progress=False,
        ).net
        loss, error = _measured(tuned, split)
        yield "tuned_test_loss", loss
        yield "tuned_test_error", error
        yield "tuned_penalty", float(penalty(tuned))


def _described(name: str, found: Any, split: Split) -> Any:
    loss, error = _measured(found.net, split)
    yield f"{name}_error", found.curve[0].error
    yield f"{name}_test_loss", loss
    yield f"{name}_test_error", error
    yield f"{name}_penalty", float(penalty(found.net))


def _optimizer(settings: Settings) -> Optimizer:
    options = settings.options
    return Optimizer(
        options["learning_rate"],
        schedule=Cosine(),
        clip=options["clip"],
        freeze={"readout": None},
    )


def _split(settings: Settings, configuration: Configuration) -> Split:
    more = configuration.more
    return real_task(more["task"], settings.options["training"], configuration.inflation)


@eqx.filter_jit
def _outputs(net: Net, x: Array) -> Array:
    return net(x)


def _measured(net: Net, split: Split) -> tuple[float, float]:
    x = jnp.asarray(split.test_x, jnp.result_type(float))
    return losses(np.asarray(_outputs(net, x), np.float64), split.test_y, split.classes)
