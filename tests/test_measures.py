"""Parameter counts, penalty, complexity and the Hamiltonian, each against an independent truth."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import CONTROLS, KEY, cast, make_net, spd, usually
from shootax._controls.function import BASES
from shootax.paper import parameter_counts

# The two tables at the end of the paper, typed in.
REGRESSION = {
    ("particles", 2): (28, 52, 100, 196, 388, 772),
    ("particles", 5): (58, 106, 202, 394, 778, 1546),
    ("particles", 15): (158, 286, 542, 1054, 2078, 4126),
    ("particles", 25): (258, 466, 882, 1714, 3378, 6706),
    ("dynamic-direct", None): (153, 461, 1557, 5669, 21573, 84101),
    ("static-direct", None): (37, 105, 337, 1185, 4417, 17025),
}
SPIRAL = {
    ("particles", 15): (1116, 2172, 4284, 8508),
    ("particles", 25): (1796, 3492, 6884, 13668),
    ("particles", 50): (3496, 6792, 13384, 26568),
    ("static-direct", None): (1282, 4610, 17410, 67586),
    ("dynamic-direct", None): (6026, 22282, 85514, 334858),
}
TABLES = {
    "regression": (1, (4, 8, 16, 32, 64, 128), REGRESSION),
    "spiral": (2, (16, 32, 64, 128), SPIRAL),
}


def paper_entries():
    for experiment, (dim, inflations, table) in TABLES.items():
        for (formulation, particles), numbers in table.items():
            for inflation, number in zip(inflations, numbers, strict=True):
                yield experiment, dim, formulation, particles, inflation, number


def test_all_entries_of_the_paper_s_tables():
    expected = {
        (experiment, formulation, particles, inflation): number
        for experiment, _, formulation, particles, inflation, number in paper_entries()
    }
    got = {
        (row["experiment"], row["formulation"], row["particles"], row["inflation"]): row[
            "parameters"
        ]
        for row in parameter_counts()
    }
    assert len(expected) == 56
    assert got == expected


@pytest.mark.parametrize("name", usually(sx.FORMULATIONS, "dynamic-particles", "dynamic-direct"))
def test_count_of_filled_models(name):
    """Counted from arrays that exist, not from shapes."""
    field = sx.UpDown(1, 16)
    net = sx.Net(field, sx.formulation(name, field, key=KEY), key=KEY)
    kind = "particles" if name.endswith("particles") else name
    expected = {"particles": 542, "static-direct": 337, "dynamic-direct": 1557}[kind]
    assert sx.count(net) == expected
    assert sum(np.size(leaf) for leaf in jax.tree.leaves(eqx.filter(net, eqx.is_array))) == expected


def quadratic(theta, weights):
    """½ Σ ⟨θ_k, M_k θ_k⟩ in NumPy, for θ at many times."""
    total = 0.0
    for name, value in theta.items():
        value = np.asarray(value)
        weight = np.asarray(weights.get(name, 1.0))
        moved = value * weight if weight.ndim == 0 else np.einsum("ij,tj...->ti...", weight, value)
        total = total + 0.5 * (value * moved).reshape(len(value), -1).sum(1)
    return total


@pytest.mark.parametrize("control", usually(CONTROLS, "particles", "piecewise"))
def test_penalty_is_the_integral_of_R(control):
    """Against the midpoint rule along θ(t), on 2,000 points, which jumps of blocks fall between."""
    T = 0.7
    weights = {"theta1": spd(2), "b2": spd(6, seed=1), "theta3": 10.0, "theta2": 0.5}
    net = make_net(
        "updown", control, T=T, penalty=sx.Quadratic(weights), integrator=sx.RK4(steps=100)
    )
    times = (np.arange(2000) + 0.5) * T / 2000
    theta = sx.theta_path(net, times)
    expected = np.mean(quadratic(theta, weights)) * T
    np.testing.assert_allclose(sx.penalty(net), expected, rtol=1e-5)


@pytest.mark.parametrize("kind", ["legendre", "fourier"])
def test_bases_are_orthonormal(kind):
    x, w = np.polynomial.legendre.leggauss(64)
    values = np.array([BASES[kind](jnp.asarray((s + 1) / 2), 7) for s in x])
    gram = np.einsum("s,si,sj->ij", w / 2, values, values)
    np.testing.assert_allclose(gram, np.eye(7), atol=1e-12)


def test_legendre_functions_are_the_polynomials():
    s = np.linspace(0, 1, 5)
    got = np.array([BASES["legendre"](jnp.asarray(value), 6) for value in s])
    for n in range(6):
        polynomial = np.polynomial.legendre.Legendre.basis(n)(2 * s - 1) * np.sqrt(2 * n + 1)
        np.testing.assert_allclose(got[:, n], polynomial, atol=1e-13)


def test_fourier_functions_are_the_waves():
    s = np.linspace(0, 1, 5)
    got = np.array([BASES["fourier"](jnp.asarray(value), 4) for value in s])
    waves = [np.ones(5)] + [
        np.sqrt(2) * f(2 * np.pi * k * s) for k, f in ((1, np.cos), (1, np.sin), (2, np.cos))
    ]
    np.testing.assert_allclose(got, np.stack(waves, 1), atol=1e-13)


@pytest.mark.parametrize("terms", [1, 2])
def test_short_bases(terms):
    for kind in BASES:
        control = sx.Basis(sx.Affine(2), kind, terms, key=KEY)
        assert control.coefficients["A"].shape == (terms, 2, 2)
        np.testing.assert_allclose(control(0.3)["A"], control.coefficients["A"][0])


@pytest.mark.parametrize("kind", ["legendre", "fourier"])
def test_penalty_of_a_basis_is_exact(kind):
    """Against Gauss-Legendre on 64 points, which is exact for these, with T = 3."""
    control = CONTROLS[kind](sx.Affine(2), T=3.0)
    x, w = np.polynomial.legendre.leggauss(64)
    rates = [float(control.penalty(control(1.5 * (s + 1)))) for s in x]
    exact = 1.5 * np.sum(w * rates)
    np.testing.assert_allclose(control.cost(sx.Affine(2), sx.RK4()), exact, rtol=1e-12)


def squared_norms(matrix):
    values = np.linalg.svd(np.asarray(matrix), compute_uv=False)
    return {
        "frobenius": np.sum(values**2),
        "nuclear": np.sum(values) ** 2,
        "spectral": values[0] ** 2,
    }


@pytest.mark.parametrize("norm", ["frobenius", "nuclear", "spectral"])
@pytest.mark.parametrize("control", usually(["static", "frozen"], "frozen"))
def test_complexity_of_constant_weights(control, norm):
    net = make_net("updown", control, T=1.7)
    theta = sx.theta_path(net, [0.0])
    total = sum(squared_norms(theta[name][0])[norm] for name in ("theta1", "theta2", "theta3"))
    np.testing.assert_allclose(sx.complexity(net, norm), 1.7 * np.log2(total), rtol=1e-10)


@pytest.mark.parametrize("norm", ["frobenius", "nuclear", "spectral"])
def test_complexity_of_blocks(norm):
    net = make_net("affine", "piecewise", T=2.0)
    logs = [np.log2(squared_norms(block)[norm]) for block in net.control.theta["A"]]
    np.testing.assert_allclose(sx.complexity(net, norm), 2.0 * np.mean(logs), rtol=1e-10)


@pytest.mark.parametrize("control", ["particles", "legendre", "given"])
def test_complexity_of_moving_weights(control):
    """Against the midpoint rule along θ(t)."""
    net = make_net("affine", control, T=0.6, integrator=sx.RK4(steps=101))
    times = (np.arange(1000) + 0.5) * 0.6 / 1000
    theta = sx.theta_path(net, times)
    logs = np.log2(np.sum(np.asarray(theta["A"]) ** 2, axis=(1, 2)))
    np.testing.assert_allclose(sx.complexity(net), 0.6 * logs.mean(), rtol=1e-4)


def test_complexity_without_matrices_says_so():
    """A field whose θ has no matrix in it has no complexity, and the message says that."""
    with pytest.raises(ValueError, match="matri"):
        sx.complexity(make_net("rotor", "static"))
    assert sx.summary(make_net("rotor", "static"))["complexity_log2_nuclear"] is None


@pytest.mark.parametrize("field", ["affine", "updown"])
def test_hamiltonian_hardly_drifts(field):
    net = make_net(field, "particles", integrator=sx.RK4(steps=100))
    assert float(sx.hamiltonian_drift(net)) < 1e-6


def test_hamiltonian_drift_of_a_coarse_grid_shows():
    net = make_net("updown", "particles", integrator=sx.Euler(steps=2))
    assert float(sx.hamiltonian_drift(net)) > 1e-4


def test_hamiltonian_is_R_for_a_field_linear_in_theta():
    net = make_net("updown", "particles", T=2.0)
    times, values = sx.hamiltonian_path(net)
    np.testing.assert_allclose(times, np.linspace(0, 2, 6))
    np.testing.assert_allclose(values[0], sx.penalty(net) / 2.0, rtol=1e-12)


def test_hamiltonian_by_hand():
    """Affine with scalar weights: 𝓗 = ½‖Σ p σ(q)ᵀ‖²/w_A + ½‖Σ p‖²/w_b."""
    net = make_net("affine", "particles", penalty=sx.Quadratic(A=2.0, b=5.0))
    q, p = (np.asarray(a) for a in (net.control.ensemble.q, net.control.ensemble.p))
    expected = 0.5 * np.sum((p.T @ np.tanh(q)) ** 2) / 2 + 0.5 * np.sum(p.sum(0) ** 2) / 5
    np.testing.assert_allclose(sx.hamiltonian_path(net)[1][0], expected, rtol=1e-12)


def test_summary_is_plain_numbers():
    summary = sx.summary(make_net("updown", "particles"))
    assert summary["parameters"] == 2 * 4 * 8 + 6 * 3
    assert all(isinstance(value, int | float) for value in summary.values())
    assert sx.summary(make_net("updown", "static"))["hamiltonian_drift"] is None


MEASURES = [sx.penalty, sx.complexity, sx.hamiltonian_drift]


@pytest.mark.parametrize("measure", usually(MEASURES, sx.complexity))
def test_gradients_of_measures_are_those_of_finite_differences(measure):
    """Along one direction of all parameters of the particles."""
    net = make_net("affine", "particles", integrator=sx.Euler(steps=3))
    q, p = net.control.ensemble.q, net.control.ensemble.p
    rng = np.random.default_rng(5)
    dq, dp = jnp.asarray(rng.normal(size=q.shape)), jnp.asarray(rng.normal(size=p.shape))

    @jax.jit
    def at(s):
        places = (q + s * dq, p + s * dp)
        return measure(
            eqx.tree_at(lambda n: (n.control.ensemble.q, n.control.ensemble.p), net, places)
        )

    gradient = eqx.filter_grad(measure)(net).control.ensemble
    h = 1e-5
    slope = jnp.sum(gradient.q * dq) + jnp.sum(gradient.p * dp)
    np.testing.assert_allclose(slope, (at(h) - at(-h)) / (2 * h), rtol=1e-6)
    assert abs(float(slope)) > 1e-3


@pytest.mark.parametrize("control", usually(CONTROLS, "static"))
def test_measures_of_a_net_in_single_precision_are_single(control):
    net = make_net("updown", control, integrator=sx.SymplecticEuler(steps=3))
    small = cast(net, jnp.float32)
    for measure in (sx.penalty, sx.complexity):
        assert measure(small).dtype == jnp.float32
        np.testing.assert_allclose(measure(small), measure(net), rtol=1e-4)


def blown_up(momentum):
    """With θ3 and ReLU, particles of large momenta run off to infinity within unit time."""
    field = sx.UpDown(1, 3)
    control = sx.Particles.draw(field, 4, momentum=momentum, key=KEY)
    return sx.Net(field, control, integrator=sx.RK4(steps=10), key=KEY)


def test_the_penalty_of_a_flow_that_blows_up_is_nan():
    """The formula T·R(θ(0)) is finite all the same."""
    calm, wild = blown_up(0.1), blown_up(1e4)
    assert not np.isfinite(wild(np.ones((1, 1)))).all()
    assert np.isfinite(wild.control.cost(wild.field, wild.integrator))
    assert np.isnan(sx.penalty(wild))
    assert np.isnan(sx.summary(wild)["penalty"])
    assert np.isnan(sx.penalty(sx.Chain(calm, wild)))
    np.testing.assert_allclose(sx.penalty(calm), eqx.filter_jit(sx.penalty)(calm), rtol=1e-14)


@pytest.mark.parametrize("kind", [sx.UpDown, sx.ConvUpDown, sx.DampedUpDown])
def test_the_default_penalty_weighs_theta3_by_ten(kind):
    field = kind(1, (4,)) if kind is sx.ConvUpDown else kind(1)
    for control in (sx.Particles.draw(field, 2, key=KEY), sx.Static(field, key=KEY)):
        weights = {name: control.penalty.strength(name) for name in field.theta}
        assert weights.pop("theta3") == 10
        assert set(weights.values()) == {1}
