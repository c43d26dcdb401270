"""Export a saved model for another program."""

import dataclasses
import pathlib
from typing import Any

import shootax as sx
from shootax import _checks as checks
from shootax.cli.text import say
from shootax.export import ENDINGS, TARGETS, Whole, companions, difference
from shootax.extend import AbstractFixedStep


def run(
    model: pathlib.Path, to: str, out: pathlib.Path | None, input: str | None, steps: int | None
) -> None:
    """Write the files, and print the largest difference of their outputs from the model's."""
    checks.one_of(to, TARGETS, "format")
    loaded, shape = _loaded(model), _shape(input)
    whole = isinstance(loaded, Whole)
    if whole and shape is not None:
        raise ValueError(f"{model} holds an estimator, which knows its columns. Leave out --input.")
    if out is None:
        word = f"_{to}" if to in ("torch", "numpy") else ""
        out = model.with_name(f"{model.stem}{word}{ENDINGS[to]}")
    if any(path.resolve() == model.resolve() for path in companions(out, to, whole)):
        raise ValueError(
            f"The export would overwrite {model} itself. Give another name with --out."
        )
    plain = loaded if steps is None else _with_steps(loaded, steps)
    written = sx.export.write(plain, out, to=to, input=shape)  # pyright: ignore[reportArgumentType]
    for path in written:
        say(f"Written: {path} ({path.stat().st_size:,} bytes)")
    samples = "100 random samples"
    if whole:
        samples = "100 random raw samples in the ranges of its table"
    gap = difference(loaded if whole else plain, out, to, input=shape)
    if gap is None:
        say(f"The export was not checked, because the program for {to} is not installed.")
        return
    say(f"Largest difference from the model on {samples}: {gap:.1e}")
    if steps is not None and whole:
        say(f"This includes the difference due to {steps} steps instead of the model's own.")
    elif steps is not None:
        change = difference(loaded, out, to, input=shape)
        say(f"Difference due to {steps} steps instead of the model's own: {change:.1e}")


def _loaded(path: pathlib.Path) -> Any:
    """The model in a file; an estimator includes its encoding and scaling."""
    if "estimator" not in sx.load_record(path):
        return sx.load(path)
    from shootax.sklearn import load_estimator

    return load_estimator(path)._exported()


def _with_steps(model: Any, steps: int) -> Any:
    if isinstance(model, Whole) and not isinstance(model.net, sx.Net):
        raise ValueError(f"--steps cannot be used with a {model.about['estimator']}. Leave it out.")
    if isinstance(model, Whole):
        return dataclasses.replace(model, net=_with_steps(model.net, steps))
    return sx.bake(model, integrator=_coarser(model, steps))


def _coarser(net: Any, steps: int) -> AbstractFixedStep:
    if not isinstance(net, sx.Net):
        raise ValueError(
            "--steps can be used only with a single net. Bake the parts of a larger model yourself."
        )
    if isinstance(net.integrator, AbstractFixedStep):
        return dataclasses.replace(net.integrator, steps=steps)
    return sx.RK4(steps=steps)


def _shape(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise ValueError(f"--input takes sizes such as 3,28,28; got {text!r}.") from error
