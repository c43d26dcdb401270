"""The smallest sufficient number of particles, and the curve of error against number."""

import dataclasses
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray, PyTree

from shootax import _checks as checks
from shootax._bake import bake
from shootax._compress.bounds import least_error
from shootax._compress.match import Match, fitted
from shootax._controls import Stagewise
from shootax._disk_cache import keeping_programs
from shootax._ensemble import Ensemble
from shootax._fields.base import size
from shootax._fields.linearity import assert_linear
from shootax._integrators import RK4, AbstractFixedStep
from shootax._measures import count
from shootax._net import Net
from shootax._penalties import Quadratic


class Point(NamedTuple):
    """One point of the curve: a number of particles and the error that it reaches.

    **Arguments:**

    - `particles`: their number.
    - `error`: the relative error of θ(t), or of the outputs where those are matched.
    - `bound`: a lower bound of the error of θ(t) with so many particles.
    - `parameters`: the number of parameters of the compressed net.
    """

    particles: int
    error: float
    bound: float
    parameters: int


@dataclasses.dataclass(frozen=True)
class Compression:
    """The result of [`shootax.compress`][].

    **Arguments:**

    - `net`: the net with the fewest particles within the tolerance, or with the smallest error if none
        is within it.
    - `curve`: for each number of particles that was tried its error, bound and size.
    - `tolerance`: the relative error that was requested.
    - `reached`: whether `net` is within it.
    - `original`: the number of parameters of the original net.
    """

    net: Net
    curve: tuple[Point, ...]
    tolerance: float
    reached: bool
    original: int


@keeping_programs
def compress(
    net: Net,
    *,
    tolerance: float = 0.01,
    particles: Iterable[int] | None = None,
    x: PyTree[Array] | None = None,
    match: Literal["weights", "outputs"] = "weights",
    starts: int = 3,
    iterations: int = 500,
    key: PRNGKeyArray | None = None,
) -> Compression:
    """The smallest ensemble of particles whose θ(t) is that of a given network.

    Constant weights get frozen particles ([`shootax.FrozenParticles`][]), others moving ones
    ([`shootax.Particles`][]). A path of
    weights that changes freely from layer to layer need not be near any path that particles can
    follow, as theirs is a solution of Hamilton's equations; the error then stays large however many
    there are, and the curve shows it.

    **Arguments:**

    - `net`: a net with free weights ([`shootax.Static`][], [`shootax.Piecewise`][]), baked, or of any
        other control, whose field is linear in θ. Lift and readout are kept.
    - `tolerance`: the relative error that is small enough.
    - `particles`: the numbers to try. By default they grow from the smallest that could reach the
        tolerance until one does, and then the gap is halved; never past as many parameters as the
        network has.
    - `x`: a batch of inputs, for `match="outputs"`.
    - `match`: what is to agree: the weights at every stage, or the outputs for `x`, relative to
        their spread.
    - `starts`: how many starts to try for each number. All but one are random.
    - `iterations`: of L-BFGS for each start.
    - `key`: a JAX random key for the starts.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.Affine(dim=2, activation="tanh")
        net = sx.Net(field, sx.Static(field, key=jax.random.key(0)), key=jax.random.key(1))
        found = sx.compress(net, particles=(1, 2), starts=1, iterations=50)
        for point in found.curve:
            print(point.particles, point.error, point.bound)
        ```
    """
    checks.instance(net, Net, "net", "compress(net) with one Net")
    problem = _problem(net, x, checks.one_of(match, ("weights", "outputs"), "match"))
    tolerance = checks.positive_number(tolerance, "tolerance")
    search = _Search(
        net,
        problem,
        checks.positive_integer(starts, "starts"),
        checks.positive_integer(iterations, "iterations"),
        jax.random.key(0) if key is None else checks.random_key(key),
    )
    if particles is not None:
        numbers = checks.sequence(particles, "particles", "particles=(1, 2, 4)")
        if not numbers:
            raise ValueError("particles must have at least one number to try, got none.")
        for number in sorted({checks.positive_integer(n, "particles") for n in numbers}):
            search.at(number)
    else:
        search.automatic(tolerance)
    return search.result(tolerance)


