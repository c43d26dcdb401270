"""The maps at both ends of a net: from inputs to states, and from states to outputs."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import shootax as sx
from shootax import nn
from shootax.theory._measure import Measured


def lipschitz_of_ends(net: sx.Net, *, lift: bool = True) -> float | None:
    """The product of the Lipschitz constants of lift and readout, or `None` unless both are affine."""
    before, after = _lift(net.lift) if lift else 1.0, _readout(net.readout)
    return None if before is None or after is None else before * after


def _lift(lift: Any) -> float | None:
    if isinstance(lift, nn.IdentityLift | nn.ZeroLift | nn.ConstantLift):
        return 1.0
    if isinstance(lift, nn.AffineLift | nn.ChannelLift):  # (x, W x + c)
        return float(np.sqrt(1 + np.linalg.norm(np.asarray(lift.weight), 2) ** 2))
    if isinstance(lift, nn.LinearLift):
        return float(np.linalg.norm(np.asarray(lift.weight), 2))
    return None


def _readout(readout: Any) -> float | None:
    if isinstance(readout, nn.IdentityReadout | nn.VisibleReadout):
        return 1.0
    if isinstance(readout, nn.LinearReadout):
        return float(np.linalg.norm(np.asarray(readout.weight), 2))
    return None


def slopes_of_net(net: sx.Net, x: Any, seen: Measured) -> np.ndarray:
    """The largest singular value of the Jacobian of the whole network, at each point."""
    assert seen.jacobians is not None
    points = len(seen.jacobians)
    inputs = jnp.asarray(np.asarray(x)[:points], jnp.result_type(float))
    shape = jax.eval_shape(net.lift, inputs[0]).shape
    ends = jnp.asarray(seen.states[-1][:points]).reshape(points, *shape)
    before = np.asarray(jax.vmap(jax.jacfwd(net.lift))(inputs)).reshape(points, -1, inputs[0].size)
    after = np.asarray(jax.vmap(jax.jacfwd(net.readout))(ends)).reshape(points, -1, ends[0].size)
    return np.linalg.norm(after @ seen.jacobians @ before, 2, axis=(-2, -1))
