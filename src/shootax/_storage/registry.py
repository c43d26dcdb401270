"""The permanent names of classes and functions in files.

This is the only file to edit when a class is renamed or moved (the right-hand side of `classes`),
gains a field without a default (`FIELD_DEFAULTS`), or has a field renamed (`RENAMED_FIELDS`).
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp

from shootax import _checks as checks
from shootax._storage.format1 import EQUINOX, FORMAT_1

T = TypeVar("T", bound=type)

FIELD_DEFAULTS: dict[str, dict[str, Any]] = {
    # Fields that Equinox added after the first files were written.
    "equinox.nn.MLP": {"scan": False},
}
"""Values of fields that a file lacks, by the name of the class. They precede the class's own defaults."""

RENAMED_FIELDS: dict[str, dict[str, str]] = {
    "Quadratic": {"weights": "strengths"},
    "Stagewise": {"weights": "quadrature_weights"},
}
"""Old and new names of fields, by the name of the class. They are used if the class has no field with the
old name."""


@functools.cache
def classes() -> dict[str, Any]:
    """The classes of this library and of Equinox by their names in files."""
    import shootax as sx  # not at the top: the package itself imports this file

    plain = {
        "Net": sx.Net,
        "Chain": sx.Chain,
        "Fit": sx.FitResult,
        # Controls and particles
        "Basis": sx.Basis,
        "FrozenParticles": sx.FrozenParticles,
        "FunctionControl": sx.FunctionControl,
        "Particles": sx.Particles,
        "Piecewise": sx.Piecewise,
        "Stagewise": sx.extend.Stagewise,
        "StagewiseParticles": sx.extend.StagewiseParticles,
        "Static": sx.Static,
        "Ensemble": sx.Ensemble,
        "FromData": sx.FromData,
        "Gaussian": sx.Gaussian,
        "Uniform": sx.Uniform,
        # Fields
        "Affine": sx.Affine,
        "BlockSparse": sx.BlockSparse,
        "ConvAffine": sx.ConvAffine,
        "ConvGrouped": sx.ConvGrouped,
        "ConvUpDown": sx.ConvUpDown,
        "DampedUpDown": sx.DampedUpDown,
        "FunctionField": sx.FunctionField,
        "GeneralUpDown": sx.GeneralUpDown,
        "Periodic": sx.Periodic,
        "RKHS": sx.RKHS,
        "SingleHiddenLayer": sx.SingleHiddenLayer,
        "UpDown": sx.UpDown,
        # Penalties
        "Barron": sx.Barron,
        "Quadratic": sx.Quadratic,
        "RKHSNorm": sx.RKHSNorm,
        "Transport": sx.Transport,
        # Integrators and their gradients
        "Dopri5": sx.Dopri5,
        "Euler": sx.Euler,
        "Heun": sx.Heun,
        "ImplicitMidpoint": sx.ImplicitMidpoint,
        "RK4": sx.RK4,
        "SymplecticEuler": sx.SymplecticEuler,
        "Tsit5": sx.Tsit5,
        "Checkpointed": sx.Checkpointed,
        "Direct": sx.Direct,
        "Reversed": sx.Reversed,
        # Training
        "Constant": sx.Constant,
        "Cosine": sx.Cosine,
        "Plateau": sx.Plateau,
        "FrameRequest": sx.nn.FrameRequest,
        "Masked": sx.nn.Masked,
        "MaskedFrames": sx.data.MaskedFrames,
    }
    kernels = {
        "GaussianKernel": sx.kernels.GaussianKernel,
        "InverseMultiquadric": sx.kernels.InverseMultiquadric,
        "LaplaceKernel": sx.kernels.LaplaceKernel,
        "SumKernel": sx.kernels.SumKernel,
    }
    maximisers = {
        "ClosedForm": sx.maximisers.ClosedForm,
        "LinearSolve": sx.maximisers.LinearSolve,
        "Newton": sx.maximisers.Newton,
        "PerNeuron": sx.maximisers.PerNeuron,
        "QuasiNewton": sx.maximisers.QuasiNewton,
        "Representer": sx.maximisers.Representer,
        "Unrolled": sx.maximisers.Unrolled,
        "VertexSearch": sx.maximisers.VertexSearch,
    }
    nn = {
        "AffineLift": sx.nn.AffineLift,
        "ChannelLift": sx.nn.ChannelLift,
        "Classifier": sx.nn.Classifier,
        "ConstantLift": sx.nn.ConstantLift,
        "Convolution": sx.nn.Convolution,
        "Downsample": sx.nn.Downsample,
        "IdentityLift": sx.nn.IdentityLift,
        "IdentityReadout": sx.nn.IdentityReadout,
        "ImageDecoder": sx.nn.ImageDecoder,
        "ImageEncoder": sx.nn.ImageEncoder,
        "ImageStem": sx.nn.ImageStem,
        "LatentModel": sx.nn.LatentModel,
        "LayerNorm": sx.nn.LayerNorm,
        "LinearLift": sx.nn.LinearLift,
        "LinearReadout": sx.nn.LinearReadout,
        "MLP": sx.nn.MLP,
        "MLPLift": sx.nn.MLPLift,
        "ParticleChain": sx.nn.ParticleChain,
        "Transition": sx.nn.Transition,
        "Upsample": sx.nn.Upsample,
        "VisibleReadout": sx.nn.VisibleReadout,
        "ZeroLift": sx.nn.ZeroLift,
    }
    others = {f"equinox.nn.{n}": getattr(eqx.nn, n) for part in EQUINOX.values() for n in part}
    groups = {"kernels": kernels, "maximisers": maximisers, "nn": nn}
    grouped = {f"{g}.{n}": cls for g, members in groups.items() for n, cls in members.items()}
    return {**plain, **grouped, **others}


