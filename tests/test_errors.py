"""Bad input: each kind is refused with a message that says what was got and what to do."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import KEY, Pendulum, Rotor, make_net

FIELD = sx.UpDown(2, 3, activation="tanh")
NET = sx.Net(FIELD, particles=3, key=KEY)
X = np.ones((4, 2))


class Squared(sx.AbstractField):
    """Not linear in θ."""

    state = sx.shape(2)
    theta = sx.shape(2)

    def __call__(self, z, theta):
        return z * theta**2


def spoiled(value: float) -> np.ndarray:
    x = X.copy()
    x[2, 1] = value
    return x


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((4, 3), r"shape \(batch, 2\), as the field has dim=2; got \(4, 3\)"),
        ((4, 1), r"got \(4, 1\)"),
        ((2,), r"got \(2,\)"),
        ((4, 2, 1), r"got \(4, 2, 1\)"),
        ((0, 2), "no samples"),
    ],
)
def test_input_of_the_wrong_shape(shape, message):
    with pytest.raises(ValueError, match=message):
        NET(jnp.zeros(shape))


def test_a_flat_input_for_dim_one_is_told_how_to_stand_up():
    net = sx.Net(sx.UpDown(1, 3), particles=2, key=KEY)
    with pytest.raises(ValueError, match=r"Use x\[:, None\]"):
        net(jnp.zeros(5))


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_input_that_is_not_finite(value, name):
    with pytest.raises(ValueError, match=rf"must be finite.*{name} at index \(2, 1\)"):
        NET(spoiled(value))


def test_input_that_is_not_numbers():
    with pytest.raises(ValueError, match="must hold numbers"):
        NET(np.array([["a", "b"]]))


@pytest.mark.parametrize(
    ("z", "message"),
    [
        (np.zeros((4, 7)), r"\(batch, 8\) for UpDown, got \(4, 7\)"),
        ({"x": np.zeros((4, 8))}, "states must have shape"),
    ],
)
def test_states_that_are_not_the_field_s(z, message):
    with pytest.raises(ValueError, match=message):
        sx.flow(FIELD, NET.control, z)


def test_states_of_a_tree_field_with_a_missing_part():
    control = sx.Static(Pendulum(), key=KEY)
    with pytest.raises(ValueError, match="for Pendulum"):
        sx.flow(Pendulum(), control, {"x": jnp.zeros((4, 2))})


@pytest.mark.parametrize("particles", [0, -1, 2.5, True])
def test_number_of_particles(particles):
    with pytest.raises(ValueError, match="particles must be a whole number of at least 1"):
        sx.Ensemble.draw(FIELD, particles, key=KEY)
    with pytest.raises(ValueError, match="particles must be a whole number of at least 1"):
        sx.Net(FIELD, particles=particles, key=KEY)


def test_ensemble_on_no_states():
    with pytest.raises(ValueError, match="at least one particle"):
        sx.Ensemble.on(jnp.zeros((0, 8)), key=KEY)


def test_ensemble_with_unequal_positions_and_momenta():
    with pytest.raises(ValueError, match="same shapes"):
        sx.Ensemble(jnp.zeros((3, 8)), jnp.zeros((2, 8)))


def test_ensemble_of_another_field():
    drawn = sx.Ensemble.draw(sx.UpDown(1, 3), 3, key=KEY)
    for kind in (sx.Particles, sx.FrozenParticles):
        with pytest.raises(ValueError, match="must be states of the field"):
            kind(FIELD, drawn)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sx.Uniform(1.0, 1.0), "low < high"),
        (lambda: sx.Uniform(hidden=-1.0), "hidden must be"),
        (lambda: sx.Gaussian(std=-1.0), "std must be"),
        (lambda: sx.Gaussian(hidden=np.nan), "hidden must be"),
        (lambda: sx.FromData(np.zeros(3)), "data of shape"),
        (lambda: sx.FromData(np.zeros((0, 2))), "data of shape"),
        (lambda: sx.FromData(spoiled(np.nan)), "x must be finite"),
        (lambda: sx.FromData(np.zeros((3, 5)))(FIELD, 2, KEY), r"samples of shape \(5,\)"),
        (lambda: sx.Ensemble.draw(FIELD, 3, momentum=-0.1, key=KEY), "momentum must be"),
    ],
)
def test_initialisers(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_closed_form_for_a_field_that_is_not_linear_in_theta():
    with pytest.raises(ValueError, match="Squared"):
        sx.Particles.draw(Squared(), 3, maximiser=sx.maximisers.ClosedForm(), key=KEY)


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan, np.inf, "heavy", None])
def test_weight_that_is_not_positive(weight):
    with pytest.raises(ValueError, match=r"The strength of theta1 must be a positive"):
        sx.Quadratic(theta1=weight)
    with pytest.raises(ValueError, match="default must be a positive"):
        sx.Quadratic(default=weight)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1.0, 0.5], [0.0, 1.0]], "must be symmetric"),
        ([[1e-10, 5e-11], [0.0, 1e-10]], "must be symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], "positive definite, got smallest eigenvalue -1"),
        ([[1.0, 1.0], [1.0, 1.0]], "positive definite"),
        ([[0.0, 0.0], [0.0, 0.0]], "positive definite"),
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], r"square matrix, got shape \(2, 3\)"),
        ([1.0, 1.0], r"square matrix, got shape \(2,\)"),
        ([[1.0, np.nan], [np.nan, 1.0]], "must be finite"),
    ],
)
def test_weight_matrix_that_is_not_spd(matrix, message):
    with pytest.raises(ValueError, match=message):
        sx.Quadratic(A=np.array(matrix))


@pytest.mark.parametrize(
    "control", ["static", "piecewise", "frozen", "particles", "legendre", "given"]
)
def test_penalty_that_does_not_fit_the_field(control):
    with pytest.raises(ValueError, match=r"A has shape \(3, 3\), but A has shape \(2, 2\)"):
        make_net("affine", control, penalty=sx.Quadratic(A=np.eye(3)))
    with pytest.raises(ValueError, match="strength for 'theta1', but θ has only: A, b"):
        make_net("affine", control, penalty=sx.Quadratic(theta1=2.0))


@pytest.mark.parametrize("T", [0, -1.0, np.nan, np.inf, "long"])
@pytest.mark.parametrize(
    "control", ["static", "piecewise", "frozen", "particles", "legendre", "given"]
)
def test_final_time(control, T):
    with pytest.raises(ValueError, match="The final time T must be a positive"):
        make_net("affine", control, T=T)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([0.5, 0.2], "sorted and increasing"),
        ([-0.1, 0.5], r"lie in \[0, T\] = \[0, 1\], got times from -0.1"),
        ([0.5, 1.1], "Give the control a larger T"),
        ([0.5, np.nan], "times must be finite"),
        ([], "times must have shape"),
        (0.5, "times must have shape"),
        ([[0.1, 0.2]] * 3, r"\(4, times\) with one row for each sample"),
        ([[0.1, 0.2]] * 3 + [[0.2, 0.1]], "sorted and increasing"),
        ([[0.1, 0.2]] * 3 + [[0.2, 1.2]], "lie in"),
        (np.zeros((4, 2, 1)), "times must have shape"),
    ],
)
def test_times(times, message):
    with pytest.raises(ValueError, match=message):
        NET(X, np.array(times))


def test_times_of_a_flow_back_go_down():
    with pytest.raises(ValueError, match="decreasing"):
        sx.flow(FIELD, NET.control, jnp.zeros((4, 8)), times=np.array([0.1, 0.5]), reverse=True)


def test_theta_path_times():
    with pytest.raises(ValueError, match="lie in"):
        sx.theta_path(NET, [0.5, 2.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sx.Affine(2, activation="rleu"), "Unknown activation 'rleu'. Choose one of: gelu"),
        (lambda: sx.UpDown(2, activation="rleu"), "Unknown activation"),
        (lambda: sx.Net(FIELD, particles=2, lift="afine", key=KEY), "Unknown lift 'afine'"),
        (lambda: sx.Net(FIELD, particles=2, readout="y", key=KEY), "Unknown readout 'y'"),
        (lambda: sx.Particles.draw(FIELD, 2, form="fast", key=KEY), "Unknown form 'fast'"),
        (lambda: sx.Basis(FIELD, "chebyshev", key=KEY), "Unknown basis 'chebyshev'"),
        (lambda: sx.complexity(NET, "max"), "Unknown norm 'max'"),
        (lambda: sx.fit(NET, X, X, loss="hinge"), "Unknown loss 'hinge'"),
        (lambda: sx.formulation("dynamic", FIELD, key=KEY), "Unknown formulation 'dynamic'"),
    ],
)
def test_unknown_names(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("value", [0, -3, 1.5])
def test_sizes(value):
    makers = {
        "dim": lambda: sx.Affine(value),
        "inflation": lambda: sx.UpDown(2, value),
        "blocks": lambda: sx.Piecewise(FIELD, value, key=KEY),
        "terms": lambda: sx.Basis(FIELD, "legendre", value, key=KEY),
        "points": lambda: sx.FunctionControl(
            FIELD, lambda t: sx.Static(FIELD, key=KEY).theta, points=value
        ),
        "batch_size": lambda: sx.predict(NET, X, batch_size=value),
        "max_steps": lambda: sx.Tsit5(max_steps=value),
    }
    for name, make in makers.items():
        with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1"):
            make()


@pytest.mark.parametrize("steps", [0, -1, 2.5])
@pytest.mark.parametrize(
    "kind", [sx.Euler, sx.Heun, sx.RK4, sx.ImplicitMidpoint, sx.SymplecticEuler]
)
def test_steps(kind, steps):
    with pytest.raises(ValueError, match="steps must be a whole number of at least 1"):
        kind(steps=steps)


@pytest.mark.parametrize("tolerance", ["rtol", "atol"])
def test_tolerances(tolerance):
    for kind in (sx.Dopri5, sx.Tsit5):
        with pytest.raises(ValueError, match=f"{tolerance} must be a positive"):
            kind(**{tolerance: 0.0})


def test_both_or_neither_of_control_and_particles():
    for options in ({}, {"control": NET.control, "particles": 3}):
        with pytest.raises(ValueError, match="either a control or a number of particles"):
            sx.Net(FIELD, key=KEY, **options)


def test_lift_and_readout_that_the_field_cannot_have():
    with pytest.raises(ValueError, match="Affine has no hidden state for a 'zero' lift"):
        sx.Net(sx.Affine(2), particles=2, lift="zero", key=KEY)
    with pytest.raises(ValueError, match="linear readout needs a field whose state is one vector"):
        sx.Net(Pendulum(), particles=2, readout=3, key=KEY)
    with pytest.raises(ValueError, match="out must be a whole number"):
        sx.Net(FIELD, particles=2, readout=0, key=KEY)
    outputs = sx.Net(Rotor(), particles=2, readout=3, key=KEY)(jnp.zeros((4, 2)))
    assert outputs.shape == (4, 3), "any field whose state is one vector can have one"


@pytest.mark.parametrize("form", ["dense", "kernel"])
def test_closed_form_of_a_field_without_blocks(form):
    net = sx.Net(Rotor(), sx.Particles.draw(Rotor(), 2, form=form, key=KEY), key=KEY)
    with pytest.raises(
        ValueError, match=f"The {form} form needs a field made of blocks, and Rotor is not one"
    ):
        net(jnp.zeros((3, 2)))


def test_linear_form_of_a_field_that_is_not_linear():
    field = sx.SingleHiddenLayer(dim=2, width=2)
    net = sx.Net(field, sx.Particles.draw(field, 2, form="linear", key=KEY), key=KEY)
    with pytest.raises(ValueError, match="The linear form needs a field linear in θ"):
        net(jnp.zeros((3, 2)))


def test_function_of_time_with_the_wrong_shapes():
    with pytest.raises(ValueError, match="must return θ of shapes"):
        sx.FunctionControl(FIELD, lambda t: {"A": jnp.eye(2), "b": jnp.zeros(2)})


def test_measures_of_models_that_have_none():
    with pytest.raises(ValueError, match="no Net in it"):
        sx.penalty(eqx.nn.Linear(2, 2, key=KEY))
    with pytest.raises(ValueError, match="this one has a Static control"):
        sx.hamiltonian_drift(make_net("affine", "static"))


def test_chain_of_nothing():
    with pytest.raises(ValueError, match="at least one net"):
        sx.Chain()


def test_adaptive_step_limit_is_an_error_not_a_wrong_answer():
    net = sx.Net(FIELD, particles=3, integrator=sx.Tsit5(rtol=1e-10, max_steps=2), key=KEY)
    with pytest.raises(Exception, match="maximum number of solver steps"):
        jax.block_until_ready(net(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": spoiled(np.nan)}, r"x must be finite, got 1 NaN or infinite entries"),
        ({"y": spoiled(np.inf)}, "y must be finite"),
        ({"x": X[:0], "y": X[:0]}, "data are empty"),
        ({"x": 1.0, "y": 1.0}, "data are empty"),
        ({"y": X[:3]}, r"same number of samples, got \(4,\) and \(3,\)"),
        ({"x": np.ones((4, 3))}, r"shape \(batch, 2\)"),
        ({"x": np.array([["a", "b"]] * 4)}, "Data must be numbers"),
        ({"epochs": 0}, "epochs must be a whole number"),
        ({"batch_size": 0}, "batch_size must be a whole number"),
        ({"data_strength": -1.0}, "data_strength must be a finite number of at least 0"),
        ({"penalty_strength": np.inf}, "penalty_strength must be"),
        ({"sample_weight": np.ones(3)}, "sample_weight must be 4 finite numbers"),
        ({"sample_weight": -np.ones(4)}, "sample_weight must be 4 finite numbers"),
        ({"sample_weight": np.zeros(4)}, "not all 0"),
        ({"validation": 1.5}, "fraction that leaves samples on both sides"),
        ({"validation": 0.01}, "of 4 samples"),
        ({"validation": (X, X[:2])}, "validation x and y must have the same number"),
        ({"validation": (spoiled(np.nan), X)}, "validation x must be finite"),
        (
            {"optimizer": sx.Optimizer(freeze={"lifts": 3})},
            "nothing called 'lifts' to freeze.*lift.weight",
        ),
        ({"times": [0.5, 0.2], "y": np.ones((4, 2, 2))}, "sorted and increasing"),
        ({"times": [0.5, 1.2], "y": np.ones((4, 2, 2))}, "lie in"),
        ({"times": np.full((3, 2), 0.5), "y": np.ones((4, 2, 2))}, "entry for each of 4 samples"),
        (
            {
                "times": np.full((4, 2), 0.5),
                "y": np.ones((4, 2, 2)),
                "validation": (X, np.ones((4, 2, 2))),
            },
            "if the training times differ by sample",
        ),
        (
            {"times": np.array([[0.1, 0.2]] * 3 + [[0.2, 0.1]]), "y": np.ones((4, 2, 2))},
            "sorted and increasing",
        ),
        (
            {"times": np.array([[0.1, 0.2]] * 3 + [[0.2, 1.4]]), "y": np.ones((4, 2, 2))},
            "lie in",
        ),
    ],
)
def test_fit(options, message):
    with (
        jax.numpy_dtype_promotion("standard"),
        pytest.raises(ValueError, match=message),
    ):
        sx.fit(NET, **{"x": X, "y": X, "epochs": 1, **options})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sx.Cosine(warmup=1.0), "0 ≤ warmup < 1"),
        (lambda: sx.Cosine(floor=-0.1), "0 ≤ floor ≤ 1"),
        (lambda: sx.Plateau(drop=1.0), "0 < drop < 1"),
        (lambda: sx.Plateau(patience=0), "patience must be"),
        (
            lambda: sx.Plateau(floor="low"),
            "floor of Plateau must be a finite number of at least 0, got 'low'",
        ),
        (lambda: sx.Cosine(warmup="long"), "warmup of Cosine must be a number, got 'long'"),
    ],
)
def test_schedules(make, message):
    with pytest.raises(ValueError, match=message):
        make()
