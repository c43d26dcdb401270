r"""The Rademacher complexity of flows with bounded norm (ThRademacher and its corollary).

The class consists of all flows of fields with $‖f(t, ·)‖ ≤ B$ at every depth, whose initial states are
fixed functions of the data. Its complexity is $\frac1n E \sup Σ_i ε_i z_k(T; x_i)$ over random signs.

**The paper's proof** writes $z(T) = z(0) + ∫ f(z(t), θ(t))\, dt$ and bounds the integrand by the
complexity of the space of fields, $B \sqrt{κ/n}$. That number is for *fixed* points, whereas the points
$z(t; x_i)$ move with the flow over which the supremum is taken. The result treats them as fixed. We call
it `short`.

**A bound without this assumption** is proved step by step in `docs/theory-proofs.md`. With
$G(t) = \frac1n E \sup Σ_{ij} γ_{ij} z_j(t; x_i)$ for Gaussian $γ$, splitting the velocity at the
initial state and comparing Gaussian processes gives, for every $τ > 0$,

$$G(t) ≤ ∫_0^t \sqrt{1+τ}\, L\, G(s) + \frac{B}{\sqrt n} \Big(\sqrt{k_0} +
\sqrt{(1 + 1/τ)\, c P}\, D(s)\Big) ds,$$

where $k_0$ is the mean of $\operatorname{tr} k(z(0), z(0))$ over the data, $L = B\sqrt c$ bounds the
Lipschitz constant of the fields, $D(s)$ bounds how far a state has moved, and $P$ is the number of
weights. Grönwall's lemma gives $G(T)$. Signs instead of Gaussians cost a factor $\sqrt{π/2}$.
"""

import dataclasses
import math
from typing import Any

import numpy as np

import shootax as sx
from shootax import _checks as checks
from shootax import nn
from shootax.theory._activations import Activations
from shootax.theory._bounds import largest_kernel, reached
from shootax.theory._certify import initial_states
from shootax.theory._ends import lipschitz_of_ends
from shootax.theory._model import is_conserved, norm_at_start, weight_path
from shootax.theory._path import Domain
from shootax.theory._structure import FieldBounds, field_bounds

SPLITS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
STEPS = 400


@dataclasses.dataclass(frozen=True)
class RademacherBounds:
    """Bounds on the complexity of all flows with the norm of a model; see
    [`shootax.theory.rademacher`][].

    **Arguments:**

    - `samples`: $n$.
    - `norm_squared`: $B^2 = 2R$.
    - `T`: the depth.
    - `radius`: the radius of the region that flows of the class can reach.
    - `kernel`: the supremum κ of the kernel of one component in this region.
    - `short`: $T B \\sqrt{κ/n}$ for a component of the state that the readout takes: the paper's
      corollary with an explicit constant. It assumes that the points at which fields are evaluated do
      not depend on the flow. (The paper has twice this value, because its definition of the complexity
      is twice ours.)
    - `rigorous`: the bound for a component without this assumption.
    - `vector`: the bound on the Gaussian complexity $\\frac1n E \\sup Σ_{ij} γ_{ij} x_j(T; x_i)$ of all
      components that the readout takes, for loss functions of several outputs.
    """

    samples: int
    norm_squared: float
    T: float
    radius: float
    kernel: float
    short: float
    rigorous: float
    vector: float


def rademacher(net: sx.Net, x: Any, *, activations: Activations = None) -> RademacherBounds:
    """Bound the Rademacher complexity of all flows whose fields have this model's norm, on these data.

    `short` is the paper's bound, which treats the points that move with the flow as fixed. `rigorous`
    does not need this assumption. `docs/theory.md` explains both.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx
        from shootax import theory

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=5, key=jax.random.key(0))
        bounds = theory.rademacher(net, jnp.linspace(-1, 1, 50)[:, None])
        print(bounds.short < bounds.rigorous)  # True
        ```

    **Arguments:** as in [`shootax.theory.certify`][].
    """
    start = initial_states(net, x)
    bounds = field_bounds(net, start.shape[1:], activations)
    flat = np.asarray(start, np.float64).reshape(len(start), -1)
    return rademacher_for(bounds, flat, _norm(net), float(net.control.T), _read_out(net, bounds))


def _read_out(net: sx.Net, bounds: FieldBounds) -> list[str]:
    """The parts of the state on which the output depends, or all parts if these are not known."""
    readout, read = net.readout, math.inf
    if isinstance(readout, nn.VisibleReadout):
        read = readout.dim
    if isinstance(readout, nn.LinearReadout):
        read = readout.weight.shape[1]
    out = []
    for part, rows in bounds.parts.items():
        places = (rows.stop - rows.start) // bounds.channels[part]  # of an image; else 1
        if rows.start // places < read:
            out.append(part)
    return out


def _norm(net: sx.Net) -> float:
    """The largest $‖f‖$ over depth, or $‖f‖$ at $t = 0$ if it is conserved."""
    at_start = norm_at_start(net)
    if at_start is not None and is_conserved(net.control):
        return math.sqrt(at_start)
    return math.sqrt(weight_path(net, 100).norm_squared.max())


