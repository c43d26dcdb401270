# %% [markdown]
# # From trained model to ONNX, PyTorch and NumPy
#
# Data never act on particles. After training, you can therefore compute the weights once, which leaves a
# plain residual network that any program can run.

# %%
import jax
import matplotlib.pyplot as plt
import numpy as np

import shootax as sx

x = np.random.default_rng(0).uniform(-1.5, 1.5, (300, 1)).astype(np.float32)
y = sx.data.cubic(x)
net = sx.Net(sx.UpDown(dim=1, inflation=16), particles=10, key=jax.random.key(0))
net = sx.fit(net, x, y, epochs=100).net

# %% [markdown]
# ## Baking
#
# `bake` lists the weights stage by stage. The result is a net without particles, and its output
# is the same up to rounding.

# %%
plain = sx.bake(net)
print(type(net.control).__name__, "→", type(plain.control).__name__)
print(f"largest difference {np.abs(np.asarray(net(x) - plain(x))).max():.1e}")
print(f"{sx.count(net)} numbers become {sx.count(plain)}")

# %% [markdown]
# A plain network may take fewer steps than the particles. How much does this change the output?

# %%
report = sx.bake_report(net, x, steps=(10, 5, 3, 2, 1))
for line in report:
    print(f"{line.steps:3d} steps: error {line.error:.1e}, {line.parameters} numbers")
figure, axis = plt.subplots(figsize=(4.5, 3), layout="constrained")
axis.loglog([line.steps for line in report], [line.error for line in report], "o-", color="#009E73")
axis.set(xlabel="steps of the plain network", ylabel="change of the output")
# %% [markdown]
# `bake_within` finds the fewest steps within a tolerance.

# %%
small = sx.bake_within(net, x, tolerance=1e-2)
print(small.integrator)

# %% [markdown]
# ## Files for other programs
#
# One function writes all formats.

# %%
for to, name in (("onnx", "net.onnx"), ("torch", "net_torch.py"), ("numpy", "net_numpy.npz")):
    files = sx.export.write(net, name, to=to)
    print(f"{to:6}", *(f"{file.name} ({file.stat().st_size / 1000:.0f} kB)" for file in files))

# %% [markdown]
# All of them give the same output. `difference` runs the file on random inputs, in the program it is for,
# and returns the difference from the model. It returns `None` if that program is not installed.

# %%
for to, name in (("onnx", "net.onnx"), ("torch", "net_torch.py"), ("numpy", "net_numpy.npz")):
    print(f"{to:6} {sx.export.difference(net, name, to)}")

# %% [markdown]
# ### ONNX

# %%
import onnxruntime

session = onnxruntime.InferenceSession("net.onnx")
(name,) = [each.name for each in session.get_inputs()]
print(session.run(None, {name: np.array([[0.5], [1.0]], np.float32)})[0].ravel())
print(np.asarray(net(np.array([[0.5], [1.0]], np.float32))).ravel())

# %% [markdown]
# ### PyTorch
#
# The file is readable, needs only PyTorch, and can be trained further. These are its first lines:

# %%
with open("net_torch.py") as file:
    print("".join(file.readlines()[:25]))

# %% [markdown]
# ### NumPy
#
# Next to the weights is a reader of about 40 lines, which needs only NumPy.

# %%
import net_numpy

run = net_numpy.load("net_numpy.npz")
grid = np.linspace(-1.5, 1.5, 101, dtype=np.float32)[:, None]
figure, axis = plt.subplots(figsize=(4.5, 3), layout="constrained")
axis.plot(grid, np.asarray(net(grid)), color="0.7", lw=5, label="JAX")
axis.plot(grid, np.asarray(run(grid)).reshape(-1, 1), color="#009E73", label="NumPy")
axis.legend()
