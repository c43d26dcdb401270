# %% [markdown]
# # Latent dynamics of images
#
# A latent model encodes the first frame of a sequence to a point in a latent space. A shooting network moves
# this point along its depth, which is the time of the sequence, and a decoder turns the points it passes into
# frames. The data are rotating handwritten threes. This is a small version of the paper's experiment, with
# few epochs; [the full one](../paper/rotating-mnist.md) trains for 20 minutes.

# %%
import jax
import matplotlib.pyplot as plt
import numpy as np

import shootax as sx

train, test = sx.data.rotating_mnist()


def halved(frames):
    """Every second frame up to the ninth, at half the resolution, so that training takes a minute."""
    frames = frames[:, :9:2]
    return frames.reshape(*frames.shape[:2], 14, 2, 14, 2).mean(axis=(3, 5))


frames, held_out = halved(train.frames[:300]), halved(test.frames[:100])
times = train.times[:9:2]
print(frames.shape, times)

# %% [markdown]
# Each sequence has five frames, from upright to a rotation by 192 degrees.

# %%


def show(rows, titles):
    """Rows of frames under each other."""
    figure, axes = plt.subplots(len(rows), 5, figsize=(5, 1.1 * len(rows)), layout="constrained")
    for line, row, title in zip(axes, rows, titles, strict=True):
        for axis, frame in zip(line, row, strict=True):
            axis.imshow(frame, cmap="gray", vmin=0, vmax=1)
            axis.set(xticks=[], yticks=[])
        line[0].set_ylabel(title, fontsize=7)


show(frames[:3], ("one", "two", "three"))

# %% [markdown]
# ## The model
#
# The model has three parts, and you can replace each of them with your own module. The net moves points of a
# ten-dimensional latent space.

# %%
keys = jax.random.split(jax.random.key(0), 4)
field = sx.UpDown(dim=10, inflation=4)
control = sx.Particles.draw(field, 20, T=float(times[-1]), position=sx.Gaussian(), key=keys[0])
net = sx.Net(field, control, integrator=sx.RK4(steps=4), key=keys[1])
model = sx.nn.LatentModel(
    sx.nn.ImageEncoder(10, size=14, channels=(8, 16), key=keys[2]),
    net,
    sx.nn.ImageDecoder(10, size=14, channels=(16, 8), key=keys[3]),
    times,
)
print(f"{sx.count(model)} parameters, {sx.count(model.net)} of them in the net")

# %% [markdown]
# `fit` trains any Equinox module that contains a net. The first frame is the input, and all frames are the
# target. As in the paper's setting for these data, the penalty is weaker than by default.

# %%
first = frames[:, :1]
result = sx.fit(model, first, frames, epochs=80, batch_size=25, penalty_strength=0.1)
model = result.net
sx.plots.history(result)
# %% [markdown]
# ## New digits
#
# The model sees the first frame of a sequence that it was not trained on, and predicts the other frames.

# %%
predicted = np.asarray(model(held_out[:, :1]))
error = np.mean((predicted - held_out) ** 2)
average = np.mean((frames.mean(axis=0) - held_out) ** 2)
print(f"error {error:.4f}; of the mean training sequence {average:.4f}")
show([held_out[0], predicted[0], held_out[1], predicted[1]], ("truth", "model", "truth", "model"))

# %% [markdown]
# ## Between the frames
#
# Depth is continuous, so you can evaluate the model at times for which it never saw a frame.

# %%
between = np.linspace(0, times[-1], 9)
many = np.asarray(model(held_out[:1, :1], between))[0]
figure, axes = plt.subplots(1, 9, figsize=(8, 1.2), layout="constrained")
for axis, frame, t in zip(axes, many, between, strict=True):
    axis.imshow(frame, cmap="gray", vmin=0, vmax=1)
    axis.set(xticks=[], yticks=[])
    axis.set_title(f"t = {t:.1f}", fontsize=7)

# %% [markdown]
# ## The latent space
#
# The plot shows the paths of 30 digits, projected onto the two largest principal components. Digits of
# similar shape take similar paths.

# %%
codes = model.encoder(held_out[:30, :1])
sx.plots.flow(model.net, codes)
