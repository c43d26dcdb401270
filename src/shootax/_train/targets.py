"""Check that targets match the outputs of a model, for the losses of the library."""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array

from shootax._train.losses import Loss, cross_entropy, squared_error
from shootax._train.samples import AbstractSampler, Data, drawn


def matched(
    model: Any,
    data: Data | AbstractSampler,
    loss: Loss,
    times: tuple[float, ...] | None,
    what: str = "",
) -> Any:
    """Return the data with targets of the shape that the loss expects, or raise an error.

    Only shapes are computed. The user's own loss may take targets of any kind. In that case, the model
    is evaluated only if the times differ by sample, to check the times.
    """
    ours = loss is squared_error or loss is cross_entropy
    if not ours and (isinstance(data, AbstractSampler) or data.times is None):
        return data
    shapes = data
    if isinstance(data, AbstractSampler):
        shapes = eqx.filter_eval_shape(drawn, data, jax.random.key(0))
    assert isinstance(shapes, Data)
    output = outputs_of(model, shapes, times)
    if not ours:
        return data
    if not jax.tree.leaves(shapes.y):
        raise ValueError(
            f"There are no {what}targets: give them as fit(net, x, y), or use a loss function of your "
            "own that does not need them."
        )
    if not _is_array(output) or not _is_array(shapes.y):
        raise ValueError(
            "The losses of the library compare one array of outputs with one array of targets; the "
            f"outputs are {_show(output)} and the {what}targets {_show(shapes.y)}. Write a function "
            "of one output and one target for `loss`."
        )
    expected = _classification if loss is cross_entropy else _regression
    shape = expected(shapes.y.shape, output.shape, what)
    if isinstance(data, AbstractSampler):
        if shape != shapes.y.shape:
            raise ValueError(
                f"The sampler must draw targets of shape {shape}, as the model's outputs have shape "
                f"{output.shape}; got {shapes.y.shape}. Reshape them in the sampler."
            )
        return data
    if loss is cross_entropy:
        _check_labels(np.asarray(data.y)[np.asarray(data.sample_weight) > 0], output.shape[1], what)
    return data._replace(y=data.y.reshape(shape))  # pyright: ignore[reportAttributeAccessIssue]


def outputs_of(model: Any, data: Data, times: tuple[float, ...] | None) -> Any:
    """The shapes of the outputs. Times are concrete here, but traced inside an epoch."""
    at = times if data.times is None else np.asarray(data.times)
    return eqx.filter_eval_shape(
        lambda model, x: model(x) if at is None else model(x, at), model, data.x
    )


def _is_array(tree: Any) -> bool:
    return isinstance(tree, jax.ShapeDtypeStruct | Array)


def _show(tree: Any) -> str:
    return str(jax.tree.map(lambda leaf: leaf.shape, tree))


Shape = tuple[int, ...]


def _regression(got: Shape, output: Shape, what: str) -> Shape:
    """The shape of the outputs, if the targets have that shape up to a trailing axis of length one."""
    if output in (got, (*got, 1)) or got == (*output, 1):
        return output
    raise ValueError(
        f"The {what}targets have shape {got}, but the outputs of the model have shape {output}. Give "
        "one target for each output, or the model as many outputs as there are targets "
        f"(readout={got[-1] if len(got) > 1 else 1})."
    )


def _classification(got: Shape, output: Shape, what: str) -> Shape:
    """One class number for each sample."""
    if len(output) != 2 or output[1] < 2:
        raise ValueError(
            "The loss 'cross_entropy' needs outputs of shape (samples, classes) with at least two "
            f"classes, got {output}. Give the net that many outputs, as in readout=2."
        )
    if got in (output[:1], (output[0], 1)):
        return output[:1]
    if got == output:
        raise ValueError(
            f"The loss 'cross_entropy' takes class numbers of shape {output[:1]}, got {what}targets of "
            f"shape {got}, which look one-hot. Use y.argmax(axis=1)."
        )
    raise ValueError(
        f"The loss 'cross_entropy' takes class numbers of shape {output[:1]}, got {what}targets of "
        f"shape {got}."
    )


def _check_labels(labels: np.ndarray, classes: int, what: str) -> None:
    lowest, highest = labels.min(), labels.max()
    whole = bool(np.all(labels == np.round(labels)))
    if whole and lowest >= 0 and highest < classes:
        return
    advice = "Number them with np.unique(y, return_inverse=True)[1]"
    if whole and lowest == 1 and highest == classes:
        advice = "Subtract 1"
    kind = "whole numbers" if whole else "numbers that are not whole"
    raise ValueError(
        f"The {what}targets must be class numbers from 0 to {classes - 1}, as the model has {classes} "
        f"outputs; got {kind} from {lowest:g} to {highest:g}. {advice}, or give the model more "
        "outputs."
    )
