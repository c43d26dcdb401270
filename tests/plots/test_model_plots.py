"""The plots of one's own model draw the numbers that they say they draw."""

import jax
import matplotlib
import numpy as np
import pytest

import shootax as sx

matplotlib.use("Agg")

FIELD = sx.UpDown(dim=1, inflation=3, activation="tanh")


@pytest.fixture(autouse=True)
def closed_figures():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="module")
def net():
    control = sx.Particles.draw(FIELD, 4, momentum=0.5, T=1.2, key=jax.random.key(0))
    return sx.Net(FIELD, control, integrator=sx.RK4(12), key=jax.random.key(1))


def plane_net(dim, **options):
    return sx.Net(sx.Affine(dim=dim, activation="tanh"), key=jax.random.key(0), **options)


def test_flow_of_one_number_is_drawn_against_depth(net):
    x = np.linspace(-1, 1, 5)[:, None]
    axes = sx.plots.flow(net, x)
    times = np.linspace(0, 1.2, 51)
    want = np.asarray(net(x, times))[:, :, 0]
    assert len(axes.lines) == 5
    for line, path in zip(axes.lines, want, strict=True):
        np.testing.assert_allclose(line.get_xdata(), times)
        np.testing.assert_allclose(line.get_ydata(), path, atol=1e-12)


def test_flow_of_two_numbers_is_drawn_in_the_plane():
    net = plane_net(2, particles=3)
    x = np.random.default_rng(0).normal(size=(6, 2))
    times = [0.0, 0.3, 1.0]
    axes = sx.plots.flow(net, x, times=times, colour=[0, 1, 0, 1, 0, 1])
    drawn = np.array([line.get_xydata() for line in axes.lines])
    np.testing.assert_allclose(drawn, net.states(x, times), atol=1e-12)
    colours = [line.get_color() for line in axes.lines]
    assert colours[0] == colours[2] != colours[1] == colours[3]
    starts, ends = (np.asarray(part.get_offsets()) for part in axes.collections)
    np.testing.assert_allclose(starts, x)
    np.testing.assert_allclose(ends, net(x), atol=1e-12)


def test_flow_of_many_numbers_keeps_the_largest_distances():
    net = plane_net(5, particles=3)
    x = np.zeros((4, 5))
    x[:, 3] = [0.0, 10.0, 20.0, 30.0]  # by far the largest spread
    axes = sx.plots.flow(net, x, times=[0.0])
    first = np.array([line.get_xdata()[0] for line in axes.lines])
    np.testing.assert_allclose(np.abs(np.diff(first)), 10.0, rtol=1e-6)


def test_flow_of_images_leaves_hidden_channels_out():
    field = sx.ConvUpDown(1, inflation=2, size=(3, 3))
    net = sx.Net(field, particles=2, integrator=sx.Euler(2), key=jax.random.key(0))
    x = np.random.default_rng(0).normal(size=(4, 1, 1, 2))  # two visible numbers
    axes = sx.plots.flow(net, x, times=[0.0, 1.0])
    drawn = np.array([line.get_xydata() for line in axes.lines])
    np.testing.assert_allclose(drawn, net(x, [0.0, 1.0]).reshape(4, 2, 2), atol=1e-12)


def test_flow_of_whole_states(net):
    x = np.linspace(-1, 1, 3)[:, None]
    axes = sx.plots.flow(net, x, times=[0.0, 1.2], show="state")
    drawn = np.array([line.get_xydata() for line in axes.lines])
    states = np.asarray(net.states(x, [0.0, 1.2])).reshape(-1, 4)
    values = np.linalg.svd(states - states.mean(axis=0))[1]
    got = np.linalg.svd(drawn.reshape(-1, 2) - drawn.reshape(-1, 2).mean(axis=0))[1]
    np.testing.assert_allclose(got, values[:2], rtol=1e-8)


def test_flow_of_outputs(net):
    field = sx.UpDown(dim=1, inflation=3)
    wide = sx.Net(field, particles=2, readout=2, key=jax.random.key(0))
    x = np.linspace(-1, 1, 3)[:, None]
    axes = sx.plots.flow(wide, x, times=[0.0, 1.0])
    drawn = np.array([line.get_xydata() for line in axes.lines])
    np.testing.assert_allclose(drawn, wide(x, [0.0, 1.0]), atol=1e-12)


def test_particles_start_as_they_are_and_move_like_data(net):
    positions, momenta = sx.plots.particles(net, times=[0.0, 0.6, 1.2])
    ensemble = net.control.ensemble
    moved = sx.flow(
        FIELD, net.control, ensemble.q, times=np.array([0.0, 0.6, 1.2]), integrator=net.integrator
    )
    drawn = np.array([line.get_ydata() for line in positions.lines])
    np.testing.assert_allclose(drawn, moved[:, :, 0], atol=1e-12)
    starts = [line.get_ydata()[0] for line in momenta.lines]
    np.testing.assert_allclose(starts, ensemble.p[:, 0])
    # UpDown: dp/dt = -θ2ᵀ r, by a difference quotient over a short time.
    h = 1e-4
    lines = sx.plots.particles(net, times=[0.0, h])[1].lines
    slopes = [np.diff(line.get_ydata())[0] / h for line in lines]
    theta = sx.theta_path(net, [0.0])["theta2"][0]
    np.testing.assert_allclose(slopes, -(ensemble.p[:, 1:] @ theta)[:, 0], rtol=1e-2)


