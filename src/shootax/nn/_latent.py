"""Latent models of sequences: encode the first frames, follow the flow, and decode its states."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from shootax import _checks as checks
from shootax._flow import host_times
from shootax._net import Net

CHUNK = 1024
"""The number of frames that are decoded at once. It limits memory and does not change the result."""


class FrameRequest(NamedTuple):
    """An input of [`shootax.nn.LatentModel`][] that selects which frames to predict.

    **Arguments:**

    - `first`: the first frames of the sequences, for the encoder.
    - `which`: for each sequence, the indices of the frames to predict, `(batch, frames)`.

    !!! example

        ```python
        import jax.numpy as jnp
        import shootax as sx

        request = sx.nn.FrameRequest(jnp.ones((7, 1, 12, 12)), jnp.tile(jnp.array([0, 2]), (7, 1)))
        print(request.which.shape)  # (7, 2)
        ```
    """

    first: Any
    which: Any


class LatentModel(eqx.Module):
    """Predict all frames of sequences from the first: encoder, [`shootax.Net`][], decoder.

    The net moves points in the latent space. Its depth is the time of the sequences.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx

        keys = jax.random.split(jax.random.key(0), 3)
        times = [0.0, 0.1, 0.2, 0.3]
        field = sx.UpDown(dim=5, inflation=2)
        control = sx.formulation("dynamic-particles", field, particles=4, key=keys[0], T=0.3)
        net = sx.Net(field, control, integrator=sx.RK4(steps=3), key=keys[0])
        encoder = sx.nn.ImageEncoder(5, size=12, channels=(2, 4), key=keys[1])
        decoder = sx.nn.ImageDecoder(5, size=12, channels=(4, 2), key=keys[2])
        model = sx.nn.LatentModel(encoder, net, decoder, times)
        print(model(jnp.ones((7, 1, 12, 12))).shape)  # (7, 4, 12, 12)
        print(sx.penalty(model) > 0)  # True
        ```
    """

    encoder: Callable[[Any], Any]
    net: Net
    decoder: Callable[[Any], Any]
    times: tuple[float, ...] = eqx.field(static=True)

    def __init__(
        self, encoder: Callable[[Any], Any], net: Net, decoder: Callable[[Any], Any], times: Any
    ):
        """**Arguments:**

        - `encoder`: maps the first frames `(batch, frames, ...)` to latent points `(batch, dim)`.
        - `net`: moves the latent points.
        - `decoder`: maps latent points `(batch, dim)` to frames `(batch, ...)`.
        - `times`: the times of all frames, between 0 and the net's `T`.
        """
        example = "LatentModel(encoder, net, decoder, times)"
        checks.instance(net, Net, "net", example)
        for name, part in (("encoder", encoder), ("decoder", decoder)):
            if not callable(part) or isinstance(part, type):
                raise TypeError(
                    f"{name} must be a module that maps a batch to a batch, got "
                    f"{checks.shown(part)}. Write {example}."
                )
        self.encoder, self.net, self.decoder = encoder, net, decoder
        known = host_times(times)
        if known.ndim != 1:
            raise ValueError(f"times must have shape (times,), got shape {known.shape}.")
        self.times = tuple(float(t) for t in known)
        T = net.control.T
        if not self.times or self.times[0] < 0 or self.times[-1] > T * (1 + 1e-9):
            raise ValueError(
                f"The times must satisfy 0 ≤ t ≤ {T:g}, the depth of the net; got {self.times}. Give "
                "the control a larger T."
            )

    def __call__(self, x: Any, times: Any = None) -> Float[Array, "batch time ..."]:
        """Predict frames from the first frames, at the given times or, by default, the model's times.

        If `x` is a [`shootax.nn.FrameRequest`][], only the requested frames are decoded, which saves
        most of the work.
        """
        if isinstance(x, FrameRequest):
            path = self.paths(x.first, times)
            which = jnp.asarray(x.which).astype(int)
            path = jnp.take_along_axis(path, which[:, :, None], axis=1)
        else:
            path = self.paths(x, times)
        return decoded(self.decoder, path)

    def paths(self, first: Any, times: Any = None) -> Float[Array, "batch time dim"]:
        """The trajectories in latent space."""
        return self.net(self.encoder(first), self.times if times is None else times)


def decoded(decoder: Callable[[Any], Any], path: Float[Array, "batch time dim"]) -> Array:
    """Decode the points of trajectories, in chunks that limit memory."""
    points = path.reshape(-1, path.shape[-1])
    number = points.shape[0]
    if number <= CHUNK:
        frames = decoder(points)
    else:
        pieces = -(-number // CHUNK)
        padded = jnp.pad(points, ((0, pieces * CHUNK - number), (0, 0)))
        frames = jax.lax.map(decoder, padded.reshape(pieces, CHUNK, -1))
        frames = frames.reshape(-1, *frames.shape[2:])[:number]
    return frames.reshape(*path.shape[:2], *frames.shape[1:])
