"""Residual networks of images with free layers in Equinox and in PyTorch, with the weights of our
network.

Both use the library's own convolutions, as its users would. The structure is written once, for the
operations of either library.
"""

import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

import shootax as sx

if TYPE_CHECKING:
    from benchmarks.speed.convolution import Network

LEARNING_RATE = 1e-3
Parameters = dict[str, Any]


def missing() -> bool:
    """Return whether PyTorch is missing."""
    return importlib.util.find_spec("torch") is None


class Operations(Protocol):
    """The operations of a library on images `(batch, channels, height, width)`."""

    def conv(self, x: Any, weight: Any, bias: Any, stride: int = 1) -> Any: ...
    def norm(self, x: Any, weight: Any, bias: Any) -> Any: ...
    def halved(self, x: Any) -> Any: ...
    def cells(self, x: Any, number: int) -> Any: ...
    def tanh(self, x: Any) -> Any: ...
    def relu(self, x: Any) -> Any: ...
    def joined(self, parts: list[Any]) -> Any: ...


def parameters(network: "Network", model: sx.nn.Classifier) -> Parameters:
    """The parameters of our network with free layers, by name and layer."""
    out: Parameters = {"head.w": model.head.weight, "head.b": model.head.bias}
    stem: Any = model.stem
    if network.inflation is None:
        out |= {"stem.w": stem.weight, "stem.b": stem.bias.ravel()}
    else:
        for i, layer in enumerate(stem.layers):
            out |= {
                f"stem{i}.w": jnp.transpose(layer.weight, (3, 2, 0, 1)),
                f"stem{i}.b": layer.bias,
            }
    body: Any = model.body
    for b, net in enumerate(body.nets[::2]):
        if network.inflation is not None:
            out |= {f"{b}.lift.w": net.lift.weight[:, :, None, None], f"{b}.lift.b": net.lift.bias}
        for name, theta in net.control.theta.items():
            out |= {f"{b}.{k}.{name}": theta[k] for k in range(network.layers)}
    for b, transition in enumerate(body.nets[1::2]):
        out |= {f"{b}.mix": transition.weight[:, :, None, None]}
        out |= {f"{b}.norm.w": transition.norm.weight, f"{b}.norm.b": transition.norm.bias}
    return {name: np.asarray(value) for name, value in out.items()}


def logits(network: "Network", ops: Operations, p: Parameters, x: Any) -> Any:
    """The logits of the network, computed with the operations of a library."""
    h = 1 / network.layers
    if network.inflation is None:
        x = ops.conv(x, p["stem.w"], p["stem.b"])
    else:
        x = ops.conv(x, p["stem0.w"], p["stem0.b"], 2)
        x = ops.conv(ops.relu(x), p["stem1.w"], p["stem1.b"], 2)
    for b, channels in enumerate(network.channels):
        if network.inflation is None:
            for k in range(network.layers):
                x = x + h * ops.conv(ops.tanh(x), p[f"{b}.{k}.A"], p[f"{b}.{k}.b"])
        else:
            v = ops.conv(x, p[f"{b}.lift.w"], p[f"{b}.lift.b"])
            for k in range(network.layers):
                own = {
                    name: p[f"{b}.{k}.{name}"]
                    for name in ("theta1", "theta2", "theta3", "b1", "b2")
                }
                weight = ops.joined([own["theta1"], own["theta3"]])
                both = ops.conv(ops.tanh(v), weight, ops.joined([own["b1"], own["b2"]]))
                x, v = (
                    x + h * both[:, :channels],
                    v + h * (both[:, channels:] + ops.conv(x, own["theta2"], None)),
                )
        if b < len(network.channels) - 1:
            x = ops.halved(ops.norm(x, p[f"{b}.norm.w"], p[f"{b}.norm.b"]))
            x = ops.conv(x, p[f"{b}.mix"], None)
    return ops.cells(x, network.cells) @ p["head.w"].T + p["head.b"][None]


