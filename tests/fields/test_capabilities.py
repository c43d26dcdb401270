"""What the library asks a field, and the answers of plain and of structured fields."""

import pathlib
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from shootax.export._trace import trace

KEY = jax.random.key(0)
SOURCE = pathlib.Path(sx.__file__).parent


class Plain(sx.AbstractField):
    """Three declarations, and nothing else."""

    state = sx.shape(2)
    theta = {"turn": sx.shape(), "theta3": sx.shape(2)}  # noqa: RUF012

    def __call__(self, z, theta):
        return theta["turn"] * jnp.stack([-z[1], z[0]]) + theta["theta3"]


def test_nobody_but_the_fields_recognises_a_field_by_its_class():
    """Except where theorems and pictures are about one kind of field."""
    kinds = re.compile(r"isinstance\([^\n]*\b(\w+Field|RKHS|SingleHiddenLayer|Conv\w+)\b")
    found = [
        f"{path.relative_to(SOURCE)}: {line.strip()}"
        for path in SOURCE.rglob("*.py")
        if path.parent.name not in ("_fields", "report", "theory")
        for line in path.read_text().splitlines()
        if kinds.search(line) and "AbstractField," not in line
    ]
    assert found == []


def test_a_plain_field_has_no_structure():
    field = Plain()
    assert (field.visible_size, field.hidden_size, field.free_axes) == (None, 0, 0)
    assert field.visible_state == field.state
    assert field.as_blocks() is None
    assert field.as_hidden_layer() is None
    assert field.has_theta
    assert field.default_penalty() == sx.Quadratic()  # a name has no meaning in a field of your own
    assert isinstance(field.default_maximiser(sx.Quadratic()), sx.maximisers.ClosedForm)


@pytest.mark.parametrize(
    ("field", "visible", "hidden", "axes"),
    [
        (sx.UpDown(2, 3), 2, 6, 0),
        (sx.ConvUpDown(1, (4, 4), 2), 1, 2, 2),
        (sx.ConvGrouped(4, (5,)), 4, 0, 1),
        (sx.SingleHiddenLayer(2, 3), None, 0, 0),
        (sx.RKHS(2), None, 0, 0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_sizes_of_structured_fields(field, visible, hidden, axes):
    assert (field.visible_size, field.hidden_size, field.free_axes) == (visible, hidden, axes)


@pytest.mark.parametrize("field", [Plain(), sx.UpDown(2, 3), sx.ConvAffine(2, (3,))], ids=str)
def test_a_batch_moves_as_its_samples_do(field):
    rng = np.random.default_rng(0)
    theta = jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape)), field.theta)
    z = jnp.asarray(rng.normal(size=(4, *field.state.shape)))
    packed = field.pack(theta)
    velocity = field.unpack_states(field.batch_velocity(field.pack_states(z), packed))
    for got, want in zip(velocity, z, strict=True):
        np.testing.assert_allclose(got, field(want, theta), rtol=1e-12, atol=1e-14)
    for name, leaf in field.unpack(packed).items():
        np.testing.assert_array_equal(leaf, theta[name])


def test_state_and_theta_are_required():
    class Half(sx.AbstractField):
        state = sx.shape(2)

        def __call__(self, z, theta):
            return z

    with pytest.raises(TypeError, match="theta"):
        Half()


@pytest.mark.parametrize("lift", ["zero", "constant"])
def test_simple_lifts_fill_hidden_channels(lift):
    net = sx.Net(sx.ConvUpDown(1, (3, 3), 2), particles=2, lift=lift, key=KEY)
    states = net.lifted(np.ones((2, 1, 4, 4)))
    assert states.shape == (2, 3, 4, 4)
    np.testing.assert_array_equal(states[:, 1:], 0)


def test_the_identity_lift_takes_whole_states():
    net = sx.Net(sx.UpDown(1, 2), particles=2, lift="identity", readout="identity", key=KEY)
    assert net(np.ones((4, 3))).shape == (4, 3)
    with pytest.raises(
        ValueError, match=r"shape \(batch, 3\), as the lift passes on the whole state"
    ):
        net(np.ones((4, 1)))


def test_a_linear_lift_tells_its_inputs():
    lift = sx.nn.LinearLift(5, 3, key=KEY)
    net = sx.Net(sx.UpDown(1, 2), particles=2, lift=lift, key=KEY)
    assert trace(net).spec.shape[1:] == (5,)