def test_frozen_particles_stand_still():
    control = sx.FrozenParticles.draw(FIELD, 3, key=jax.random.key(0))
    frozen = sx.Net(FIELD, control, key=jax.random.key(1))
    positions, _ = sx.plots.particles(frozen, coordinate=2)
    for line, q in zip(positions.lines, control.ensemble.q, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), np.full(51, q[2]))


def test_a_net_without_particles_has_none_to_draw():
    net = sx.Net(FIELD, sx.Static(FIELD, key=jax.random.key(0)), key=jax.random.key(1))
    with pytest.raises(ValueError, match="no particles: its control is Static"):
        sx.plots.particles(net)
    with pytest.raises(ValueError, match="`coordinate` must be from 0 to 3, got 9"):
        sx.plots.particles(sx.Net(FIELD, particles=2, key=jax.random.key(0)), coordinate=9)


def test_weight_norms_are_those_of_theta(net):
    times = [0.0, 0.5, 1.2]
    axes = sx.plots.weight_norms(net, times=times)
    theta = sx.theta_path(net, times)
    assert [line.get_label() for line in axes.lines] == sorted(theta)
    for line in axes.lines:
        values = np.asarray(theta[line.get_label()]).reshape(3, -1)
        np.testing.assert_allclose(line.get_ydata(), np.sqrt((values**2).sum(axis=1)))


def test_weight_matrices_are_those_of_theta(net):
    grid = sx.plots.weight_matrices(net, [0.0, 1.2])
    theta = sx.theta_path(net, [0.0, 1.2])
    for row, name in zip(grid, sorted(theta), strict=True):
        for axes, value in zip(row, np.asarray(theta[name]), strict=True):
            shown = axes.images[0].get_array()
            np.testing.assert_allclose(shown, value.reshape(value.shape[0], -1))
            assert name in axes.get_title()
        limits = {axes.images[0].get_clim() for axes in row}
        assert len(limits) == 1
        (low, high) = limits.pop()
        np.testing.assert_allclose([-low, high], np.abs(theta[name]).max())


def test_energy_of_particles_is_level_and_is_the_penalty(net):
    hamiltonian, penalty = sx.plots.energy(net).lines
    np.testing.assert_allclose(hamiltonian.get_ydata(), penalty.get_ydata(), rtol=1e-10)
    want = float(sx.penalty(net)) / 1.2
    np.testing.assert_allclose(penalty.get_ydata(), want, rtol=1e-3)
    low, high = hamiltonian.axes.get_ylim()
    assert low == 0.0
    assert high > 1.1 * want


@pytest.mark.slow
def test_energy_with_a_penalty_that_looks_at_particles():
    field = sx.Affine(dim=2, activation="tanh")
    control = sx.Particles.draw(field, 4, penalty=sx.Transport(), key=jax.random.key(0))
    net = sx.Net(field, control, integrator=sx.RK4(20), key=jax.random.key(1))
    _, penalty = sx.plots.energy(net).lines
    np.testing.assert_allclose(penalty.get_ydata(), float(sx.penalty(net)), rtol=1e-3)


def test_energy_of_free_weights_has_a_penalty_alone():
    control = sx.Piecewise(FIELD, blocks=2, T=1.0, key=jax.random.key(0))
    net = sx.Net(FIELD, control, key=jax.random.key(1))
    (penalty,) = sx.plots.energy(net).lines
    values = penalty.get_ydata()
    np.testing.assert_allclose(values[:25], values[0])
    np.testing.assert_allclose((values[0] + values[-1]) / 2, sx.penalty(net))


def test_history_draws_what_was_recorded():
    recorded = {
        "objective": np.array([3.0, 2.0]),
        "data": np.array([2.0, 1.5]),
        "penalty": np.array([1.0, 0.5]),
        "validation": np.array([np.nan, np.nan]),
        "learning_rate": np.array([0.1, 0.1]),
    }
    axes = sx.plots.history(recorded)
    assert [line.get_label() for line in axes.lines] == ["objective", "data", "penalty"]
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[1, 3.0], [2, 2.0]])
    (rate,) = sx.plots.history(recorded, curves=["learning_rate"]).lines
    np.testing.assert_array_equal(rate.get_ydata(), [0.1, 0.1])
    with pytest.raises(ValueError, match=r"no 'loss'\. Choose from objective"):
        sx.plots.history(recorded, curves=["loss"])


def test_axes_may_be_given(net):
    import matplotlib.pyplot as plt

    _, pair = plt.subplots(1, 2)
    drawn = sx.plots.particles(net, times=[0.0, 1.2], axes=pair)
    assert list(drawn) == list(pair)
    assert sx.plots.weight_norms(net, times=[0.0, 1.2], axes=pair[0]) is pair[0]
    with pytest.raises(ValueError, match="needs 2 axes, got 1"):
        sx.plots.particles(net, axes=pair[0])


def test_a_larger_model_is_asked_for_its_net(net):
    with pytest.raises(ValueError, match="got Chain"):
        sx.plots.weight_norms(sx.Chain(net))


def test_no_function_has_the_name_of_a_submodule():
    import pkgutil

    modules = {module.name for module in pkgutil.iter_modules(sx.plots.__path__)}
    public = {name for name in vars(sx.plots) if callable(getattr(sx.plots, name))}
    assert not modules & public
