"""Regularity certificates: the bounds that the theory guarantees, next to values measured on data."""

import math
from typing import Any

import numpy as np

import shootax as sx
from shootax import _checks as checks
from shootax.theory._activations import Activations
from shootax.theory._bounds import largest_kernel, lipschitz_of_flow, reached
from shootax.theory._certificate import Certificate, Row
from shootax.theory._ends import lipschitz_of_ends, slopes_of_net
from shootax.theory._measure import Measured, measure
from shootax.theory._model import WeightPath, is_conserved, norm_at_start, weight_path
from shootax.theory._path import Domain, Tube, tube
from shootax.theory._structure import FieldBounds, field_bounds


def certify(
    net: sx.Net,
    x: Any,
    *,
    radius: float | None = None,
    activations: Activations = None,
    steps: int = 100,
    jacobians: int = 16,
) -> Certificate:
    """Compare the bounds that the theory guarantees for a model with values measured on data.

    The field must be linear in θ, with a quadratic penalty. Its norm in the RKHS with the kernel
    $k(z, z) = L_z M^{-1} L_z^⊤$ is then $\\sqrt{2R}$, which the particles conserve. This number alone, or
    the weights over depth, bound which states the flow can reach, and how much the flow and its inverse
    can stretch distances. The bounds do not only hold at the samples. They hold for all initial states
    in the smallest box around those of the data, with norms no larger than theirs.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx
        from shootax import theory

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=5, key=jax.random.key(0))
        certificate = theory.certify(net, jnp.linspace(-1, 1, 20)[:, None])
        print(certificate.holds)  # True
        ```

    **Arguments:**

    - `net`: the model, which must not be baked.
    - `x`: a batch of inputs, as for `net(x)`.
    - `radius`: certify all initial states with norms up to this value, instead of the box of the data.
    - `activations`: [`shootax.theory.ActivationBounds`][] for an activation that the library does not
        know, or a mapping from functions to `ActivationBounds`.
    - `steps`: the number of steps of the fine grid on which the weights and the data are integrated.
    - `jacobians`: the number of samples at which the Jacobian of the flow is computed.
    """
    start = initial_states(net, x)
    flat = np.asarray(start).reshape(len(start), -1)
    bounds = field_bounds(net, start.shape[1:], activations)
    domain = _domain(flat, bounds, radius)
    path = weight_path(net, checks.positive_integer(steps, "steps"))
    seen = measure(net, path, start, checks.positive_integer(jacobians, "jacobians"))
    around = tube(bounds, path, domain)
    length, norm = _length(net, path)
    own = np.asarray(net.states(x)).reshape(len(start), -1)
    stretch = seen.singular_values
    # With far fewer samples than dimensions, the measured values say little, but they are correct.
    smallest = (
        float(stretch.min()) if stretch is not None else float(seen.quotients.min(initial=math.inf))
    )
    rows = [*_rows(bounds, domain, around, seen, length, path)]
    rows += _network_row(net, x, rows, seen)
    kernel = bounds.kernel_on(around.low, around.high, around.radii[1:]).max(axis=0)
    change = np.abs(path.norm_squared - norm).max() / norm if norm else 0.0
    return Certificate(
        rows=tuple(rows),
        field=type(net.field).__name__,
        samples=len(start),
        T=path.T,
        norm_squared=norm,
        norm_path=np.append(path.norm_squared[:, 0], path.norm_squared[-1, 2]),
        conserved=is_conserved(net.control),
        drift=float(change),
        length=length,
        kernel={name: float(k) for name, k in zip(bounds.parts, kernel, strict=True)},
        singular_values=stretch,
        smallest_singular_value=smallest,
        inverse_error=seen.inverse_error,
        integrator_error=float(np.abs(own - seen.states[-1]).max()),
        tolerance=1e-6 if flat.dtype == np.float64 else 1e-4,
    )


