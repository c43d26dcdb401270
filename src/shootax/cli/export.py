"""A saved model for another program."""

import dataclasses
import pathlib
from typing import Any

from rich.console import Console

import shootax as sx
from shootax import checks
from shootax.export import TARGETS, difference
from shootax.export.write import ENDINGS, companions
from shootax.integrators import AbstractFixedStep


def run(
    model: pathlib.Path, to: str, out: pathlib.Path | None, input: str | None, steps: int | None
) -> None:
    """Writes the files and tells how far they are from the model."""
    console = Console()
    checks.one_of(to, TARGETS, "format")
    net, shape = sx.load(model), _shape(input)
    if out is None:
        word = f"_{to}" if to in ("torch", "numpy") else ""
        out = model.with_name(f"{model.stem}{word}{ENDINGS[to]}")
    if any(path.resolve() == model.resolve() for path in companions(out, to)):
        raise ValueError(f"The export would overwrite {model} itself. Give another name by --out.")
    plain = net if steps is None else sx.bake(net, integrator=_coarser(net, steps))
    written = sx.export(plain, out, to=to, input=shape)  # pyright: ignore[reportArgumentType]
    for path in written:
        console.print(f"Written: {path} ({path.stat().st_size:,} bytes)", highlight=False)
    gap = difference(plain, out, to, input=shape)
    if gap is None:
        console.print(f"Not run: the program for {to} is not installed here.")
    else:
        console.print(f"Largest difference from the model on 100 random rows: {gap:.1e}")
    if steps is not None:
        change = difference(net, out, to, input=shape)
        if change is not None:
            console.print(f"Of which by {steps} steps instead of its own: {change:.1e}")


def _coarser(net: Any, steps: int) -> AbstractFixedStep:
    if not isinstance(net, sx.Net):
        raise ValueError("--steps is for a single net; bake the parts of a larger model yourself.")
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
