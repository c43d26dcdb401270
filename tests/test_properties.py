"""One list of properties for every field × control × integrator."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from shootax._integrators import AbstractFixedStep
from test_gradients import CONTROLS, FIELDS, INTEGRATORS, Growing

X = np.random.default_rng(0).normal(size=(4, 2))


def make(field_name, control_name, integrator_name, key):
    field = FIELDS[field_name]()
    first, second = jax.random.split(key)
    control = CONTROLS[control_name](field, first)
    integrator = INTEGRATORS[integrator_name](sx.Direct())
    return sx.Net(field, control, integrator=integrator, key=second)


def _cases():
    """Four controls with Heun and two integrators with particles; `slow` has the whole product."""
    plain = ("frozen", "static", "piecewise", "given")
    for f in FIELDS:
        for c in CONTROLS:
            for i in INTEGRATORS:
                moving = c == "particles" and i in ("rk4", "midpoint")
                usual = f == "updown" and ((i == "heun" and c in plain) or moving)
                marks = () if usual else pytest.mark.slow
                yield pytest.param(f, c, i, id=f"{f}-{c}-{i}", marks=marks)


@pytest.mark.parametrize(("field", "control", "integrator"), list(_cases()))
def test_properties(field, control, integrator, tmp_path):
    keys = jax.random.split(jax.random.key(3), 2)
    net = make(field, control, integrator, keys[0])
    y = net(X)
    assert y.shape == (4, 2)
    assert y.dtype == jnp.float64
    assert np.all(np.isfinite(y))

    # A compiled call, and a round trip through the leaves, change nothing.
    np.testing.assert_allclose(eqx.filter_jit(net)(jnp.asarray(X)), y, rtol=1e-12, atol=1e-12)
    leaves, tree = jax.tree.flatten(net)
    assert eqx.tree_equal(jax.tree.unflatten(tree, leaves), net)

    # Two seeds at once are the two seeds one by one.
    nets = eqx.filter_vmap(lambda key: make(field, control, integrator, key))(keys)
    both = eqx.filter_vmap(lambda net: net(jnp.asarray(X)))(nets)
    np.testing.assert_allclose(both[0], y, rtol=1e-9, atol=1e-9)
    assert np.abs(both[0] - both[1]).max() > 1e-6

    # A file gives back the same bits.
    sx.save(tmp_path / "net.safetensors", net)
    again = sx.load(tmp_path / "net.safetensors", known=[Growing])
    assert eqx.tree_equal(again, net)
    assert np.array_equal(again(X), y)

    # A plain network without particles gives the same output.
    if isinstance(net.integrator, AbstractFixedStep):
        np.testing.assert_allclose(sx.bake(net)(X), y, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(sx.predict(net, X, batch_size=3), y, rtol=1e-12, atol=1e-12)

    # Single precision stays single, and close, with tolerances that it can reach.
    small = jax.tree.map(
        lambda leaf: leaf.astype(jnp.float32) if eqx.is_inexact_array(leaf) else leaf, net
    )
    if not isinstance(net.integrator, AbstractFixedStep):
        small = eqx.tree_at(lambda n: n.integrator, small, type(net.integrator)())
    rough = small(jnp.asarray(X, jnp.float32))
    assert rough.dtype == jnp.float32
    np.testing.assert_allclose(rough, y, rtol=1e-3, atol=1e-3)
