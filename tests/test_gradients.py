"""Training gradients against finite differences: fields × controls × integrators × modes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx

STEPS, T = 8, 1.3
FIELDS = {
    "updown": lambda: sx.UpDown(dim=2, inflation=2, activation="tanh"),
    "no-theta3": lambda: sx.UpDown(dim=2, inflation=1, activation="softplus", theta3=False),
    "affine": lambda: sx.Affine(dim=2, activation="tanh"),
}
CONTROLS = {
    "particles": lambda f, k: sx.Particles.draw(f, 3, momentum=0.3, T=T, key=k),
    "particles-kernel": lambda f, k: sx.Particles.draw(
        f, 3, momentum=0.3, T=T, form="kernel", key=k
    ),
    "particles-automatic": lambda f, k: sx.Particles.draw(
        f, 3, momentum=0.3, T=T, form="automatic", key=k
    ),
    "frozen": lambda f, k: sx.FrozenParticles.draw(f, 3, momentum=0.3, T=T, key=k),
    "static": lambda f, k: sx.Static(f, T=T, key=k),
    "piecewise": lambda f, k: sx.Piecewise(f, 2, T=T, key=k),
    "legendre": lambda f, k: sx.Basis(f, "legendre", 3, T=T, key=k),
    "given": lambda f, k: sx.FunctionControl(f, Growing(sx.Static(f, key=k).theta), T=T),
}
INTEGRATORS = {
    "euler": lambda g: sx.Euler(STEPS, g),
    "heun": lambda g: sx.Heun(STEPS, g),
    "rk4": lambda g: sx.RK4(STEPS, g),
    "midpoint": lambda g: sx.ImplicitMidpoint(STEPS, g),
    "symplectic": lambda g: sx.SymplecticEuler(STEPS, g),
    "dopri5": lambda g: sx.Dopri5(1e-10, 1e-12, g, 512),
    "tsit5": lambda g: sx.Tsit5(1e-10, 1e-12, g, 512),
}
MODES = {"direct": sx.Direct, "checkpointed": sx.Checkpointed, "reversed": sx.Reversed}


class Growing(eqx.Module):
    """A user's function of time with parameters of its own."""

    theta: dict

    def __call__(self, t):
        return jax.tree.map(lambda leaf: leaf * (1 + t), self.theta)


def check(field_name, control_name, integrator_name, mode_name):
    keys = jax.random.split(jax.random.key(0), 4)
    field = FIELDS[field_name]()
    control = CONTROLS[control_name](field, keys[0])
    integrator = INTEGRATORS[integrator_name](MODES[mode_name]())
    net = sx.Net(field, control, integrator=integrator, key=keys[1])
    x = jax.random.normal(keys[2], (3, 2))
    parameters, static = eqx.partition(net, eqx.is_inexact_array)

    @jax.jit
    @jax.value_and_grad
    def loss(parameters):
        net = eqx.combine(parameters, static)
        return jnp.mean((net(x, np.array([0.65, T])) - 0.3) ** 2) + 0.1 * sx.penalty(net)

    leaves, tree = jax.tree.flatten(parameters)
    rng = np.random.default_rng(1)
    direction = jax.tree.unflatten(tree, [jnp.array(rng.normal(size=v.shape)) for v in leaves])
    _, gradient = loss(parameters)
    for leaf in jax.tree.leaves(gradient):
        assert np.all(np.isfinite(leaf)), "every parameter gets a finite gradient"
        assert np.any(leaf != 0), "every parameter gets a gradient"
    analytic = sum(
        jnp.vdot(g, d)
        for g, d in zip(jax.tree.leaves(gradient), jax.tree.leaves(direction), strict=True)
    )
    eps = 1e-5
    ends = [
        loss(jax.tree.map(lambda v, d, s=s: v + s * eps * d, parameters, direction))[0]
        for s in (-1, 1)
    ]
    numeric = (ends[1] - ends[0]) / (2 * eps)
    np.testing.assert_allclose(analytic, numeric, rtol=2e-6, atol=1e-8)


def _chosen():
    """A cover for every run: Heun, symplectic Euler and all modes of RK4 for particles; the other
    controls, and another field, with RK4; `slow` has the whole product."""
    everything = [
        (f, c, i, m) for f in FIELDS for c in CONTROLS for i in INTEGRATORS for m in MODES
    ]
    for case in everything:
        f, c, i, m = case
        plain = c not in ("particles-kernel", "particles-automatic", "frozen", "given")
        direct = plain and m == "direct" and i == "rk4"
        fixed = i in ("heun", "symplectic")
        moving = c == "particles" and ((fixed and m == "direct") or i == "rk4")
        usual = f == "updown" and (moving or direct)
        usual = usual or (f == "affine" and i == "rk4" and m == "direct" and c == "particles")
        yield pytest.param(*case, id="-".join(case), marks=() if usual else pytest.mark.slow)


@pytest.mark.parametrize(("field", "control", "integrator", "mode"), list(_chosen()))
def test_gradient_equals_finite_differences(field, control, integrator, mode):
    check(field, control, integrator, mode)