def _problem(net: Net, x: Any, match: str) -> Match:
    assert_linear(net.field)
    own = net.integrator if isinstance(net.integrator, AbstractFixedStep) else RK4(steps=20)
    if isinstance(net.control, Stagewise):
        theta = net.control.theta
    else:
        theta = bake(net, integrator=own).control.theta
    penalty: Any = net.control.penalty
    if not isinstance(penalty, Quadratic):
        penalty = net.field.default_penalty()
    first = jax.tree.map(lambda leaf: leaf[:1, :1], theta)
    same = jax.tree.map(lambda a, b: bool(np.all(np.asarray(a) == np.asarray(b))), theta, first)
    data = None
    if match == "outputs":
        if x is None:
            raise ValueError("Matching outputs needs inputs: give x, a batch of them.")
        data = (net.lifted(x), net(x))
    still = all(jax.tree.leaves(same))
    return Match(net.field, penalty, theta, own, net.control.T, still, data, net.readout)


class _Search:
    """Tries numbers of particles, each time from the best ensemble found so far and from others."""

    def __init__(self, net: Net, match: Match, starts: int, iterations: int, key: PRNGKeyArray):
        self.net, self.match, self.starts = net, match, starts
        self.iterations, self.key = iterations, key
        self.found: dict[int, tuple[float, Ensemble]] = {}

    def at(self, particles: int) -> float:
        """The error with so many particles."""
        if particles in self.found:
            return self.found[particles][0]
        keys = jax.random.split(jax.random.fold_in(self.key, particles), self.starts)
        ensembles = [self.match.draw(particles, key) for key in keys]
        fewer = [number for number in self.found if number < particles]
        if fewer:
            ensembles[0] = _grown(self.found[max(fewer)][1], ensembles[0])
        tried = [fitted(self.match, ensemble, self.iterations) for ensemble in ensembles]
        errors = [float(error) if np.isfinite(float(error)) else np.inf for _, error in tried]
        best = int(np.argmin(errors))
        self.found[particles] = (float(np.sqrt(max(errors[best], 0.0))), tried[best][0])
        return self.found[particles][0]

    def bound(self, particles: int) -> float:
        match = self.match
        theta = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), match.theta)
        return least_error(
            match.field, match.penalty, theta, match.quadrature_weights().ravel(), particles
        )

    def automatic(self, tolerance: float) -> None:
        most = max(1, self._original_control() // (2 * size(self.match.field.state)))
        outputs = self.match.data is not None
        possible = [n for n in range(1, most + 1) if outputs or self.bound(n) <= tolerance]
        number = possible[0] if possible else most
        tried = [number]
        while self.at(number) > tolerance and number < most:
            number = min(most, max(number + 1, (3 * number) // 2))
            tried.append(number)
        low = tried[-2] if len(tried) > 1 else number
        while self.at(number) <= tolerance and number - low > 1:
            middle = (number + low) // 2
            low, number = (low, middle) if self.at(middle) <= tolerance else (middle, number)

    def result(self, tolerance: float) -> Compression:
        curve = tuple(
            Point(number, error, self.bound(number), self._parameters(number))
            for number, (error, _) in sorted(self.found.items())
        )
        good = [point.particles for point in curve if point.error <= tolerance]
        chosen = good[0] if good else min(curve, key=lambda point: point.error).particles
        control = self.match.control(self.found[chosen][1])
        integrator = self.match.integrator if isinstance(self.net.control, Stagewise) else None
        made = eqx.tree_at(
            lambda n: (n.control, n.integrator),
            self.net,
            (control, integrator or self.net.integrator),
        )
        return Compression(made, curve, tolerance, bool(good), count(self.net))

    def _original_control(self) -> int:
        return count(self.net.control)

    def _parameters(self, particles: int) -> int:
        rest = count(self.net) - self._original_control()
        return rest + 2 * particles * size(self.match.field.state)


def _grown(small: Ensemble, drawn: Ensemble) -> Ensemble:
    """The particles of a smaller ensemble, and as many of the drawn ones as are missing, at rest."""
    have = small.particles

    def join(old: Array, new: Array, scale: float) -> Array:
        return jnp.concatenate([old, (scale * new[have:]).astype(old.dtype)])

    q = jax.tree.map(lambda a, b: join(a, b, 1.0), small.q, drawn.q)
    return Ensemble(q, jax.tree.map(lambda a, b: join(a, b, 0.01), small.p, drawn.p))
