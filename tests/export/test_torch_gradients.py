"""The exported PyTorch module trains: its gradients are those of the baked model."""

import importlib.util
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import KEY, Pendulum, cast
from shootax.export import write
from shootax.export._trace import name_of

torch = pytest.importorskip("torch")

CASES = {
    "updown": (lambda: sx.UpDown(2, 3), "dynamic-particles", ()),
    "softplus": (lambda: sx.UpDown(2, 2, activation="softplus"), "static-direct", pytest.mark.slow),
    "gelu": (lambda: sx.Affine(3, activation="gelu"), "dynamic-direct", pytest.mark.slow),
    "conv": (lambda: sx.ConvUpDown(1, (3, 3), 2), "static-direct", pytest.mark.slow),
    "hidden": (lambda: sx.SingleHiddenLayer(2, 3), "dynamic-direct", pytest.mark.slow),
    "tree": (Pendulum, "static-particles", pytest.mark.slow),
}


@pytest.mark.parametrize(
    "case", [pytest.param(name, marks=case[2]) for name, case in CASES.items()]
)
def test_gradients_of_one_step_are_ours(case, tmp_path):
    make, formulation, _ = CASES[case]
    field = make()
    control = sx.formulation(formulation, field, particles=3, key=KEY)
    readout = 2 if isinstance(field, sx.extend.AbstractBlockField) else None
    net = sx.Net(field, control, integrator=sx.RK4(steps=2), readout=readout, key=KEY)
    baked = sx.bake(cast(net, jnp.float32))
    (path, weights) = write(baked, tmp_path / f"module_{case}.py", to="torch")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert path.stem not in sys.modules
    model = module.load(weights)

    rng = np.random.default_rng(0)
    shapes = jax.tree.map(lambda leaf: leaf.shape, field.state)
    if isinstance(field, sx.extend.AbstractBlockField):
        shapes = (field.dim,)
    if isinstance(field, sx.extend.AbstractConvField):
        shapes = (field.dim, *field.size)
    x = jax.tree.map(
        lambda shape: rng.normal(size=(20, *shape)).astype(np.float32),
        shapes,
        is_leaf=lambda leaf: isinstance(leaf, tuple),
    )
    y = [rng.normal(size=leaf.shape).astype(np.float32) for leaf in jax.tree.leaves(baked(x))]

    def loss(model):
        outs = jax.tree.leaves(model(x))
        return sum(jnp.mean((a - b) ** 2) for a, b in zip(outs, y, strict=True))

    ours = eqx.filter_grad(loss)(baked)
    named = {name_of(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(ours)}

    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    outs = model(*(torch.tensor(leaf) for leaf in jax.tree.leaves(x)))
    outs = outs if isinstance(outs, tuple) else (outs,)
    sum(((a - torch.tensor(b)) ** 2).mean() for a, b in zip(outs, y, strict=True)).backward()
    optimiser.step()

    assert set(before) == set(named)
    largest = max(float(jnp.max(jnp.abs(leaf))) for leaf in named.values())
    for name, parameter in model.named_parameters():
        gradient = np.asarray(named[name])
        np.testing.assert_allclose(
            parameter.grad.numpy(), gradient, rtol=1e-4, atol=1e-4 * largest, err_msg=name
        )
        moved = before[name].numpy() - 0.1 * gradient
        np.testing.assert_allclose(
            parameter.detach().numpy(), moved, rtol=1e-4, atol=1e-5 * largest
        )
