"""The particles that generate the weights, and where they start."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from shootax import _checks as checks
from shootax._arrays import as_arrays
from shootax._compile import one_off
from shootax._fields import AbstractField


class AbstractPosition(eqx.Module):
    """A way to draw the initial positions of particles.

    !!! example

        ```python
        import jax
        import shootax as sx

        class Origin(sx.extend.AbstractPosition):
            def __call__(self, field, particles, key):
                return jax.numpy.zeros((particles, *field.state.shape))

        ensemble = sx.Ensemble.draw(sx.Affine(dim=2), 3, position=Origin(), key=jax.random.key(0))
        ```
    """

    @abc.abstractmethod
    def __call__(self, field: AbstractField, particles: int, key: PRNGKeyArray) -> PyTree[Array]:
        """Positions of `particles` particles in the state space of `field`."""


class Uniform(AbstractPosition):
    """Visible positions uniform in the box $[low, high]^d$, hidden ones $N(0, hidden^2)$.

    **Arguments:**

    - `low`, `high`: the sides of the box.
    - `hidden`: the standard deviation of the hidden positions.

    !!! example

        ```python
        import jax
        import shootax as sx

        field, key = sx.UpDown(dim=2, inflation=4), jax.random.key(0)
        control = sx.Particles.draw(field, 5, position=sx.Uniform(-2.0, 2.0), key=key)
        ```
    """

    low: float = eqx.field(static=True, default=-1.5)
    high: float = eqx.field(static=True, default=1.5)
    hidden: float = eqx.field(static=True, default=0.5)

    def __check_init__(self):
        for name in ("low", "high"):
            checks.finite_number(getattr(self, name), name)
        if not self.low < self.high:
            raise ValueError(f"Uniform needs low < high, got low={self.low}, high={self.high}.")
        checks.non_negative_number(self.hidden, "hidden")

    def __call__(self, field: AbstractField, particles: int, key: PRNGKeyArray) -> PyTree[Array]:
        def draw(key: PRNGKeyArray, shape: tuple[int, ...]) -> Array:
            return jax.random.uniform(key, shape, minval=self.low, maxval=self.high)

        return _draw_state(field, particles, draw, self.hidden, key)


class Gaussian(AbstractPosition):
    """Visible positions $N(0, std^2)$, hidden ones $N(0, hidden^2)$.

    **Arguments:**

    - `std`, `hidden`: the standard deviations of the visible and of the hidden positions.

    !!! example

        ```python
        import jax
        import shootax as sx

        field, key = sx.UpDown(dim=2, inflation=4), jax.random.key(0)
        control = sx.Particles.draw(field, 5, position=sx.Gaussian(std=0.5), key=key)
        ```
    """

    std: float = eqx.field(static=True, default=1.0)
    hidden: float = eqx.field(static=True, default=0.5)

    def __check_init__(self):
        checks.non_negative_number(self.std, "std")
        checks.non_negative_number(self.hidden, "hidden")

    def __call__(self, field: AbstractField, particles: int, key: PRNGKeyArray) -> PyTree[Array]:
        def draw(key: PRNGKeyArray, shape: tuple[int, ...]) -> Array:
            return self.std * jax.random.normal(key, shape)

        return _draw_state(field, particles, draw, self.hidden, key)


class FromData(AbstractPosition):
    """Visible positions at random samples of the data, without repetition if there are enough;
    hidden ones $N(0, hidden^2)$.

    !!! example

        ```python
        import jax
        import shootax as sx

        field, key = sx.UpDown(dim=2, inflation=4), jax.random.key(0)
        control = sx.Particles.draw(field, 5, position=sx.FromData(jax.numpy.ones((100, 2))), key=key)
        ```
    """

    x: Float[Array, "samples dim"]
    hidden: float = eqx.field(static=True)

    def __init__(self, x: Array, hidden: float = 0.5):
        """**Arguments:**

        - `x`: the data, with samples along the leading axis.
        - `hidden`: the standard deviation of the hidden positions.
        """
        checks.finite(x, "x")
        self.x = jnp.asarray(x, jnp.result_type(float))
        if self.x.ndim < 2 or self.x.shape[0] == 0:
            raise ValueError(
                f"FromData needs data of shape (samples, dim), got shape {self.x.shape}."
            )
        self.hidden = checks.non_negative_number(hidden, "hidden")

    def __call__(self, field: AbstractField, particles: int, key: PRNGKeyArray) -> PyTree[Array]:
        samples = self.x.shape[0]

        def draw(key: PRNGKeyArray, shape: tuple[int, ...]) -> Array:
            if self.x.shape[1:] != shape[1:]:
                raise ValueError(
                    f"FromData has samples of shape {self.x.shape[1:]}, but the visible state of the "
                    f"field has shape {shape[1:]}. Give data of that shape."
                )
            replace = particles > samples
            return self.x[jax.random.choice(key, samples, (particles,), replace=replace)]

        return _draw_state(field, particles, draw, self.hidden, key)


def _draw_state(field, particles, draw, hidden, key) -> PyTree[Array]:
    """Draw every array of the state; a hidden part is Gaussian."""
    key_visible, key_hidden = jax.random.split(key)
    if field.visible_size is not None:
        space = field.state.shape[1:]
        visible = draw(key_visible, (particles, field.visible_size, *space))
        rest = hidden * jax.random.normal(key_hidden, (particles, field.hidden_size, *space))
        return jnp.concatenate([visible, rest], axis=1)
    leaves, tree = jax.tree.flatten(field.state)
    keys = jax.random.split(key_visible, len(leaves))
    drawn = [draw(k, (particles, *leaf.shape)) for k, leaf in zip(keys, leaves, strict=True)]
    return jax.tree.unflatten(tree, drawn)


class Ensemble(eqx.Module):
    """$K$ particles: positions `q` and momenta `p`, each $K$ states of the field.

    **Arguments:**

    - `q`, `p`: arrays, or pytrees of them, with the particles along the leading axis. To draw them at
        random use [`shootax.Ensemble.draw`][].

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.UpDown(dim=1, inflation=16)
        ensemble = sx.Ensemble.draw(field, 15, momentum=0.1, key=jax.random.key(0))
        print(ensemble.q.shape)  # (15, 17)
        ```
    """

    q: PyTree[Array]
    p: PyTree[Array]

    def __check_init__(self):
        for name, part in (("q", self.q), ("p", self.p)):
            leaves = jax.tree.leaves(part)
            if not leaves or any(getattr(leaf, "ndim", 0) == 0 for leaf in leaves):
                raise ValueError(
                    f"{name} must hold arrays with the particles along their leading axis, got "
                    f"{checks.shown(part)}. Draw particles with Ensemble.draw(field, 15, key=key)."
                )
        shapes = [jax.tree.map(jnp.shape, part) for part in (self.q, self.p)]
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"Positions and momenta must have the same shapes, got q: {shapes[0]} and "
                f"p: {shapes[1]}."
            )

    @classmethod
    def draw(
        cls,
        field: AbstractField,
        particles: int,
        *,
        position: AbstractPosition = Uniform(),
        momentum: float | None = None,
        key: PRNGKeyArray,
    ) -> "Ensemble":
        """Draw particles at random.

        **Arguments:**

        - `field`: the field whose states the particles are.
        - `particles`: their number $K$.
        - `position`: [`shootax.Uniform`][], [`shootax.Gaussian`][] or [`shootax.FromData`][].
        - `momentum`: standard deviation of the initial momenta. By default 0.1; for a convolutional
            field 0.1 divided by the square root of the number of pixels, because θ* is a sum over them;
            for [`shootax.UpDown`][] $2/\\sqrt{Kd}$, smaller if there are more than 16 hidden entries,
            and at most 0.3.
        - `key`: a JAX random key.
        """
        checks.instance(field, AbstractField, "field", "Ensemble.draw(UpDown(dim=2), 15, key=key)")
        particles = checks.positive_integer(particles, "particles")
        key = checks.random_key(key)
        checks.instance(
            position,
            AbstractPosition,
            "position",
            "position=Uniform(), Gaussian() or FromData(x)",
        )
        momentum = field.default_momentum(particles) if momentum is None else momentum
        scale = checks.non_negative_number(momentum, "momentum")
        return cls(*_drawn(field, particles, position, scale, key))

    @classmethod
    def on(cls, states: PyTree[Array], *, momentum: float = 0.1, key: PRNGKeyArray) -> "Ensemble":
        """Place one particle on each of the given states.

        With the lifted training data as states, and positions that are not trained, this is the
        paper's un-approximated shooting, $K = n$.

        **Arguments:**

        - `states`: an array, or a pytree of them, with states along the leading axis.
        - `momentum`: standard deviation of the initial momenta.
        - `key`: a JAX random key.
        """
        scale = checks.non_negative_number(momentum, "momentum")
        key = checks.random_key(key)
        states = as_arrays(states)
        leaves = jax.tree.leaves(states)
        for leaf in leaves:
            checks.real_numbers(leaf, "states")
        if not leaves or leaves[0].shape[:1] in ((), (0,)):
            raise ValueError("An ensemble needs at least one particle, got no states.")
        return cls(states, _momenta(states, scale, key))

    @property
    def particles(self) -> int:
        """The number $K$ of particles."""
        return jax.tree.leaves(self.q)[0].shape[0]


# One compiled program instead of one for each operation: drawing a net is mostly compiling.
@one_off
def _drawn(
    field: AbstractField,
    particles: int,
    position: AbstractPosition,
    scale: float,
    key: PRNGKeyArray,
) -> tuple[PyTree[Array], PyTree[Array]]:
    key_position, key_momentum = jax.random.split(key)
    states = position(field, particles, key_position)
    return states, _momenta(states, scale, key_momentum)


@one_off
def _momenta(states: PyTree[Array], scale: float, key: PRNGKeyArray) -> PyTree[Array]:
    leaves, tree = jax.tree.flatten(states)
    keys = jax.random.split(key, len(leaves))
    draws = [
        scale * jax.random.normal(k, leaf.shape, leaf.dtype)
        for k, leaf in zip(keys, leaves, strict=True)
    ]
    return jax.tree.unflatten(tree, draws)
