"""Trainings on eight virtual devices, for `test_mesh`: `python tests/train/on_devices.py <check> ...`.

The number of devices is set before JAX starts, so this runs in a process of its own.
"""

import json
import sys

import equinox as eqx
import jax
import numpy as np
from jax.flatten_util import ravel_pytree

import shootax as sx
from shootax._train.loop import program
from shootax._train.problem import make_problem

jax.config.update("jax_num_cpu_devices", 8)
jax.config.update("jax_enable_x64", True)

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (43, 2))
Y = np.sin(3 * X)


def net(
    formulation="dynamic-particles", particles=5, form=None, field=None, momentum=None, **options
):
    field = sx.UpDown(dim=2, inflation=3) if field is None else field
    more = {} if formulation.endswith("direct") else {"particles": particles}
    more |= {} if form is None else {"form": form}
    more |= {} if momentum is None else {"momentum": momentum}
    control = sx.formulation(formulation, field, key=jax.random.key(0), **more)
    options = {"integrator": sx.RK4(steps=3), "readout": 2} | options
    return sx.Net(field, control, key=jax.random.key(1), **options)


def mesh(*shape):
    return jax.make_mesh(shape, ("data", "particles")[: len(shape)])


def difference(model, devices, x=X, y=Y, **options):
    """The relative difference of two trainings of 20 steps: of their parameters and histories."""
    options = {"epochs": 4, "batch_size": 10, "progress": False} | options
    pair = [sx.fit(model, x, y, mesh=on, **options) for on in (None, devices)]
    vectors = [ravel_pytree(eqx.filter(one.net, eqx.is_inexact_array))[0] for one in pair]
    assert all(len(vector.devices()) == 1 for vector in vectors)  # wherever it was trained
    far = [float(np.linalg.norm(vectors[0] - vectors[1]) / np.linalg.norm(vectors[0]))]
    for name, column in pair[0].history.items():
        other = pair[1].history[name]
        assert column.shape == other.shape
        gap, size = np.nanmax(np.abs(column - other), initial=0), np.nanmax(column, initial=1e-9)
        far.append(float(gap / size))
    return max(far)


def formulations():
    return {name: difference(net(name), mesh(8)) for name in sx.FORMULATIONS}


def batches():
    """43 samples in batches of 10 for 8 devices: nothing is divisible. Then all the rest of `fit`."""
    weight = RNG.uniform(0, 1, 43)
    weight[3:9] = 0
    validation = sx.Validation((X[:9], Y[:9]), patience=2)
    optimizer = sx.Optimizer(0.01, ema=0.9, clip=1.0, schedule=sx.Plateau(patience=1))
    return {
        "plain": difference(net(), mesh(8)),
        "options": difference(
            net(), mesh(8), sample_weight=weight, validation=validation, optimizer=optimizer
        ),
        "polish": difference(
            net(), mesh(8), sample_weight=weight, polish=sx.LBFGS(6, batch_size=4)
        ),
    }


def particles():
    """11 particles on 2 and 8 devices, the rest of which share the batch; and features that are not
    piecewise linear, whose second derivative counts."""
    model = net(particles=11)
    model(X)  # so that there is a program of one device, which must not be taken for the other
    found = {str(shape): difference(model, mesh(*shape)) for shape in ((4, 2), (1, 8))}
    smooth = net(particles=11, field=sx.UpDown(dim=2, inflation=3, activation="tanh"))
    return found | {"smooth": difference(smooth, mesh(1, 8))}


def models():
    """A chain, the reversed mode, each sample with its own times, a sampler, a latent model."""
    times = np.sort(RNG.uniform(0, 1, (43, 3)), axis=1)
    trajectories = Y[:, None] * times[:, :, None]

    class Fresh(sx.AbstractSampler):
        def __call__(self, key):
            x = jax.random.uniform(key, (20, 2))
            return x, x**2

    chain = sx.Chain(net(readout=None), net())
    keys = jax.random.split(jax.random.key(0), 2)
    latent = sx.nn.LatentModel(
        sx.nn.ImageEncoder(2, size=8, channels=(2,), key=keys[0]),
        net(readout=None),
        sx.nn.ImageDecoder(2, size=8, channels=(2,), key=keys[1]),
        (0.0, 0.5, 1.0),
    )
    images = RNG.uniform(size=(16, 1, 8, 8))
    # Steps can be inverted while weights are small.
    reversible = net(momentum=0.1, integrator=sx.RK4(6, gradient=sx.Reversed()))
    return {
        "chain": difference(chain, mesh(8)),
        "reversed": difference(reversible, mesh(8)),
        "times": difference(net(readout=None), mesh(8), y=trajectories, times=times),
        "sampler": difference(net(), mesh(8), Fresh(), None),
        "latent": difference(latent, mesh(8), images, np.repeat(images, 3, axis=1)),
    }


