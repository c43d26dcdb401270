# %% [markdown]
# # A field of your own
#
# You write $f(z, θ)$ as ordinary JAX code. shootax derives the shooting equations, their gradients and a
# fast way to evaluate them. In this tutorial you learn the motion of a damped pendulum from data, with a
# field that encodes some physics.

# %%
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import shootax as sx

# %% [markdown]
# ## The data
#
# A state consists of an angle and a speed. We solve the true equation with small steps, and observe each of
# 100 pendulums four times.

# %%


def truth(z, seconds, steps=400):
    """The pendulum, by many small steps of the midpoint rule."""

    def velocity(z):
        return np.stack([z[:, 1], -4.0 * np.sin(z[:, 0]) - 0.4 * z[:, 1]], axis=1)

    h = seconds / steps
    for _ in range(steps):
        z = z + h * velocity(z + 0.5 * h * velocity(z))
    return z


random = np.random.default_rng(0)
start = random.uniform([-2.0, -2.0], [2.0, 2.0], (100, 2))
times = np.array([0.25, 0.5, 0.75, 1.0])
seen = np.stack([truth(start, t) for t in times], axis=1)

# %% [markdown]
# ## The field
#
# A field is a class that defines three things: the shape of a state, the shapes of the weights, and $f$ for
# one state. This field encodes that the speed changes the angle, and that forces depend on the angle through
# a few sine waves. The weights determine how strong the forces are.

# %%


class Swing(sx.AbstractField):
    state = sx.shape(2)
    theta = {"waves": sx.shape(3), "friction": sx.shape(), "gear": sx.shape()}

    def __call__(self, z, theta):
        angle, speed = z
        waves = jnp.sin(jnp.array([1.0, 2.0, 3.0]) * angle)
        force = theta["waves"] @ waves + theta["friction"] * speed
        return jnp.stack([theta["gear"] * speed, force])


field = Swing()
print(sx.linearity(field))

# %% [markdown]
# The field is linear in θ, so the weights that maximise the Hamiltonian have a closed form. shootax uses it,
# and you do not have to derive it. (Fields that are nonlinear in θ work as well, by
# [an inner maximisation](../guides/fields.md#how-theta-is-found).)
#
# ## Training with two controls
#
# The pendulum's equation does not depend on time. Frozen particles, whose weights are constant in time, are
# therefore the natural choice. Moving particles can also fit it, but have to learn that the weights do not
# change.

# %%
nets = {}
for name in ("static-particles", "dynamic-particles"):
    control = sx.formulation(
        name, field, particles=6, position=sx.FromData(start), key=jax.random.key(0)
    )
    net = sx.Net(field, control, integrator=sx.RK4(steps=20), key=jax.random.key(1))
    nets[name] = sx.fit(net, start, seen, times=times, epochs=200, batch_size=25).net

test = random.uniform([-2.0, -2.0], [2.0, 2.0], (200, 2))
for name, net in nets.items():
    error = np.sqrt(np.mean((np.asarray(net(test)) - truth(test, 1.0)) ** 2))
    print(f"{name:18} root mean square error on new pendulums: {error:.3f}")

# %% [markdown]
# Both models are close to the pendulums at the observed times. Between the observations, only the static one
# moves like a pendulum: its assumption is right here, and the other model has to learn it from the data.

# %%
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharex=True, sharey=True, layout="constrained")
shown = test[:15]
for axis, (name, net) in zip(axes, nets.items(), strict=False):
    sx.plots.flow(net, shown, axes=axis)
    axis.set(title=name, xlabel="angle", ylabel="speed")
for one in shown:
    path = np.concatenate([truth(one[None], t) if t else one[None] for t in np.linspace(0, 1, 26)])
    axes[2].plot(*path.T, color="0.4", lw=0.9)
axes[2].set(title="truth", xlabel="angle")

# %% [markdown]
# ## What the model learned
#
# In your own field, the weights have a meaning. The true pendulum has a gear of 1, a friction of
# −0.4 and a first wave of −4 (dotted). The penalty pulls all weights towards zero, so expect them to be a
# little too small.

# %%
depths = np.linspace(0, 1, 51)
figure, axes = plt.subplots(1, 2, figsize=(8, 3), sharey=True, layout="constrained")
for axis, (name, net) in zip(axes, nets.items(), strict=True):
    theta = sx.theta_path(net, depths)
    for values, label, true in (
        (theta["gear"], "gear", 1.0),
        (theta["friction"], "friction", -0.4),
        (theta["waves"][:, 0], "first wave", -4.0),
    ):
        (line,) = axis.plot(depths, values, label=label)
        axis.axhline(true, color=line.get_color(), ls=":", lw=1)
    axis.set(title=name, xlabel="depth t")
axes[0].legend(loc="center")

# %% [markdown]
# ## Without a class
#
# For a field that you use once, wrap a function. If it consists of products of weights with elementwise
# functions of the state, shootax recognises its structure, and training is as fast as with the library's own
# fields.

# %%


def updown(z, theta):
    x, v = jnp.split(z, [2])
    return jnp.hstack([theta["down"] @ jnp.tanh(v), theta["up"] @ x + theta["bias"]])


weights = {"down": sx.shape(2, 8), "up": sx.shape(8, 2), "bias": sx.shape(8)}
mine = sx.FunctionField(updown, state=sx.shape(10), theta=weights)
for block in sx.extend.infer_layout(mine).layout.blocks:
    print(f"{block.name}: from {block.feature} to {block.target}")
