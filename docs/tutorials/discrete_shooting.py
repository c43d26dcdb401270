# %% [markdown]
# # Discrete shooting
#
# A ResNet $z_{k+1} = z_k + h f(z_k, θ_k)$ with the energy
#
# $$E = \sum_k h R(θ_k) + γ \sum_i \ell(z_i(T))$$
#
# has free weights in every layer. At a minimum of $E$ they satisfy optimality conditions, and these conditions
# are exactly a method for Hamilton's equations: symplectic Euler. A trained shooting network with
# `SymplecticEuler` is therefore a ResNet that is a critical point of its own training energy, up to rounding.
# In this tutorial you check this with free weights and plain JAX.

# %%
import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize

import shootax as sx

jax.config.update("jax_enable_x64", True)  # to see rounding at 1e-16
GAMMA, LAYERS, T = 5.0, 20, 1.2

# %% [markdown]
# ## A particle on every sample
#
# The theorem assumes one particle on each sample. Four samples are enough to see it. `Ensemble.on` puts one
# particle on each state.

# %%
field = sx.Affine(dim=3, activation="tanh")
random = np.random.default_rng(0)
x = jnp.asarray(random.normal(size=(4, 3)))
y = 0.5 * jnp.roll(x, 1, axis=1) + 0.3


def shooting(integrator):
    """A net with a particle on each sample."""
    ensemble = sx.Ensemble.on(x, momentum=0.1, key=jax.random.key(0))
    control = sx.Particles(field, ensemble, T=T)
    return sx.Net(field, control, integrator=integrator, key=jax.random.key(1))


# %% [markdown]
# ## Train the momenta to convergence
#
# Adam would need a long time for the last digits, so we use BFGS, followed by a root finder for the gradient.

# %%


def misfit(outputs):
    return GAMMA * jnp.sum((outputs - y) ** 2)


def place(net):
    return net.control.ensemble.p


def trained(net):
    """The net with momenta at a minimum of penalty and misfit."""
    shape = place(net).shape

    @jax.jit
    def energy(p):
        new = eqx.tree_at(place, net, p.reshape(shape))
        return sx.penalty(new) + misfit(new(x))

    slope = jax.jit(jax.value_and_grad(energy))

    def both(p):
        value, gradient = slope(p)
        return float(value), np.asarray(gradient)

    found = scipy.optimize.minimize(both, np.ravel(place(net)), jac=True, options={"gtol": 1e-9})
    found = scipy.optimize.root(lambda p: both(p)[1], found.x, tol=1e-12)
    return eqx.tree_at(place, net, jnp.asarray(found.x).reshape(shape)), np.abs(found.fun).max()


nets = {}
for integrator in (sx.SymplecticEuler(LAYERS), sx.Euler(LAYERS), sx.RK4(LAYERS)):
    name = type(integrator).__name__
    nets[name], left = trained(shooting(integrator))
    print(f"{name:16} gradient in the momenta {left:.1e}")

# %% [markdown]
# ## The same network with free weights
#
# This is a plain loop over layers that uses only $f$ and $R$ from shootax. Its weights are those that the
# particles generate, layer by layer, which baking lists.

# %%


def free_energy(thetas, penalty):
    """The energy of a ResNet with a θ for each layer."""
    h = T / LAYERS

    def layer(z, theta):
        return z + h * jax.vmap(field, (0, None))(z, theta), h * penalty(theta)

    end, costs = jax.lax.scan(layer, x, thetas)
    return jnp.sum(costs) + misfit(end)


def layer_gradients(net):
    """For each layer how far its free weights are from optimal, relative to the penalty's pull."""
    if isinstance(net.integrator, sx.RK4):
        times = np.arange(LAYERS) * T / LAYERS
        thetas = sx.theta_path(net, times)
    else:
        thetas = jax.tree.map(lambda leaf: leaf[:, 0], sx.bake(net).control.theta)
    gradient = jax.grad(free_energy)(thetas, net.control.penalty)
    pull = jax.vmap(jax.grad(lambda theta: T / LAYERS * net.control.penalty(theta)))(thetas)

    def norms(tree):
        flat = [np.asarray(leaf).reshape(LAYERS, -1) for leaf in jax.tree.leaves(tree)]
        return np.linalg.norm(np.concatenate(flat, axis=1), axis=1)

    return norms(gradient) / norms(pull)


figure, axis = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
for (name, net), colour in zip(nets.items(), ("#009E73", "#E69F00", "#56B4E9"), strict=True):
    sizes = layer_gradients(net)
    print(f"{name:16} largest relative gradient of a layer {sizes.max():.1e}")
    axis.semilogy(range(LAYERS), sizes, "o-", ms=3, color=colour, label=name)
axis.set(xlabel="layer", ylabel="relative gradient of the free energy")
axis.legend()
# %% [markdown]
# With symplectic Euler, the weights of every layer are optimal: the gradient is zero up to rounding. The
# other integrators also solve the differential equation well, but their weights are not optimal for
# these twenty layers. With more layers, the difference gets smaller.
#
# ## Final momenta are the gradient of the loss
#
# The other half of the theorem is $p(T) = -γ∇\ell$. The arrows show $-γ∇\ell$ at the outputs, and the crosses
# show the targets, in the first two of three dimensions.

# %%
net = nets["SymplecticEuler"]
end = net(x)
pull = -jax.grad(misfit)(end)
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
sx.plots.flow(net, x, times=np.linspace(0, T, LAYERS + 1), axes=axes[0])
axes[0].set(title="samples along depth, two components")
axes[1].quiver(*np.asarray(end[:, :2]).T, *np.asarray(pull[:, :2]).T, color="#009E73", width=0.006)
axes[1].plot(*np.asarray(y[:, :2]).T, "x", color="0.3")
axes[1].plot(*np.asarray(end[:, :2]).T, "o", ms=4, color="#E69F00")
axes[1].set(title="outputs (dots), targets (crosses), −γ∇ℓ (arrows)")
