"""A shooting ResNet and a plain one on handwritten digits, of the same depth and width.

Needs scikit-learn. Both are trained by the same calls; only where the weights come from differs:
particles, or free weights for each layer.
"""

import argparse

import jax
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import shootax as sx

LAYERS = 5


def digits(seed: int = 0):
    """8×8 images in [0, 1], 30 % of them held out."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).reshape(-1, 1, 8, 8).astype(np.float32)
    return train_test_split(images, labels, test_size=0.3, random_state=seed, stratify=labels)


def build(kind: str, *, particles: int, key: jax.Array) -> sx.Classifier:
    """Two blocks of `LAYERS` layers with 16 and 32 channels, pooling between them."""
    fields = sx.ConvAffine(16, size=(4, 4)), sx.ConvAffine(32, size=(2, 2))
    keys = jax.random.split(key, 5)
    nets = []
    for field, control_key, net_key in zip(fields, keys[:2], keys[2:4], strict=True):
        if kind == "plain":
            control = sx.Piecewise(field, blocks=LAYERS, key=control_key)
        else:
            # θ sums over all places of all particles: this weight makes it a mean, so that a step
            # of Adam in the momenta is a step of about the same size in θ.
            summed = sx.Quadratic(default=float(particles * np.prod(field.size)))
            control = sx.Particles.draw(
                field, particles, momentum=1.0, penalty=summed, key=control_key
            )
        nets.append(sx.Net(field, control, integrator=sx.Euler(LAYERS), key=net_key))
    passing = kind == "passing"
    return sx.resnet(
        tuple(nets), inputs=1, classes=10, groups=4, passing=passing, key=keys[4]
    )  # fmt: skip


def run(kind: str, *, epochs: int, particles: int, seed: int = 0) -> tuple[int, float]:
    """Parameters and accuracy on the held-out images."""
    x, x_test, y, y_test = digits(seed)
    model = build(kind, particles=particles, key=jax.random.key(seed))
    fitted = sx.fit(
        model, x, y, loss="cross_entropy", epochs=epochs, batch_size=64, learning_rate=0.005,
        data_weight=1.0, penalty_weight=1e-4, clip=1.0, seed=seed, progress=False,
    )  # fmt: skip
    scores = np.asarray(fitted.net(x_test))
    return sx.count(model), float(np.mean(scores.argmax(axis=1) == y_test))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--particles", type=int, default=8)
    arguments = parser.parse_args()
    for kind in ("plain", "fresh", "passing"):
        count, accuracy = run(kind, epochs=arguments.epochs, particles=arguments.particles)
        print(f"{kind:8} {count:7,d} parameters, {100 * accuracy:.2f} % of held-out digits correct")


if __name__ == "__main__":
    main()
