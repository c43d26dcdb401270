"""The right-hand side $f(z, θ)$ of a continuous-depth network.

Fields are the lowest layer of the library: penalties are written in terms of fields, maximisers in terms
of both. Only the methods that choose a default penalty or maximiser use higher layers, which they import
late.
"""

import abc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from shootax import _checks as checks
from shootax._activations import Activation

if TYPE_CHECKING:
    from shootax._fields.block import AbstractBlockField, Layout
    from shootax._maximisers import AbstractMaximiser
    from shootax._penalties import AbstractPenalty, Penalty

Linearity = Literal["linear", "affine", "nonlinear"]


def shape(*size: int) -> jax.ShapeDtypeStruct:
    """The shape of one array of a state or of θ.

    **Arguments:** the sizes of its axes: none for a number, `shape(3)` for a vector, `shape(2, 3)` for
    a matrix.

    !!! example

        ```python
        import shootax as sx

        print(sx.shape(2, 3).shape)  # (2, 3)
        ```
    """
    size = tuple(checks.non_negative_integer(n, "The size of an axis") for n in size)
    return jax.ShapeDtypeStruct(size, jnp.float32)


class HiddenLayer(NamedTuple):
    """The structure of a field $θ_1 σ(θ_2 x + b_2) + b_1$ that treats its neurons one by one."""

    dim: int
    width: int
    activation: Activation
    bias: bool