def _functions(prefix: str, module: Any, *names: str) -> dict[str, Callable[..., Any]]:
    return {f"{prefix}.{name}": getattr(module, name) for name in names}


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **_functions("jax.nn", jax.nn, "celu", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu"),
    **_functions("jax.nn", jax.nn, "hard_tanh", "leaky_relu", "log_sigmoid", "log_softmax", "mish"),
    **_functions("jax.nn", jax.nn, "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign"),
    **_functions("jax.nn", jax.nn, "softmax", "softplus", "sparse_plus", "squareplus"),
    **_functions("jax.numpy", jnp, "abs", "arctan", "cos", "exp", "log", "max", "mean", "sin"),
    **_functions("jax.numpy", jnp, "sinh", "sqrt", "square", "tan", "tanh"),
    **_functions("jax.lax", jax.lax, "abs", "add", "erf", "max", "min", "tanh"),
    # The default final activation of `equinox.nn.MLP`.
    "equinox.identity": inspect.signature(eqx.nn.MLP.__init__)
    .parameters["final_activation"]
    .default,
}
"""Functions that files can refer to, by their names in files."""


_registered: dict[str, type] = {}


def register(
    name: str,
    *,
    defaults: Mapping[str, Any] | None = None,
    renamed: Mapping[str, str] | None = None,
) -> Callable[[T], T]:
    """Give your class a permanent name in model files, independent of its module and its Python name.

    [`shootax.load`][] then finds the class without `known`.

    !!! example

        ```python
        import jax.numpy as jnp
        import shootax as sx

        @sx.register("my.Swirl")
        class Swirl(sx.AbstractField):
            state = sx.shape(2)
            theta = {"turn": sx.shape()}

            def __call__(self, z, theta):
                return theta["turn"] * jnp.stack([-z[1], z[0]])
        ```

    **Arguments:**

    - `name`: a name that contains a dot, as in `"my.Field"`. Do not change it once files exist.
    - `defaults`: a dictionary with values of fields that older files lack.
    - `renamed`: a dictionary from old names of fields to new ones.
    """
    if not isinstance(name, str) or "." not in name.strip("."):
        raise ValueError(
            f"The name of a class in files must contain a dot, as in 'my.Field'; got {name!r}."
        )

    for given, argument in ((defaults, "defaults"), (renamed, "renamed")):
        if not (given is None or isinstance(given, Mapping)):
            raise TypeError(
                f"{argument} must be a dictionary with names of fields as keys, got "
                f"{checks.shown(given)}."
            )

    def add(cls: T) -> T:
        if not isinstance(cls, type):
            raise TypeError(f"register is for classes, got {cls!r}.")
        other = _all().get(name)
        again = name in _registered and qualified(other) == qualified(cls)  # a cell run twice
        if other is not None and not again:
            raise ValueError(
                f"The name {name!r} is already registered for {qualified(other)}. Choose another name."
            )
        _registered[name] = cls
        FIELD_DEFAULTS[name] = dict(defaults or {})
        RENAMED_FIELDS[name] = dict(renamed or {})
        return cls

    return add


def qualified(item: Any) -> str:
    """The qualified name of a class or function, with its module."""
    name = getattr(item, "__qualname__", type(item).__qualname__)
    return f"{getattr(item, '__module__', '')}.{name}"


def _all() -> dict[str, Any]:
    return {**classes(), **FUNCTIONS, **_registered}


def name_of(item: Any) -> str | None:
    """The name in files of a class or function, if it has one."""
    return next((name for name, each in _all().items() if each is item), None)


class Names:
    """The classes and functions that the names in one file stand for.

    Nothing is imported: a name is looked up only among the classes and functions of the registry and
    those that the caller passes.
    """

    def __init__(self, known: Iterable[Any] = ()):
        self.stable = _all()
        places = {qualified(item): item for item in self.stable.values()}
        old = {place: self.stable[name] for place, name in FORMAT_1.items()}
        self.places = {**places, **old, **{qualified(item): item for item in known}}

    def find(self, name: str, *, by_place: bool) -> Any:
        """The class or function with a permanent name, or, `by_place`, with a qualified name; `None` if
        unknown."""
        return (self.places if by_place else self.stable).get(name)
