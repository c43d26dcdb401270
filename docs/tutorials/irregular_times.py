# %% [markdown]
# # Sequences with irregular times
#
# Depth can be the time of your data. In this tutorial you learn a spiral from short pieces, which are
# observed at uneven times that differ from piece to piece. Then you evaluate the model at any time in between.

# %%
import jax
import matplotlib.pyplot as plt
import numpy as np

import shootax as sx

# %% [markdown]
# ## The data
#
# Points move around the origin and outwards. Each of the 200 samples consists of a starting point, five times
# and noisy observations at these times.

# %%


def spiral(start, t):
    """Where a point is after the time t: a linear vortex, solved exactly."""
    turn, grow = 2.5, 0.25
    cos, sin = np.cos(turn * t), np.sin(turn * t)
    x = np.stack(
        [cos * start[..., 0] - sin * start[..., 1], sin * start[..., 0] + cos * start[..., 1]]
    )
    return np.moveaxis(np.exp(grow * t) * x, 0, -1)


random = np.random.default_rng(0)
start = random.normal(0, 0.7, (200, 2))
times = np.sort(random.uniform(0, 1, (200, 5)), axis=1)
seen = spiral(start[:, None], times) + random.normal(0, 0.02, (200, 5, 2))
print(start.shape, times.shape, seen.shape)

# %%
figure, axis = plt.subplots(figsize=(4, 4), layout="constrained")
for one, observed in zip(start[:25], seen[:25], strict=True):
    axis.plot(*np.vstack([one, observed]).T, "o-", ms=2.5, lw=0.6, color="0.4")
    axis.plot(*one, "o", ms=4, color="#E69F00")
axis.set_aspect("equal")
axis.set(title="25 samples; starts in orange")
# %% [markdown]
# ## Training on trajectories
#
# Pass the times to `fit`, either one row for all samples or one row per sample. The targets then have a time
# axis after the sample axis. A penalty weaker than the default lets the net follow the data closely.

# %%
field = sx.UpDown(dim=2, inflation=8, activation="tanh")
control = sx.Particles.draw(field, 10, T=1.0, key=jax.random.key(0))
net = sx.Net(field, control, key=jax.random.key(1))
result = sx.fit(net, start, seen, times=times, epochs=300, penalty_strength=0.01)
net = result.net
sx.plots.history(result)
# %% [markdown]
# ## Any time in between
#
# `net(x, times)` returns the output at the given times. Outputs at grid points of the integrator need no
# interpolation; others are interpolated to fourth order within a step.

# %%
new = random.normal(0, 0.7, (100, 2))
fine = np.linspace(0, 1, 101)
paths = np.asarray(net(new, fine))
true = spiral(new[:, None], fine)
print(f"root mean square error at 101 times: {np.sqrt(np.mean((paths - true) ** 2)):.3f}")

figure, axis = plt.subplots(figsize=(4, 4), layout="constrained")
for path, exact in zip(paths[:12], true[:12], strict=True):
    axis.plot(*exact.T, color="0.75", lw=4)
    axis.plot(*path.T, color="#009E73", lw=1)
axis.set_aspect("equal")
axis.set(title="learned (green) on the truth (grey)")
# %% [markdown]
# ## Beyond the data
#
# The data end at $t = 1$, and so does the net, whose depth is $T$. To continue, start again from the last
# output.

# %%
points, long = np.array([[0.4, 0.0]]), []
for _ in range(3):
    long.append(np.asarray(net(points, fine))[0])
    points = long[-1][-1:]
path = np.concatenate(long)
exact = spiral(np.array([[0.4, 0.0]])[:, None], np.linspace(0, 3, 301))[0]
figure, axis = plt.subplots(figsize=(4, 4), layout="constrained")
axis.plot(*exact.T, color="0.75", lw=4, label="truth")
axis.plot(*path.T, color="#009E73", label="three flows pasted")
axis.set_aspect("equal")
axis.legend()

# %% [markdown]
# ## When you only want forecasts
#
# [`ShootingForecaster`](../guides/tables.md#sequences) handles scaling, missing entries, uneven times and
# early stopping.