class WithEquinox:
    """Operations from Equinox's layers, mapped over the batch."""

    def conv(self, x: Any, weight: Any, bias: Any, stride: int = 1) -> Any:
        outputs, inputs, width, _ = weight.shape
        layer = eqx.nn.Conv2d(
            inputs, outputs, width, stride, width // 2, use_bias=bias is not None,
            key=jax.random.key(0),
        )  # fmt: skip
        layer = eqx.tree_at(lambda l: l.weight, layer, weight)
        if bias is not None:
            layer = eqx.tree_at(lambda l: l.bias, layer, bias.reshape(-1, 1, 1))
        return jax.vmap(layer)(x)

    def norm(self, x: Any, weight: Any, bias: Any) -> Any:
        layer = eqx.nn.GroupNorm(4, x.shape[1])
        layer = eqx.tree_at(lambda l: (l.weight, l.bias), layer, (weight, bias))
        return jax.vmap(layer)(x)

    def halved(self, x: Any) -> Any:
        return jax.vmap(eqx.nn.AvgPool2d(2, 2))(x)

    def cells(self, x: Any, number: int) -> Any:
        size = x.shape[-1]
        cuts = [slice(i * size // number, -(-(i + 1) * size // number)) for i in range(number)]
        means = [jnp.mean(x[:, :, i, j], axis=(2, 3)) for i in cuts for j in cuts]
        return jnp.concatenate(means, axis=1)

    def tanh(self, x: Any) -> Any:
        return jnp.tanh(x)

    def relu(self, x: Any) -> Any:
        return jax.nn.relu(x)

    def joined(self, parts: list[Any]) -> Any:
        return jnp.concatenate(parts)


def jax_runner(
    network: "Network", model: sx.nn.Classifier, data: tuple[np.ndarray, np.ndarray]
) -> Callable[[], float]:
    """A function that runs a training step with Equinox and Optax and returns the loss before the
    step."""
    adam, (x, y) = optax.adam(LEARNING_RATE), (jnp.asarray(part) for part in data)
    start = {name: jnp.asarray(value) for name, value in parameters(network, model).items()}

    def loss(p: Parameters) -> jax.Array:
        found = logits(network, WithEquinox(), p, x)
        return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(found, y))

    @jax.jit
    def step(p: Parameters, state: Any) -> tuple[Parameters, Any, jax.Array]:
        value, slope = jax.value_and_grad(loss)(p)
        updates, state = adam.update(slope, state)
        return optax.apply_updates(p, updates), state, value  # pyright: ignore

    now: list[Any] = [start, adam.init(start)]

    def run() -> float:
        now[0], now[1], value = step(now[0], now[1])
        return float(value)

    return run


def torch_runner(
    network: "Network",
    model: sx.nn.Classifier,
    data: tuple[np.ndarray, np.ndarray],
    threads: int,
) -> Callable[[], float]:
    """A function that runs a training step with PyTorch and returns the loss before the step."""
    import torch  # pyright: ignore[reportMissingImports]
    from torch.nn import functional  # pyright: ignore[reportMissingImports]

    torch.set_num_threads(threads)

    class WithTorch:
        """Operations from PyTorch's functions."""

        def conv(self, x: Any, weight: Any, bias: Any, stride: int = 1) -> Any:
            return functional.conv2d(x, weight, bias, stride, weight.shape[-1] // 2)

        def norm(self, x: Any, weight: Any, bias: Any) -> Any:
            return functional.group_norm(x, 4, weight, bias)

        def halved(self, x: Any) -> Any:
            return functional.avg_pool2d(x, 2)

        def cells(self, x: Any, number: int) -> Any:
            cells = functional.adaptive_avg_pool2d(x, number)
            return cells.permute(0, 2, 3, 1).reshape(len(x), -1)

        def tanh(self, x: Any) -> Any:
            return torch.tanh(x)

        def relu(self, x: Any) -> Any:
            return torch.relu(x)

        def joined(self, parts: list[Any]) -> Any:
            return torch.cat(parts)

    p = {
        name: torch.tensor(value, requires_grad=True)
        for name, value in parameters(network, model).items()
    }
    adam = torch.optim.Adam(p.values(), lr=LEARNING_RATE)
    x, y = (torch.tensor(part) for part in data)

    def run() -> float:
        adam.zero_grad(set_to_none=True)
        value = functional.cross_entropy(logits(network, WithTorch(), p, x), y)
        value.backward()
        adam.step()
        return float(value.detach())

    return run
