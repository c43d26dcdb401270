"""Solve one inner problem and check its convergence."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from shootax import _checks as checks
from shootax._arrays import as_arrays
from shootax._errors import NotConvergedError, UnboundedError
from shootax._fields import AbstractField
from shootax._hamiltonian import hamiltonian
from shootax._maximisers.base import AbstractIterative, AbstractMaximiser, Maximum
from shootax._maximisers.choice import checked_maximiser
from shootax._penalties import AbstractParticlePenalty, AbstractPenalty, Penalty


def maximise(
    field: AbstractField,
    penalty: Penalty,
    q: PyTree[Array],
    p: PyTree[Array],
    *,
    maximiser: AbstractMaximiser | None = None,
    throw: bool = True,
) -> Maximum:
    """Solve $\\max_θ H(q, p, θ)$ once, and report whether that succeeded.

    **Arguments:**

    - `field`, `penalty`: the field and the penalty that define H.
    - `q`, `p`: positions and momenta of the particles.
    - `maximiser`: by default the one that [`shootax.Particles`][] would use.
    - `throw`: whether to raise an error, with advice, if H is unbounded or the solve did not
        converge. Otherwise check `converged` and `unbounded` of the result.

    Unless H is concave in θ, the maximum is a local one. [`shootax.maximisers.PerNeuron`][] can try
    several starts. Then `start` of the result says which one was chosen, and `maxima` how many
    different maxima were found.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.SingleHiddenLayer(dim=2, width=4)
        ensemble = sx.Ensemble.draw(field, 5, momentum=1.0, key=jax.random.key(0))
        found = sx.maximisers.maximise(field, sx.Quadratic(), ensemble.q, ensemble.p)
        print(bool(found.converged))  # True
        ```
    """
    checks.instance(field, AbstractField, "field", "maximise(field, Quadratic(), q, p)")
    kinds = AbstractPenalty | AbstractParticlePenalty
    checks.instance(penalty, kinds, "penalty", "maximise(field, Quadratic(), q, p)")
    field.check_penalty(penalty)
    q, p = _states(field, q, "q"), _states(field, p, "p")
    checks.boolean(throw, "throw")
    maximiser = checked_maximiser(field, penalty, maximiser)
    found = _maximise(field, penalty, q, p, maximiser)
    if throw and checks.is_concrete(found.converged):
        check_maximum(field, found)
    return found


def _states(field: AbstractField, states: PyTree[Array], name: str) -> PyTree[Array]:
    states = as_arrays(states)
    for leaf in jax.tree.leaves(states):
        checks.real_numbers(leaf, name)
    got = jax.tree.map(lambda leaf: leaf.shape[1:], states)
    expected = jax.tree.map(lambda leaf: leaf.shape, field.state)
    if got != expected or any(leaf.ndim == 0 for leaf in jax.tree.leaves(states)):
        raise ValueError(
            f"{name} must be states of the field, of shape (particles, ...) with {expected} for each; "
            f"got {jax.tree.map(lambda leaf: leaf.shape, states)}."
        )
    return states


@eqx.filter_jit
def _maximise(field, penalty, q, p, maximiser) -> Maximum:
    if not isinstance(maximiser, AbstractIterative):
        return maximiser(field, penalty, q, p, None)
    guess, start, maxima = maximiser.survey(field, penalty, q, p)
    found = maximiser(field, penalty, q, p, guess)
    unbounded = grows(field, penalty, q, p, guess)
    return found._replace(unbounded=unbounded, start=start, maxima=maxima)


def grows(
    field: AbstractField, penalty: Penalty, q: PyTree[Array], p: PyTree[Array], theta: PyTree[Array]
) -> Array:
    """Whether H keeps growing along the ray through θ, or is not finite already."""

    def energy(scale: float) -> Array:
        return hamiltonian(field, penalty, q, p, jax.tree.map(lambda leaf: scale * leaf, theta))

    near, far, further = energy(1.0), energy(1e2), energy(1e3)
    return ((further > far) & (far > near)) | ~jnp.isfinite(near)


def check_maximum(field: AbstractField, found: Maximum) -> None:
    """Raise if the inner problem has no maximum, or none was found."""
    name = type(field).__name__
    if bool(found.unbounded):
        raise UnboundedError(
            f"The Hamiltonian of {name} is unbounded above in θ at these momenta, so there are no "
            "optimal weights. This happens where the penalty does not outgrow the field, as with "
            "ReLU in a single hidden layer and a quadratic penalty. Use a bounded activation "
            "(tanh), the Barron penalty, a larger penalty, or smaller momenta."
        )
    if not bool(found.converged):
        raise NotConvergedError(
            f"The inner maximisation for θ of {name} did not converge: after "
            f"{int(found.iterations)} iterations the relative gradient of H is "
            f"{float(found.residual):.2g}. Allow more iterations (or, for Unrolled, a smaller "
            "rate), loosen the tolerance, compute in float64, or use Newton()."
        )
