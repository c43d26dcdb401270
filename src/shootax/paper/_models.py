"""The common parts of the experiments: UpDown nets and their training."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax

from shootax import RK4, Constant, Cosine, Net, Optimizer, Plateau, Quadratic, UpDown, formulation
from shootax.extend import AbstractPosition, AbstractSchedule, pays_together
from shootax.paper._plan import Configuration, Settings

SCHEDULES = {"cosine": Cosine, "plateau": Plateau, "constant": Constant}


def schedule(options: Mapping[str, Any]) -> AbstractSchedule:
    """Construct a schedule from options such as `{"kind": "cosine", "warmup": 0.1}`."""
    rest = {key: value for key, value in options.items() if key != "kind"}
    return SCHEDULES[options["kind"]](**rest)


def with_particles(configuration: Configuration) -> bool:
    """Whether the formulation has particles."""
    return configuration.particles is not None


def configurations(settings: Settings, **more: Any) -> list[Configuration]:
    """Every formulation with every inflation factor and, if it has particles, every number of them.

    Small models come first, so that the first results are available soon.
    """
    out = []
    for inflation in sorted(settings.inflations):
        for name in settings.formulations:
            counts = settings.particles if name.endswith("-particles") else (None,)
            out.extend(Configuration(name, inflation, count, more) for count in counts)
    return out


def more_particles(settings: Settings, formulations: Sequence[str]) -> list[Configuration]:
    """Other numbers of particles at one inflation factor, as in the paper's figures."""
    at = settings.options.get("more_at")
    if at not in settings.inflations:
        return []
    counts = settings.options.get("more_particles", ())
    kinds = [name for name in settings.formulations if name in formulations]
    return [Configuration(name, at, count) for name in kinds for count in counts]


def make_net(
    configuration: Configuration,
    seed: int,
    *,
    dim: int,
    position: AbstractPosition,
    options: Mapping[str, Any],
    T: float,
    steps: int,
    readout: int | None = None,
) -> Net:
    """Construct the net of a seed. In `options`, `momentum` is the standard deviation of the initial
    momenta, in units of 1/K if `momentum_by_particles` is set."""
    control_key, net_key = jax.random.split(jax.random.key(seed))
    field = UpDown(dim, configuration.inflation)
    drawn: dict[str, Any] = {}
    if "theta3" in options:
        drawn["penalty"] = Quadratic(theta3=options["theta3"])
    if with_particles(configuration):
        drawn["position"] = position
        drawn["momentum"] = options["momentum"] * _unit(configuration, options)
    control = formulation(
        configuration.formulation,
        field,
        particles=configuration.particles or 1,
        key=control_key,
        T=T,
        **drawn,
    )
    return Net(field, control, readout=readout, integrator=RK4(steps=steps), key=net_key)


def optimizer(
    configuration: Configuration,
    options: Mapping[str, Any],
    weight_decay: Mapping[str, float] | None = None,
) -> Optimizer:
    """The optimiser of a recipe. In recorded settings, a factor of the learning rate is called a unit."""
    freeze, scale = None, {}
    if options["lift_unit"] != 1:
        scale["lift"] = options["lift_unit"]
    if with_particles(configuration):
        if options["frozen_epochs"]:
            freeze = {"visible-positions": options["frozen_epochs"]}
        unit = options.get("momentum_unit", 1.0) * _unit(configuration, options)
        if unit != 1:
            scale["momenta"] = unit
    return Optimizer(
        options["learning_rate"],
        schedule=schedule(options["schedule"]),
        clip=options["clip"],
        weight_decay=weight_decay,
        freeze=freeze,
        lr_scale=scale or None,
        ema=options.get("ema", 0.0),
    )


def _unit(configuration: Configuration, options: Mapping[str, Any]) -> float:
    return 1 / (configuration.particles or 1) if options["momentum_by_particles"] else 1.0


def group_size(make: Callable[[], Net], batch: int) -> int:
    """The number of seeds that train in one program: many for small nets, if that is faster."""
    return 10 if pays_together(eqx.filter_eval_shape(make), batch) else 1
