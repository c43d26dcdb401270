"""A shooting ResNet and a plain ResNet of the same depth and width, on handwritten digits.

Both are trained by the same call. They differ in where the weights of the layers come from: particles
that are new in each block, particles that are passed on, or free weights for each layer. Needs
scikit-learn.
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import shootax as sx

LAYERS = 5  # in each block
CHANNELS = 16, 32
SIDE = 3  # of the particles, which are small images


def digits(seed: int = 0):
    """8×8 images in [0, 1], with 30 % of them held out."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).reshape(-1, 1, 8, 8).astype(np.float32)
    return train_test_split(images, labels, test_size=0.3, random_state=seed, stratify=labels)


class Shifted(sx.AbstractSampler):
    """Sample all images in every epoch, each shifted by up to one pixel in each direction."""

    images: jax.Array
    labels: jax.Array

    def __call__(self, key):
        corners = jax.random.randint(key, (len(self.images), 2), 0, 3)
        wide = jnp.pad(self.images, ((0, 0), (0, 0), (1, 1), (1, 1)))
        cut = jax.vmap(lambda image, at: jax.lax.dynamic_slice(image, (0, *at), (1, 8, 8)))
        return cut(wide, corners), self.labels


def build(kind: str, *, particles: int, key: jax.Array) -> sx.nn.Classifier:
    """Build two blocks of `LAYERS` layers, with pooling and more channels between them."""
    # θ is a sum of p ⊗ σ(q). Features of both signs have no common part, which trains far better
    # than ReLU's, whose features are all positive.
    fields = [sx.ConvAffine(c, size=(SIDE, SIDE), activation="tanh") for c in CHANNELS]
    keys = jax.random.split(key, 5)
    nets = []
    for field, control_key, net_key in zip(fields, keys[:2], keys[2:4], strict=True):
        if kind == "plain":
            control = sx.Piecewise(field, blocks=LAYERS, key=control_key)
        else:
            # With this weight, θ is a mean over all pixels of all particles, not a sum.
            mean = sx.Quadratic(default=float(particles * SIDE**2))
            control = sx.Particles.draw(
                field,
                particles,
                position=sx.Gaussian(1.0),
                momentum=0.5,
                penalty=mean,
                key=control_key,
            )
        nets.append(sx.Net(field, control, integrator=sx.Euler(LAYERS), key=net_key))
    return sx.nn.resnet(
        tuple(nets), inputs=1, classes=10, groups=4, pass_particles=kind == "passing", key=keys[4]
    )


def run(kind: str, *, epochs: int = 200, particles: int = 8, seed: int = 0) -> tuple[int, float]:
    """Train a network; return its number of parameters and its accuracy on held-out images."""
    x, x_test, y, y_test = digits(seed)
    model = build(kind, particles=particles, key=jax.random.key(seed))
    # A step of Adam in a momentum is a small step in θ, so momenta have a larger learning rate.
    lr_scale = None if kind == "plain" else {"momenta": 10.0, "positions": 3.0}
    fitted = sx.fit(
        model,
        Shifted(jnp.asarray(x), jnp.asarray(y, jnp.float32)),
        loss="cross_entropy",
        epochs=epochs,
        batch_size=64,
        data_strength=1.0,
        penalty_strength=1e-5,
        optimizer=sx.Optimizer(0.01, clip=1.0, lr_scale=lr_scale),
        seed=seed,
    )
    scores = np.asarray(fitted.net(x_test))
    return sx.count(model), float(np.mean(scores.argmax(axis=1) == y_test))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--particles", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    for kind in ("plain", "fresh", "passing"):
        for seed in range(arguments.seeds):
            options = {"epochs": arguments.epochs, "particles": arguments.particles, "seed": seed}
            count, share = run(kind, **options)
            print(
                f"{kind:8} {count:7,d} parameters, {100 * share:.2f} % of held-out digits read correctly"
            )


if __name__ == "__main__":
    main()
