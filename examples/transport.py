"""Move one cloud of points onto another, and compare with the exact optimal transport.

There is a particle on every point, so the transport penalty is the kinetic energy of the cloud. Momenta
are trained so that each point arrives at its partner in the optimal assignment. Needs SciPy.
"""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize

import shootax as sx


def clouds(points: int, seed: int = 0):
    """A disc and a longer cloud beside it, the second in the order of the optimal assignment."""
    rng = np.random.default_rng(seed)
    source = rng.normal(size=(points, 2)) * 0.4
    target = rng.normal(size=(points, 2)) * np.array([0.8, 0.2]) + np.array([1.5, 0.5])
    squares = ((source[:, None] - target[None]) ** 2).sum(axis=-1)
    rows, columns = scipy.optimize.linear_sum_assignment(squares)
    return jnp.array(source), jnp.array(target[columns]), float(squares[rows, columns].mean())


def features(z, theta):
    """A field linear in θ, with enough features to bend the path of every point."""
    centres = jnp.stack(jnp.meshgrid(*[jnp.linspace(-1.5, 3, 7)] * 2), axis=-1).reshape(-1, 2)
    bumps = jnp.exp(-jnp.sum((z[None] - centres) ** 2, axis=1))
    return theta["A"] @ bumps + theta["B"] @ z + theta["b"]


def main(points: int = 12, steps: int = 400) -> tuple[float, float, float]:
    """The cost of our flow, the cost of optimal transport, and how far points end from their partners."""
    field = sx.FunctionField(
        features,
        state=sx.shape(2),
        theta={"A": sx.shape(2, 49), "B": sx.shape(2, 2), "b": sx.shape(2)},
    )
    source, target, exact = clouds(points)
    penalty, integrator = sx.Transport(ridge=1e-3), sx.Heun(8)

    def run(p):
        control = sx.Particles(field, sx.Ensemble(source, p), penalty=penalty)
        end = sx.flow(field, control, source, integrator=integrator)
        return control.cost(field, integrator), end

    @jax.jit
    @jax.value_and_grad
    def energy(p):
        cost, end = run(p.reshape(source.shape))
        return cost + 50 * jnp.mean(jnp.sum((end - target) ** 2, axis=1))

    start = (target - source) / points  # θ* is about K p, and the cloud moves by θ*
    found = scipy.optimize.minimize(
        lambda p: tuple(np.asarray(v, float) for v in energy(jnp.asarray(p))),
        np.asarray(start).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": steps},
    )  # fmt: skip
    cost, end = run(jnp.asarray(found.x).reshape(source.shape))
    miss = float(jnp.sqrt(jnp.mean(jnp.sum((end - target) ** 2, axis=1))))
    print(f"cost {2 * float(cost):.4f}, optimal transport {exact:.4f}, points off by {miss:.4f}")
    return 2 * float(cost), exact, miss


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    main()
