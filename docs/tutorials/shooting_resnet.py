# %% [markdown]
# # A convolutional shooting ResNet
#
# Particles that are small images can generate the weights of a convolutional residual network. In this
# tutorial you train such a network on scikit-learn's 8×8 digits, and look at its particles and kernels.

# %%
import jax
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import shootax as sx

images, labels = load_digits(return_X_y=True)
images = (images / 16).reshape(-1, 1, 8, 8).astype(np.float32)
x, x_test, y, y_test = train_test_split(images, labels, test_size=0.3, random_state=0)
print(x.shape, x_test.shape)

# %% [markdown]
# ## Two blocks
#
# A block is a net with a convolutional field: $\dot z = \mathrm{conv}(σ(z), θ(t)) + b(t)$. Its particles
# are images of 3×3 pixels, although the data are larger: θ is a sum over the pixels of the particles, and
# does not depend on their size. Between the blocks, images are pooled and the number of channels doubles. Five
# steps of Euler's method are five layers.
#
# With ReLU, all features are positive, so all kernels of a channel move together. tanh trains far better.

# %%
PARTICLES, SIDE, LAYERS = 6, 3, 5
keys = jax.random.split(jax.random.key(0), 5)
nets = []
for channels, key in ((8, keys[0]), (16, keys[1])):
    field = sx.ConvAffine(channels, size=(SIDE, SIDE), activation="tanh")
    control = sx.Particles.draw(
        field,
        PARTICLES,
        position=sx.Gaussian(1.0),
        momentum=0.05,
        # θ* is a sum over all places of all particles, divided by this weight
        penalty=sx.Quadratic(default=PARTICLES * SIDE**2 / 10),
        key=key,
    )
    nets.append(sx.Net(field, control, integrator=sx.Euler(LAYERS), key=keys[2]))
model = sx.nn.resnet(tuple(nets), inputs=1, classes=10, groups=4, key=keys[3])
print(f"{sx.count(model)} parameters")

# %% [markdown]
# How many particles can you use? Up to this number per block, shooting has fewer parameters than free
# layers.

# %%
for net in nets:
    print(
        f"{net.field.dim} channels: break even at {sx.break_even(net.field, LAYERS):.0f} particles"
    )

# %% [markdown]
# ## Training

# %%
result = sx.fit(model, x, y, loss="cross_entropy", epochs=40, batch_size=64, penalty_strength=1e-3)
model = result.net
read = np.asarray(model(x_test)).argmax(axis=1)
print(f"{100 * np.mean(read == y_test):.1f} % of held-out digits read correctly")
sx.plots.history(result)
# %% [markdown]
# This is a short training. `examples/digits_resnet.py` trains wider blocks for 200 epochs on shifted
# images, next to a plain ResNet of the same shape. [The guide](../guides/fields.md#convolutions) has the
# numbers.
#
# ## What it gets wrong

# %%
wrong = np.flatnonzero(read != y_test)[:8]
figure, axes = plt.subplots(1, 8, figsize=(8, 1.4), layout="constrained")
for axis in axes:
    axis.axis("off")
for axis, i in zip(axes, wrong, strict=False):
    axis.imshow(x_test[i, 0], cmap="gray_r")
    axis.set_title(f"{y_test[i]}, read {read[i]}", fontsize=7)

# %% [markdown]
# ## Particles are images
#
# The plot shows positions (top) and momenta (bottom) of the first channel of the first block.

# %%
first = model.body.nets[0]
ensemble = first.control.ensemble
figure, axes = plt.subplots(2, PARTICLES, figsize=(7, 2.5), layout="constrained")
for row, part, name in zip(axes, (ensemble.q, ensemble.p), ("position", "momentum"), strict=True):
    largest = float(np.abs(part[:, 0]).max())
    for axis, image in zip(row, np.asarray(part[:, 0]), strict=True):
        axis.imshow(image, cmap="RdBu_r", vmin=-largest, vmax=largest)
        axis.set(xticks=[], yticks=[])
    row[0].set_ylabel(name)

# %% [markdown]
# ## Kernels along depth
#
# These are the weights that the particles generate in the first, the middle and the last layer.

# %%
sx.plots.weight_matrices(first)