class Batches:
    """Batches in order, the last one shorter, as often as they are asked for."""

    def __len__(self):
        return 5

    def __iter__(self):
        return ((X[i : i + 10], Y[i : i + 10]) for i in range(0, 43, 10))


def streams():
    """A stream on the devices of one process, whose batches they share."""
    return {
        "data": difference(net(), mesh(8), Batches(), None),
        "particles": difference(net(particles=11), mesh(2, 4), Batches(), None),
    }


def estimators():
    """Predictions of a regressor, a classifier and a forecaster."""
    from shootax.sklearn import ShootingClassifier, ShootingForecaster, ShootingRegressor

    waves = np.sin(np.arange(12) + RNG.uniform(0, 6, (20, 1)))[:, :, None]
    small = {"width": 3, "particles": 2, "depth": 2, "max_iter": 4, "batch_size": 10}
    out = {}
    for kind, x, y in (
        (ShootingRegressor, X, Y[:, 0]),
        (ShootingClassifier, X, (Y[:, 0] > 0).astype(int)),
        (ShootingForecaster, waves, None),
    ):
        pair = [kind(**small, mesh=on).fit(x, y) for on in (None, mesh(8))]
        losses = [np.array(one.loss_curve_) for one in pair]
        out[kind.__name__] = float(np.max(np.abs(losses[0] / losses[1] - 1)))
    return out


def refused():
    """What cannot be shared says so."""
    words = {}
    for name, integrator, on in (
        ("adaptive", sx.Dopri5(), mesh(8)),
        ("reversed", sx.RK4(3, gradient=sx.Reversed()), mesh(1, 8)),
    ):
        try:
            sx.fit(net(integrator=integrator), X, Y, epochs=1, mesh=on)
        except ValueError as error:
            words[name] = str(error)
    return words


def many():
    nets = [net(), net(particles=5)]
    options = {"epochs": 2, "batch_size": 10, "together": True}
    pair = [sx.fit_many(nets, X, Y, mesh=on, **options) for on in (None, mesh(8))]
    return {
        str(i): float(np.max(np.abs(a.history["objective"] / b.history["objective"] - 1)))
        for i, (a, b) in enumerate(zip(*pair, strict=True))
    }


def compiled(model, on, batch_size):
    """The program of a training of one epoch."""
    from shootax._train.engine import first_state
    from shootax._train.update import take_apart

    options = dict(loss="mse", data_strength=1.0, penalty_strength=1.0, times=None)
    options |= dict(sample_weight=None, optimizer=sx.Optimizer(), validation=None, callbacks=())
    x = RNG.uniform(-1, 1, (batch_size, 2))
    problem = make_problem(
        model, x, x, epochs=1, batch_size=batch_size, seed=0, mesh=on, **options
    ).placed()
    sharing = problem.recipe.sharing
    vector, frame = take_apart(model)
    state = first_state([vector], frame, problem)
    whole = (lambda tree: tree) if sharing is None else sharing.replicated
    order = jax.tree.map(lambda leaf: leaf[0], problem.orders([0]).draw(1))
    arguments = (
        *whole((jax.numpy.asarray(1), state, jax.device_put(order), frame)),
        problem.data,
        None,
    )
    run = program(False, None, sharing)
    return vector.size, run.lower(*arguments, problem.settings, problem.recipe).compile().compiled


def program_text():
    """The all-reduces of a training step, and the bytes that a device needs."""
    import re

    size, whole = compiled(net(), mesh(8), 64)
    reduces = re.findall(r"= (\S+) all-reduce(?:-start)?\(", whole.as_text())
    others = re.findall(r"= \S+ (all-gather|all-to-all|collective-permute)\(", whole.as_text())
    return {"parameters": size, "reduces": reduces, "others": others}


def memory():
    """Temporary bytes of a device: for a large batch, and for many particles."""
    out = {}
    for name, model, shape, batch in (
        ("batch", net("static-direct"), (8, 1), 40_000),
        ("particles", net(particles=1600, form="kernel"), (1, 8), 8),
    ):
        one, eight = (compiled(model, on, batch)[1] for on in (None, mesh(*shape)))
        sizes = [each.memory_analysis().temp_size_in_bytes for each in (one, eight)]
        out[name] = sizes
    return out


if __name__ == "__main__":
    print(json.dumps({name: globals()[name]() for name in sys.argv[1:]}))
