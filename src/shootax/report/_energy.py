"""The section on the cost of the weights over depth, and on the contribution of each particle."""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, PyTree

import shootax as sx
from shootax import DivergedError, Net, NotConvergedError, Particles, UnboundedError
from shootax.extend import AbstractParticleControl, AbstractParticlePenalty
from shootax.report._encode import floats
from shootax.report._paths import particles_at, without
from shootax.report._subject import Part, Subject

PARTICLES = 30
"""The largest number of particles that are removed one by one."""

Trouble = (ValueError, NotConvergedError, UnboundedError, DivergedError)


def energy_section(part: Part, subject: Subject, times: np.ndarray, theta: Any) -> dict[str, Any]:
    """Hamiltonian, penalty and complexity over depth, and the contribution of each particle."""
    net, notes = part.net, []
    section: dict[str, Any] = {"notes": notes, "complexity": floats(_log_norms(theta))}
    try:
        section["rate"] = floats(_rates(net, times, theta))
        section["penalty"] = float(total_penalty(net))
    except Trouble as error:
        notes.append(f"The penalty over depth is not shown: {error}")
    if isinstance(net.control, Particles):
        try:
            when, energy = sx.hamiltonian_path(net)
            values = np.asarray(energy, np.float64)
            section["hamiltonian"] = {"times": floats(when), "values": floats(values)}
            section["drift"] = float(
                np.max(np.abs(values - values[0])) / max(abs(values[0]), np.finfo(float).tiny)
            )
        except Trouble as error:
            notes.append(f"The Hamiltonian over depth is not shown: {error}")
    if isinstance(net.control, AbstractParticleControl):
        section["particles"] = _contributions(part, subject, notes)
    return section


@eqx.filter_jit
def total_penalty(net: Net) -> Array:
    """Compute $∫R\\, dt$ in one compiled program."""
    return sx.penalty(net)


def _rates(net: Net, times: np.ndarray, theta: PyTree[Array]) -> np.ndarray:
    """$R(θ(t))$ at the depths of the slider."""
    penalty = net.control.penalty
    if not isinstance(penalty, AbstractParticlePenalty):
        return np.asarray(jax.jit(jax.vmap(penalty))(theta), np.float64)
    path = particles_at(net, times)
    if path is None:
        raise ValueError(f"{type(penalty).__name__} needs particles, but this net has none.")
    return np.asarray(jax.vmap(lambda t, q: penalty(t, net.field, q))(theta, path[0]), np.float64)


def _log_norms(theta: PyTree[Array]) -> np.ndarray:
    """$\\log_2 Σ_k \\|θ_k(t)\\|^2$ over the matrices."""
    matrices = [np.asarray(leaf) for leaf in jax.tree.leaves(theta) if np.ndim(leaf) >= 3]
    if not matrices:
        return np.zeros(0)
    squares = sum(np.sum(m.reshape(len(m), -1).astype(np.float64) ** 2, axis=1) for m in matrices)
    with np.errstate(divide="ignore"):
        return np.log2(squares)


def _contributions(part: Part, subject: Subject, notes: list[str]) -> dict[str, Any]:
    """The changes of loss and penalty when one particle is removed."""
    net = part.net
    ensemble = net.control.ensemble  # pyright: ignore[reportAttributeAccessIssue]
    count = ensemble.particles
    squares = [
        np.sum(np.asarray(p).reshape(count, -1) ** 2, axis=1) for p in jax.tree.leaves(ensemble.p)
    ]
    chosen = np.sort(np.argsort(-sum(squares), kind="stable")[:PARTICLES])
    if len(chosen) < count:
        notes.append(f"Shown are the {len(chosen)} of {count} particles with the largest momenta.")
    usable = subject.x is not None and part.inputs is not None
    reference = None if not usable else _flat_outputs(subject, subject.model)
    before = None if reference is None else _measure(subject, reference, reference)
    penalty = float(total_penalty(net))
    losses, penalties = [], []
    for j in chosen:
        fewer = without(net, int(j))
        penalties.append(float(total_penalty(fewer)) - penalty)
        if reference is not None and before is not None:
            try:
                outputs = _flat_outputs(subject, part.replaced(fewer))
                losses.append(_measure(subject, outputs, reference) - before)
            except Trouble:  # without this particle, an inner maximisation may have no maximum
                losses.append(float("nan"))
    measure = {"classes": "cross-entropy", None: "squared change of the output"}
    return {
        "numbers": (chosen + 1).tolist(),
        "penalty": penalties,
        "loss": losses or None,
        "measure": measure.get(subject.kind, "mean squared error"),
        "before": before if subject.kind else None,
    }


def _flat_outputs(subject: Subject, model: Any) -> list[np.ndarray]:
    return [np.asarray(leaf, np.float64) for leaf in jax.tree.leaves(subject.outputs(model))]


def _measure(subject: Subject, outputs: list[np.ndarray], reference: Any) -> float:
    """The loss of outputs or, without targets, their distance from the model's outputs."""
    if subject.kind == "classes":
        scores = outputs[0] - outputs[0].max(axis=1, keepdims=True)
        logs = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
        return float(-np.mean(logs[np.arange(len(logs)), subject.y]))
    if subject.kind is not None:
        return float(np.nanmean((outputs[0] - np.asarray(subject.y)) ** 2))
    return float(np.mean([np.mean((a - b) ** 2) for a, b in zip(outputs, reference, strict=True)]))
