"""Facts about a model: its type, its size, and how it was made."""

import contextlib
import platform
from importlib import metadata
from typing import Any

import jax
import numpy as np

import shootax as sx
from shootax import Net
from shootax.extend import AbstractFixedStep, AbstractParticleControl
from shootax.report._subject import Subject

PACKAGES = ("jax", "equinox", "diffrax", "numpy", "plotly")
LONG = 20
"""The largest length of a list in a record that is shown in full."""

Row = tuple[str, str]


def facts_section(subject: Subject, record: dict[str, Any]) -> list[dict[str, Any]]:
    """Tables, each with a title and rows `(name, value)`."""
    tables = []
    for part in subject.parts:
        title = "Model" if len(subject.parts) == 1 else part.name.capitalize()
        tables.append({"title": title, "rows": _of_net(part.net)})
    if len(subject.parts) > 1 or subject.model is not subject.parts[0].net:
        whole = [
            ("model", type(subject.model).__name__),
            ("parameters", f"{sx.count(subject.model):,}"),
        ]
        tables.insert(0, {"title": "Whole model", "rows": whole})
    if subject.estimator is not None:
        estimator = subject.estimator
        settings = [(name, _shown(value)) for name, value in estimator.get_params().items()]
        tables.append({"title": f"Settings of {type(estimator).__name__}", "rows": settings})
    if subject.columns:
        names = [(f"column {i + 1}", name) for i, name in enumerate(subject.columns[:100])]
        tables.append({"title": "Columns", "rows": [*names, ("target", subject.target)]})
    if record:
        hidden = ("estimator", "history")
        rows = [(str(key), _shown(value)) for key, value in record.items() if key not in hidden]
        tables.append({"title": "File", "rows": rows})
    tables.append({"title": "Versions of this report", "rows": _versions()})
    return tables


def _of_net(net: Net) -> list[Row]:
    control, integrator = net.control, net.integrator
    rows = [
        ("field", type(net.field).__name__),
        ("control", type(control).__name__),
        ("penalty", type(control.penalty).__name__),
        ("lift, readout", f"{_name(net.lift)}, {_name(net.readout)}"),
        ("integrator", _solver(integrator)),
        ("final depth T", f"{control.T:g}"),
        ("numbers in a state", f"{_size(net.field.state):,}"),
        ("parameters", f"{sx.count(net):,}"),
    ]
    particles = None
    if isinstance(control, AbstractParticleControl):
        particles = control.ensemble.particles
        rows.append(("particles", f"{particles:,}"))
    return rows + _against_direct(net, particles)


def _solver(integrator: Any) -> str:
    name = type(integrator).__name__
    return (
        f"{name}, {integrator.steps} steps" if isinstance(integrator, AbstractFixedStep) else name
    )


def _against_direct(net: Net, particles: int | None) -> list[Row]:
    """The numbers of parameters of the same net with free weights, if the field has weights."""
    try:
        weights = _size(net.field.theta)
    except ValueError:  # an RKHS field: its particles are the field
        return [("numbers in θ", "none: the particles are the field")]
    rest = sx.count((net.field, net.lift, net.readout))
    rows = [
        ("numbers in θ", f"{weights:,}"),
        ("parameters as static direct", f"{rest + weights:,}"),
        ("parameters as dynamic direct, 5 blocks", f"{rest + 5 * weights:,}"),
    ]
    steps = net.integrator.steps if isinstance(net.integrator, AbstractFixedStep) else None
    if steps is not None:
        rows.append((f"parameters as {steps} free layers", f"{rest + steps * weights:,}"))
        if particles is not None:
            even = sx.break_even(net.field, steps)
            rows.append((f"particles that equal {steps} free layers", f"{even:,.1f}"))
    return rows


def _size(tree: Any) -> int:
    return int(sum(np.prod(leaf.shape) for leaf in jax.tree.leaves(tree)))


def _name(thing: Any) -> str:
    return getattr(thing, "__name__", type(thing).__name__)


def _versions() -> list[Row]:
    rows = [("shootax", sx.__version__), ("python", platform.python_version())]
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            rows.append((name, metadata.version(name)))
    return rows


def _shown(value: Any) -> str:
    """A value of a record as text, with long lists shortened."""
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_shown(each)}" for key, each in value.items())[:2000]
    if isinstance(value, list | tuple):
        more = f", … ({len(value)} in all)" if len(value) > LONG else ""
        return (", ".join(_shown(each) for each in value[:LONG]) + more)[:2000]
    return f"{value:.6g}" if isinstance(value, float) else str(value)[:2000]