def initial_states(net: Any, x: Any) -> Any:
    """The initial states of the data. Raise if the theory does not apply to them."""
    if not isinstance(net, sx.Net):
        raise ValueError(
            f"The theory needs a single Net, got {type(net).__name__}. Certify the nets inside it one by "
            "one, each with its own inputs."
        )
    if x is None or not np.shape(x) or np.shape(x)[0] == 0:
        raise ValueError(
            "The theory needs data, because the bounds hold on the region that the data reach. Give "
            "inputs of the shape that the net takes, with samples along the leading axis."
        )
    start = net.lifted(x)
    if not hasattr(start, "ndim"):
        raise ValueError(
            f"The state of {type(net.field).__name__} is a PyTree of several arrays. The theory needs a "
            "field whose state is one array, such as an AbstractBlockField."
        )
    if not bool(np.isfinite(np.asarray(start)).all()):
        raise ValueError(
            "The theory needs data in a bounded region, but their initial states contain NaN or "
            "infinity. Remove those samples, and check the lift."
        )
    return start


def _domain(flat: np.ndarray, bounds: FieldBounds, radius: float | None) -> Domain:
    if radius is None:
        return Domain.of(flat, bounds.parts)
    number = isinstance(radius, int | float) and not isinstance(radius, bool)
    if not (number and math.isfinite(radius) and radius > 0):
        raise ValueError(
            f"radius must be a positive, finite number, got {radius!r}. On an unbounded domain, nothing "
            "bounds the kernel of the field. Omit `radius` to use the box of the data."
        )
    largest = float(np.linalg.norm(flat, axis=1).max())
    if largest > radius:
        raise ValueError(
            f"The initial states of the data have norms of up to {largest:.4g} (including the hidden "
            f"state), which is outside the ball of radius {radius:g}. Use a larger radius."
        )
    return Domain.ball(float(radius), bounds.parts)


def _length(net: sx.Net, path: WeightPath) -> tuple[float, float]:
    """$∫ ‖f‖\\, dt$, and $‖f‖^2$ at $t = 0$. If the norm is conserved, both follow from $t = 0$."""
    at_start = norm_at_start(net)
    norm = float(path.norm_squared[0, 0]) if at_start is None else at_start
    if is_conserved(net.control):
        return path.T * math.sqrt(norm), norm
    largest = np.sqrt(path.norm_squared.max(axis=1))
    return float(path.T / path.steps * largest.sum()), norm


def _rows(
    bounds: FieldBounds,
    domain: Domain,
    around: Tube,
    seen: Measured,
    length: float,
    path: WeightPath,
) -> list[Row]:
    growths, first = bounds.growths, float(np.linalg.norm(domain.radii))
    radius = reached(growths, first, length)
    states = seen.states.reshape(-1, seen.states.shape[-1])
    within = bounds.kernel_on(around.low, around.high, around.radii[1:])
    kernel = largest_kernel(growths, radius), within.max()
    norm = math.sqrt(path.norm_squared.max())
    speeds = [norm * math.sqrt(k) for k in kernel]
    speeds[1] = min(speeds[1], around.speed)
    stretch = (
        lipschitz_of_flow(length * math.sqrt(bounds.steepness) if length else 0.0),
        lipschitz_of_flow(around.integral),
    )
    singular = seen.singular_values
    most, least = seen.quotients.max(initial=0.0), seen.quotients.min(initial=math.inf)
    if singular is not None:
        most, least = max(most, singular.max()), min(least, singular.min())
    displacement = np.linalg.norm(seen.states[-1] - seen.states[0], axis=1).max()

    def row(quantity: str, energy: Any, path: Any, measured: Any) -> Row:
        return Row(quantity, float(energy), float(path), float(measured))

    return [
        row("kernel k(z, z)", *kernel, bounds.kernel_at(states).max()),
        row("speed", speeds[0], speeds[1], seen.speed),
        row(
            "radius",
            radius,
            np.linalg.norm(around.radii[-1]),
            np.linalg.norm(states, axis=1).max(),
        ),
        row("displacement", radius - first, np.linalg.norm(around.moved), displacement),
        row("Lipschitz constant of the flow", *stretch, most),
        row("Lipschitz constant of the inverse", *stretch, 1 / least if least else math.inf),
    ]


def _network_row(net: sx.Net, x: Any, rows: list[Row], seen: Measured) -> list[Row]:
    """The row of the whole network, if its lift and its readout are affine."""
    ends = lipschitz_of_ends(net)
    if ends is None or seen.jacobians is None:
        return []
    flow = rows[4]
    slope = slopes_of_net(net, x, seen).max()
    return [
        Row("Lipschitz constant of the network", ends * flow.energy, ends * flow.path, float(slope))
    ]