def rademacher_for(
    bounds: FieldBounds, start: np.ndarray, norm: float, T: float, shown: list[str]
) -> RademacherBounds:
    """Compute the bounds of `rademacher` from the constants of the field, initial states
    `(samples, state)`, $B$, $T$ and the parts of the state that the readout takes."""
    n = len(start)
    first = float(np.linalg.norm(Domain.of(start, bounds.parts).radii))
    radius = reached(bounds.growths, first, norm * T)
    kernel = largest_kernel(bounds.growths_of(shown), radius)
    at_start = bounds.kernel_at(start)
    channels = np.array([bounds.channels[part] for part in bounds.parts], float)
    rows = np.array([bounds.row_weights[part] for part in bounds.parts])
    places = [list(bounds.parts).index(part) for part in shown]
    everything = (float((at_start @ channels).mean()), float(channels @ rows))
    outputs = (
        float((at_start[:, places] @ channels[places]).mean()),
        float(channels[places] @ rows[places]),
    )
    component = (float(at_start[:, places].mean(axis=0).max()), float(rows[places].max()))
    grid = np.linspace(0, T, STEPS + 1)[1:]
    radii = np.array([reached(bounds.growths, first, norm * t) for t in grid])
    with np.errstate(over="ignore", invalid="ignore"):
        one, vector = (
            min(
                _integrated(bounds, norm, T, n, radii - first, everything, wanted, split)
                for split in SPLITS
            )
            for wanted in (component, outputs)
        )
    return RademacherBounds(
        samples=n,
        norm_squared=norm**2,
        T=T,
        radius=radius,
        kernel=kernel,
        short=T * norm * math.sqrt(kernel / n),
        rigorous=float(math.sqrt(math.pi / 2) * one),
        vector=float(vector),
    )


def _integrated(
    bounds: FieldBounds,
    norm: float,
    T: float,
    n: int,
    moved: np.ndarray,
    everything: tuple[float, float],
    wanted: tuple[float, float],
    split: float,
) -> float:
    """$G(T)$ for the `wanted` velocities. Each pair is a trace of the kernel and a number of weights."""
    if not math.isfinite(bounds.weights) or not math.isfinite(bounds.steepness):
        return math.inf
    if norm == 0:
        return 0.0
    h, rate = T / STEPS, math.sqrt(1 + split) * norm * math.sqrt(bounds.steepness)

    def source(trace: float, weights: float) -> np.ndarray:
        spread = math.sqrt((1 + 1 / split) * bounds.steepness * weights) * moved
        return norm / math.sqrt(n) * (math.sqrt(trace) + spread)

    total, inner = 0.0, 0.0
    for own, shown in zip(source(*everything), source(*wanted), strict=True):
        inner = math.exp(min(rate * h, 700)) * (
            inner + h * own
        )  # an upper sum, because sources grow
        total += h * (shown + rate * inner)
    return total if math.isfinite(total) else math.inf


@dataclasses.dataclass(frozen=True)
class GeneralisationBound:
    """The result of [`shootax.theory.generalisation_bound`][].

    With probability $1 - δ$, the expected loss exceeds the mean loss on the data by at most `total`.

    **Arguments:**

    - `complexity`: the term for the complexity of the class of flows.
    - `confidence`: the term for the random sample.
    - `norm_squared`: the power of two above $2R$ that defines the class.
    """

    complexity: float
    confidence: float
    norm_squared: float

    @property
    def total(self) -> float:
        return self.complexity + self.confidence


def generalisation_bound(
    net: sx.Net,
    x: Any,
    *,
    loss_lipschitz: float,
    loss_sup: float,
    delta: float = 0.05,
    activations: Activations = None,
) -> GeneralisationBound:
    """Bound how far the expected loss can exceed the mean loss on the data.

    For a loss that is λ-Lipschitz in the output and lies in $[0, c]$, the bound is

    $$2 \\sqrt{π/2}\\, λ\\, \\operatorname{Lip}(\\text{readout})\\, G + 3 c \\sqrt{\\log(2/δ')/2n},$$

    where $G$ is the Gaussian complexity `vector` of [`shootax.theory.rademacher`][]. The norm of a
    trained model is only known after training. Therefore the class is that of the next power of two,
    $2R ≤ 2^j$, and $δ' = δ/(2(|j|+1)(|j|+2))$ covers all $j$ at once.

    The lift and the readout are treated as fixed. If they were trained on the same data, as they usually
    are, the bound does not account for their choice.

    **Arguments:**

    - `net`, `x`, `activations`: as in [`shootax.theory.certify`][].
    - `loss_lipschitz`: λ, the Lipschitz constant of the loss for the Euclidean norm of the output.
    - `loss_sup`: $c$, the largest value of the loss.
    - `delta`: δ, the probability that the bound does not hold.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx
        from shootax import theory

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=5, key=jax.random.key(0))
        x = jnp.linspace(-1, 1, 50)[:, None]
        bound = theory.generalisation_bound(net, x, loss_lipschitz=1.0, loss_sup=1.0)
        print(bound.total > 0)  # True
        ```
    """
    slope = checks.positive_number(loss_lipschitz, "loss_lipschitz")
    largest = checks.positive_number(loss_sup, "loss_sup")
    if not 0 < checks.number(delta, "delta") < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta!r}.")
    start = initial_states(net, x)
    bounds = field_bounds(net, start.shape[1:], activations)
    readout = lipschitz_of_ends(net, lift=False)
    if readout is None:
        raise ValueError(
            f"The Lipschitz constant of the readout {type(net.readout).__name__} is not known. Use a "
            "linear readout, or make the readout part of the loss and replace it by the identity."
        )
    norm = _norm(net)
    power = math.ceil(math.log2(norm**2)) if norm else 0
    flat = np.asarray(start, np.float64).reshape(len(start), -1)
    shown = _read_out(net, bounds)
    found = rademacher_for(bounds, flat, 2.0 ** (power / 2), float(net.control.T), shown)
    share = delta / (2 * (abs(power) + 1) * (abs(power) + 2))
    return GeneralisationBound(
        complexity=2 * math.sqrt(math.pi / 2) * slope * readout * found.vector,
        confidence=3 * largest * math.sqrt(math.log(2 / share) / (2 * len(start))),
        norm_squared=2.0**power,
    )
