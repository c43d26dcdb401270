"""Defaults are part of the interface, and modules hold nothing but arrays as leaves.

A default that changes changes results of users who never named it. Change `defaults.json` in the same
commit, and say so in the changelog: `python tests/test_defaults.py` writes it anew.
"""

import importlib
import inspect
import json
import pathlib

import equinox as eqx
import jax
import pytest

import shootax as sx
from cases import CONTROLS, FIELDS, KEY

FILE = pathlib.Path(__file__).with_name("defaults.json")
ROOMS = ("nn", "kernels", "maximisers", "extend", "sklearn", "export", "data", "sweeps", "theory")


def defaults(thing):
    """The defaults of a function or constructor, as text; those that are plain values alone."""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return {}
    known = {p.name: repr(p.default) for p in parameters if p.default is not p.empty}
    return {name: text for name, text in known.items() if "0x" not in text and "<" not in text}


def every_default():
    modules = {"": sx, **{f"{r}.": importlib.import_module(f"shootax.{r}") for r in ROOMS}}
    found = {}
    for room, module in modules.items():
        for name, thing in vars(module).items():
            if not name.startswith("_") and callable(thing) and (given := defaults(thing)):
                found[room + name] = given
    return dict(sorted(found.items()))


def test_defaults_are_what_they_were():
    now, then = every_default(), json.loads(FILE.read_text("utf-8"))
    changed = [
        f"{name}({argument}=): {text} before, {now.get(name, {}).get(argument)} now"
        for name, arguments in then.items()
        for argument, text in arguments.items()
        if now.get(name, {}).get(argument) != text
    ]
    assert not changed, "\n".join(changed)
    assert sum(map(len, then.values())) > 150


def modules():
    """One object of every kind of part."""
    field = sx.UpDown(1, 2)
    yield from (make() for make in FIELDS.values())
    yield from (make(field) for make in CONTROLS.values())
    images = ((sx.ConvAffine, (1, (3,))), (sx.ConvUpDown, (1, (3,))), (sx.ConvGrouped, (2, (3,))))
    yield from (kind(*arguments) for kind, arguments in images)
    yield from (sx.Periodic(2), sx.BlockSparse((1, 2)), sx.GeneralUpDown(1), sx.DampedUpDown(1))
    yield from (sx.SingleHiddenLayer(2, 3), sx.RKHS(2))
    integrators = (sx.Euler, sx.Heun, sx.RK4, sx.ImplicitMidpoint, sx.SymplecticEuler)
    yield from (kind() for kind in (*integrators, sx.Dopri5, sx.Tsit5))
    yield from (sx.Direct(), sx.Checkpointed(), sx.Reversed())
    yield sx.extend.StagewiseParticles(None, None, sx.Quadratic(), (0.0,), (1.0,), 1.0)
    solvers = (sx.maximisers, sx.kernels)
    parts = [thing for room in solvers for name, thing in vars(room).items() if name[0].isupper()]
    ready = [thing for thing in parts if isinstance(thing, type) and not inspect.isabstract(thing)]
    yield from (kind() for kind in ready if not _needed(kind))
    yield from (
        sx.Quadratic(),
        sx.Transport(),
        sx.Barron(),
        sx.RKHSNorm(sx.kernels.GaussianKernel()),
    )


def _needed(kind):
    parameters = inspect.signature(kind).parameters.values()
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    variable = [p for p in parameters if p.kind not in plain]
    return variable or [p for p in parameters if p.default is p.empty]


@pytest.mark.parametrize("module", list(modules()), ids=lambda module: type(module).__name__)
def test_settings_are_no_leaves(module):
    """A number among the leaves would be trained, cast, or traced."""
    assert isinstance(module, eqx.Module)
    leaves = jax.tree.leaves(module)
    assert all(eqx.is_inexact_array(leaf) for leaf in leaves), leaves
    hash(jax.tree.structure(module))  # and it can be the key of a compiled program


def test_a_random_key_is_no_number():
    assert not eqx.is_inexact_array(KEY)


if __name__ == "__main__":
    FILE.write_text(json.dumps(every_default(), indent=1, ensure_ascii=False) + "\n", "utf-8")
