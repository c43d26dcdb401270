"""A field of your own without any special support: attention over a small set of points, linear in θ.

A state is a set of five points in the plane. Each point attends to the others with weights that depend
only on distance, and θ maps what it sees to a velocity. Nothing is derived by hand: the equations of
shooting follow from `__call__`.
"""

import jax
import jax.numpy as jnp

import shootax as sx


class Attention(sx.AbstractField):
    state = sx.shape(5, 2)
    theta = {"look": sx.shape(2, 2), "go": sx.shape(2, 2), "push": sx.shape(2)}

    def __call__(self, z, theta):
        distances = jnp.sum((z[:, None] - z[None]) ** 2, axis=-1)
        seen = jax.nn.softmax(-distances, axis=1) @ z
        return (seen - z) @ theta["look"] + jnp.tanh(z) @ theta["go"] + theta["push"][None]


def main(epochs: int = 100) -> float:
    """Learn to shrink sets of points to half their size about the origin; return the mean squared
    error."""
    field = Attention()
    print(f"Attention is {sx.linearity(field)} in θ")
    keys = jax.random.split(jax.random.key(0), 3)
    x = jax.random.normal(keys[0], (64, 5, 2))
    control = sx.Particles.draw(field, 4, position=sx.Gaussian(), momentum=0.02, key=keys[1])
    net = sx.Net(field, control, integrator=sx.Heun(5), key=keys[2])
    fitted = sx.fit(net, x, 0.5 * x, epochs=epochs, batch_size=32, progress=False)
    error = float(jnp.mean((fitted.net(x) - 0.5 * x) ** 2))
    print(f"mean squared error {error:.5f}, from {float(jnp.mean((0.5 * x) ** 2)):.5f} unmoved")
    return error


if __name__ == "__main__":
    main()