class AbstractField(eqx.Module):
    """A vector field $\\dot z = f(z, θ)$, the right-hand side of Eq. EqFlow.

    Your own field needs three things: the shapes of one `state` and of `theta`, as pytrees of
    [`shootax.shape`][] (class attributes or properties), and `__call__`, which is `f` for *one* state.
    The shooting equations follow from these by differentiation.

    Every other method and property has a default that is right for any field. Override one if the
    structure of your field allows a better answer, as [`shootax.extend.AbstractBlockField`][] and
    [`shootax.extend.AbstractConvField`][] do.

    !!! example

        ```python
        import jax.numpy as jnp
        import shootax as sx

        class Rotor(sx.AbstractField):
            state = sx.shape(2)
            theta = {"speed": sx.shape(), "push": sx.shape(2)}

            def __call__(self, z, theta):
                turned = jnp.stack([-z[1], z[0]])
                return theta["speed"] * turned + theta["push"]
        ```
    """

    # The shapes of one state and of θ. A subclass gives them as class attributes, as properties or
    # as fields; a type checker that sees no declaration here accepts all three.
    if TYPE_CHECKING:
        state = cast(PyTree[jax.ShapeDtypeStruct], None)
        theta = cast(PyTree[jax.ShapeDtypeStruct], None)
    else:
        state: eqx.AbstractVar[PyTree[jax.ShapeDtypeStruct]]
        theta: eqx.AbstractVar[PyTree[jax.ShapeDtypeStruct]]

    @abc.abstractmethod
    def __call__(self, z: PyTree[Array], theta: PyTree[Array]) -> PyTree[Array]:
        """$f(z, θ)$ for one state."""

    # The state: what is visible, and which sizes are free.

    @property
    def visible_size(self) -> int | None:
        """The number of leading entries (channels) of the state that are visible: data enter and leave
        there, and a lift fills in the rest. `None` if the state is not divided."""
        return None

    @property
    def hidden_size(self) -> int:
        """The number of hidden entries (channels) of the state."""
        return 0 if self.visible_size is None else self.state.shape[0] - self.visible_size

    @property
    def visible_state(self) -> PyTree[jax.ShapeDtypeStruct]:
        """The shape of the visible part of one state."""
        if self.visible_size is None:
            return self.state
        return shape(self.visible_size, *self.state.shape[1:])

    @property
    def free_axes(self) -> int:
        """The number of trailing axes of the data that may differ in size from those of the particles."""
        return 0

    # Structure in θ.

    @property
    def known_linearity(self) -> Linearity | None:
        """How `f` depends on θ; if `None`, [`shootax.linearity`][] finds out."""
        return None

    @property
    def has_theta(self) -> bool:
        """Whether the field has weights θ. Without them, the particles themselves are the field."""
        return True

    @property
    def layout(self) -> "Layout | None":
        """The parts, features and blocks of a field that consists of blocks, such as a block field or a
        convolution; otherwise `None`."""
        return None

    def as_blocks(self) -> "AbstractBlockField | None":
        """The field as a block field with the same θ, or `None` if it is not one. A layout may still be
        inferred then ([`shootax.extend.infer_layout`][])."""
        return None

    def as_hidden_layer(self) -> HiddenLayer | None:
        """The structure of the field if it is a single hidden layer, otherwise `None`."""
        return None

    # Many states at once.

    def pack(self, theta: PyTree[Array]) -> PyTree[Array]:
        """θ in the layout that `batch_velocity` takes. It is packed once for many evaluations."""
        return theta

    def unpack(self, packed: PyTree[Array]) -> PyTree[Array]:
        """θ as `__call__` takes it; the inverse of `pack`."""
        return packed

    def pack_states(self, z: PyTree[Array]) -> PyTree[Array]:
        """A batch of states in the memory layout that `batch_velocity` takes and returns: a
        permutation of their entries. States are packed once for many evaluations."""
        return z

    def unpack_states(self, packed: PyTree[Array]) -> PyTree[Array]:
        """The states as `__call__` takes them; the inverse of `pack_states`."""
        return packed

    def batch_velocity(self, z: PyTree[Array], packed: PyTree[Array]) -> PyTree[Array]:
        """$f(z_i, θ)$ for a batch of states, with states and θ packed."""
        return jax.vmap(self, in_axes=(0, None))(z, packed)

    def chunk_size(self, z: PyTree[Array]) -> int:
        """How many packed states of a batch `batch_velocity` should take at a time: a divisor of their
        number. By default all of them."""
        return jax.tree.leaves(z)[0].shape[0]

    def chunked_velocity(self, z: PyTree[Array], packed: PyTree[Array]) -> PyTree[Array]:
        """`batch_velocity` in chunks of this size, for programs that do not differentiate it."""
        return self.batch_velocity(z, packed)

    def adjoint(self, q: PyTree[Array], p: PyTree[Array]) -> PyTree[Array]:
        """$Σ_j L_{q_j}^⊤ p_j$, the gradient of $Σ_j ⟨p_j, f(q_j, θ)⟩$ in θ at θ = 0.

        For a field $f(z, θ) = L_z θ$ linear in θ it determines θ* (Eq.
        EqShootingLinearParameterQuadraticPenalization). A drift, i.e. a part of the field that is
        free of θ, does not change it.
        """
        dtype = jnp.result_type(*jax.tree.leaves(q))
        origin = jax.tree.map(lambda leaf: leaf.astype(dtype), zeros(self.theta))

        def pairing(theta: PyTree[Array]) -> Array:
            velocity = jax.vmap(self, in_axes=(0, None))(q, theta)
            return jax.tree.reduce(jnp.add, jax.tree.map(lambda a, b: jnp.sum(a * b), p, velocity))

        return jax.grad(pairing)(origin)

    # Defaults and checks.

    def default_momentum(self, particles: int) -> float:
        """The default standard deviation of the initial momenta of `particles` particles."""
        return 0.1

    @property
    def default_strengths(self) -> Mapping[str, float]:
        """The entries of θ whose strength in the default penalty is not 1."""
        return {}

    def default_penalty(self) -> "AbstractPenalty":
        """The default penalty of a control: quadratic."""
        from shootax._penalties import Quadratic

        return Quadratic(self.default_strengths)

    def default_maximiser(self, penalty: "Penalty") -> "AbstractMaximiser":
        """The default maximiser of a control with this penalty."""
        from shootax._maximisers import default_maximiser

        return default_maximiser(self, penalty)

    def check_penalty(self, penalty: "Penalty") -> None:
        """Raise unless the penalty fits the weights of this field."""
        penalty.check(self.theta)

    def check_velocity(self) -> None:
        """Raise unless `f` returns a velocity of the same structure and shapes as the state."""
        dtype = jnp.result_type(float)
        z, theta = jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(leaf.shape, dtype), (self.state, self.theta)
        )
        velocity = jax.eval_shape(lambda z, theta: self(z, theta), z, theta)
        expected, got = jax.tree.flatten(self.state), jax.tree.flatten(velocity)
        shapes = [[leaf.shape for leaf in leaves] for leaves, _ in (expected, got)]
        if expected[1] == got[1] and shapes[0] == shapes[1]:
            return
        expected = jax.tree.map(lambda leaf: leaf.shape, self.state)
        returned = jax.tree.map(lambda leaf: leaf.shape, velocity)
        raise ValueError(
            f"{self.describe()} must return a velocity shaped like its state: expected {expected}, "
            f"got {returned}. f takes one state (no batch axis) and one θ; return one entry for each "
            "entry of the state, in the same containers."
        )

    def describe(self) -> str:
        """The name of the field in messages."""
        return type(self).__name__


def zeros(template: PyTree[jax.ShapeDtypeStruct], *leading: int) -> PyTree[Array]:
    """Zeros of the default precision, shaped like `template` with `leading` axes in front."""
    return jax.tree.map(lambda leaf: jnp.zeros((*leading, *leaf.shape)), template)


def size(template: PyTree[jax.ShapeDtypeStruct]) -> int:
    """The number of scalars in one state, or in one θ."""
    return sum(leaf.size for leaf in jax.tree.leaves(template))


def entry_name(path: Any) -> str:
    """The name of an entry of a tree, as in `"layer.0"`, by its path."""
    return jax.tree_util.keystr(path, simple=True, separator=".")
