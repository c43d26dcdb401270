"""Particles against data: how close do K particles come to the optimum over all weights?

The exact optimum has one particle for each sample, at the sample. All nets share their data and their
lift, so that they minimise the same energy. Seeds differ in the momenta and in the chosen samples.

Positions are `"data"` (fixed at samples), `"trained"` (initialised at samples), or `"costates"`: one
particle for each sample, initialised with the momenta of trained free weights, $p = -∇_{z(0)} γℓ$.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from shootax import (
    RK4,
    Cosine,
    DivergedError,
    Ensemble,
    Net,
    Optimizer,
    Particles,
    Piecewise,
    UpDown,
    flow,
    penalty,
)
from shootax.nn import AffineLift
from shootax.paper._experiment import AbstractExperiment
from shootax.paper._plan import Configuration, Settings
from shootax.paper._questions.tasks import regression

SEED = 5000
"""The seed of the data."""

OPTIONS = {"samples": 16, "steps": 10, "blocks": 10, "tasks": ["function", "spiral"]}

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {
        "seeds": range(2),
        "formulations": ("dynamic-direct", "dynamic-particles"),
        "inflations": (4,),
        "particles": (2, 8),
        "epochs": 40,
        "options": {**OPTIONS, "samples": 8, "tasks": ["function"]},
    },
    "quick": {
        "seeds": range(5),
        "formulations": ("dynamic-direct", "dynamic-particles"),
        "inflations": (8,),
        "particles": (1, 2, 4, 8, 16),
        "epochs": 1000,
        "options": {**OPTIONS, "tasks": ["function"]},
    },
    "paper": {
        "seeds": range(10),
        "formulations": ("dynamic-direct", "dynamic-particles"),
        "inflations": (8,),
        "particles": (1, 2, 4, 8, 16),
        "epochs": 1500,
        "options": OPTIONS,
    },
}

RECIPES: dict[str, dict[str, Any]] = {
    "paper": {
        "data_weight": 100.0,
        "penalty_weight": 1.0,
        "learning_rate": 0.05,
        "clip": 10.0,
        "momentum": 1.0,
    },
}


class ParticlesAgainstData(AbstractExperiment):
    """UpDown nets with K particles, whose positions are trained or fixed at samples."""

    name = "questions-data"
    about = (
        "open question: how fast the optimum's energy falls as particles become as many as samples"
    )
    presets: ClassVar = PRESETS
    recipes: ClassVar = RECIPES
    times: ClassVar = {"smoke": "under 1 min", "quick": "under 5 min", "paper": "about 10 min"}

    def batch_size(self, settings: Settings) -> int:
        return settings.options["samples"]

    def configurations(self, settings: Settings) -> list[Configuration]:
        out = []
        for task in settings.options["tasks"]:
            for inflation in settings.inflations:
                for name in settings.formulations:
                    if not name.endswith("-particles"):
                        more = {"task": task, "positions": "none"}
                        out.append(Configuration(name, inflation, None, more))
                        continue
                    for positions in ("data", "trained"):
                        more = {"task": task, "positions": positions}
                        out += [Configuration(name, inflation, k, more) for k in settings.particles]
                    more = {"task": task, "positions": "costates"}
                    samples = settings.options["samples"]
                    out.append(Configuration(name, inflation, samples, more))
        return out

    def task(
        self, settings: Settings, configuration: Configuration
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        options, freeze = settings.options, {"lift": None}
        scale = None
        if configuration.particles is not None:
            scale = {"momenta": configuration.particles**-0.5}
            if configuration.more["positions"] != "trained":
                freeze["positions"] = None
        optimizer = Optimizer(
            options["learning_rate"],
            schedule=Cosine(),
            clip=options["clip"],
            freeze=freeze,
            lr_scale=scale,
        )
        if configuration.more["positions"] == "costates":  # the initial values are nearly optimal
            rate = 0.02 * options["learning_rate"]
            optimizer = dataclasses.replace(optimizer, learning_rate=rate)
        return _data(settings, configuration), {"optimizer": optimizer}

    def net(self, settings: Settings, configuration: Configuration, seed: int) -> Net:
        """The net of a seed before training, with particles at different samples."""
        x, _ = _data(settings, configuration)
        field = UpDown(x.shape[1], configuration.inflation, activation="tanh")
        hidden = field.dim * configuration.inflation
        lift = AffineLift(field.dim, hidden, key=jax.random.key(SEED))
        integrator = RK4(steps=settings.options["steps"])
        key, momentum_key = jax.random.split(jax.random.key(seed))
        control: Any
        if configuration.particles is None:
            control = Piecewise(field, settings.options["blocks"], key=key)
        else:
            many = configuration.particles
            chosen = np.random.default_rng(seed).permutation(len(x))[:many]
            if configuration.more["positions"] == "costates":
                chosen = np.arange(len(x))
            q = jax.vmap(lift)(jnp.asarray(x[chosen], jnp.result_type(float)))
            std = settings.options["momentum"] / many
            control = Particles(
                field, Ensemble(q, std * jax.random.normal(momentum_key, q.shape, q.dtype))
            )
        return Net(field, control, lift=lift, integrator=integrator, key=key)

    def start(
        self, settings: Settings, configuration: Configuration, seeds: Sequence[int]
    ) -> list[Net]:
        """The nets before training. With costates, their momenta are those of trained free weights."""
        nets = super().start(settings, configuration, seeds)
        if configuration.more["positions"] != "costates":
            return nets
        more = {**configuration.more, "positions": "none"}
        free = Configuration("dynamic-direct", configuration.inflation, None, more)
        (x, y), strength = _data(settings, configuration), settings.options["data_weight"]
        out = []
        for net, outcome in zip(nets, self.train(settings, free, seeds), strict=True):
            result = outcome.result if isinstance(outcome, DivergedError) else outcome
            p = _costates(result.net, x, y, strength)
            out.append(eqx.tree_at(lambda n: n.control.ensemble.p, net, p))
        return out

    def evaluate(
        self, settings: Settings, configuration: Configuration, net: Net
    ) -> dict[str, Any]:
        """Evaluate a net: the minimised energy and its two parts."""
        options = settings.options
        error = float(_mean_square(net, *_data(settings, configuration)))
        cost = float(penalty(net))
        energy = options["data_weight"] * error + options["penalty_weight"] * cost
        return {"train_mse": error, "penalty": cost, "energy": energy}


def _data(settings: Settings, configuration: Configuration) -> tuple[np.ndarray, np.ndarray]:
    return regression(configuration.more["task"], settings.options["samples"], SEED)


@eqx.filter_jit
def _costates(net: Net, x: Any, y: Any, strength: float) -> Any:
    """$-∇_{z(0)}$ of the data term: the momenta of the data at depth 0."""

    def loss(start: Any) -> Any:
        end = flow(net.field, net.control, start, integrator=net.integrator)
        return -strength * jnp.mean((jax.vmap(net.readout)(end) - y) ** 2)

    return jax.grad(loss)(net.lifted(x))


@eqx.filter_jit
def _mean_square(net: Net, x: Any, y: Any) -> Any:
    return jnp.mean((net(x) - y) ** 2)
