"""Random models, small, in every kind that the theory covers."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import shootax as sx
from shootax.kernels import GaussianKernel, InverseMultiquadric, LaplaceKernel, SumKernel

FIELDS = {
    "updown-relu": lambda: sx.UpDown(1, 4),
    "updown-softplus": lambda: sx.UpDown(2, 2, activation="softplus"),
    "affine-gelu": lambda: sx.Affine(2, activation="gelu"),
    "rkhs": lambda: sx.RKHS(2, GaussianKernel(0.7)),
    "updown-tanh": lambda: sx.UpDown(2, 2, activation="tanh"),
    "general-sigmoid": lambda: sx.GeneralUpDown(1, 3, activation="sigmoid"),
    "periodic": lambda: sx.Periodic(2),
    "sparse": lambda: sx.BlockSparse((2, 1), [(0, 0), (0, 1), (1, 0)]),
    "convolution": lambda: sx.ConvAffine(2, (3, 3)),
    "kernels": lambda: sx.RKHS(
        2, SumKernel(InverseMultiquadric(0.5), LaplaceKernel(2.0), weights=(0.4, 0.3))
    ),
}
QUICK = ("updown-relu", "updown-softplus", "affine-gelu", "rkhs")


def inputs(field, samples=12, seed=0):
    shape = (field.dim, 4, 4) if isinstance(field, sx.ConvAffine) else (field.dim,)
    return jnp.asarray(np.random.default_rng(seed).normal(size=(samples, *shape)))


def random_net(field, seed, momentum=0.3, T=1.0, steps=10):
    """A net with particles drawn at random, of random strength."""
    keys = jax.random.split(jax.random.key(seed))
    control = sx.Particles.draw(field, 4, position=sx.Gaussian(), momentum=0.3, T=T, key=keys[0])
    net = sx.Net(field, control, integrator=sx.RK4(steps=steps), key=keys[1])
    factor = momentum * np.random.default_rng(seed).uniform(0.1, 1.5) / 0.3
    return eqx.tree_at(lambda n: n.control.ensemble.p, net, replace_fn=lambda p: factor * p)
