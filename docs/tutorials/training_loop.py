# %% [markdown]
# # Your own training loop
#
# A net is an `equinox.Module`. It can be a layer of a larger model, which you can train with any loop. In
# this tutorial you train a classifier of two half moons with Optax.

# %%
import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import optax
from sklearn.datasets import make_moons

import shootax as sx

x, y = make_moons(400, noise=0.1, random_state=0)
x, y = jnp.asarray(x, jnp.float32), jnp.asarray(y)

# %% [markdown]
# ## The model
#
# A shooting network moves the points, and an ordinary linear layer classifies them. A net takes a whole
# batch, so that its particles are integrated once for all samples. The Equinox layer takes one sample, so we
# `vmap` it.

# %%


class MoonModel(eqx.Module):
    net: sx.Net
    head: eqx.nn.Linear

    def __init__(self, key):
        net_key, head_key = jax.random.split(key)
        field = sx.UpDown(dim=2, inflation=8, activation="tanh")
        self.net = sx.Net(field, particles=8, key=net_key)
        self.head = eqx.nn.Linear(2, 1, key=head_key)

    def __call__(self, x):
        return jax.vmap(self.head)(self.net(x))[:, 0]


model = MoonModel(jax.random.key(0))

# %% [markdown]
# ## The loop
#
# You write the objective. `sx.penalty` finds all nets inside a model and sums $\int R(θ(t))\,dt$ over them.
# Without this penalty, there is no objective for which the particles are optimal.

# %%


def objective(model, x, y):
    loss = jnp.mean(optax.sigmoid_binary_cross_entropy(model(x), y))
    return 10 * loss + 0.1 * sx.penalty(model)


optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.02))


@eqx.filter_jit
def step(model, state, x, y):
    value, gradient = eqx.filter_value_and_grad(objective)(model, x, y)
    updates, state = optimizer.update(gradient, state)
    return eqx.apply_updates(model, updates), state, value


start = model
state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))
values = []
for _ in range(300):
    model, state, value = step(model, state, x, y)
    values.append(float(value))
right = np.mean(np.asarray(model(x) > 0) == np.asarray(y))
print(f"objective {values[0]:.2f} → {values[-1]:.2f}, {100 * right:.1f} % on the right side")

# %%
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
axes[0].semilogy(values, color="#009E73")
axes[0].set(xlabel="step", ylabel="objective")
xx, yy = np.meshgrid(np.linspace(-1.6, 2.6, 120), np.linspace(-1.1, 1.6, 90))
grid = jnp.asarray(np.stack([xx.ravel(), yy.ravel()], axis=1), jnp.float32)
scores = np.asarray(model(grid)).reshape(xx.shape)
axes[1].contourf(xx, yy, scores, levels=[-1e3, 0, 1e3], colors=["#cfe8f7", "#fbe6bf"])
axes[1].scatter(*np.asarray(x).T, c=np.asarray(y), s=6, cmap="cividis")
# %% [markdown]
# ## The flow unfolds the moons
#
# Points start at the white dots and end at the black dots, where a straight line separates the classes.

# %%
sx.plots.flow(model.net, np.asarray(x[:80]), colour=np.asarray(y[:80]))
# %% [markdown]
# ## Gradients of anything
#
# Particles are ordinary parameters. How large is the gradient of the objective for each of them before
# training?

# %%
gradient = eqx.filter_grad(objective)(start, x, y)
pull = np.linalg.norm(np.asarray(gradient.net.control.ensemble.p), axis=1)
figure, axis = plt.subplots(figsize=(4.5, 2.6), layout="constrained")
axis.bar(range(8), pull, color="#009E73")
axis.set(xlabel="particle", ylabel="norm of the gradient in p")
# %% [markdown]
# ## A faster step for small models
#
# With small models, most of the time goes into launching operations. [`shootax.TrainingStep`][] keeps all
# parameters in one vector, so that Adam takes only a few operations.

# %%
fast = sx.TrainingStep(start, objective, optimizer=optimizer)
state = fast.init()
for _ in range(300):
    state, value = fast(state, x, y)
print(f"objective after 300 steps: {float(value):.2f}")
model = fast.model(state)
