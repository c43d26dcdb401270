"""Compress a saved network to particles."""

import json
import pathlib

import jax
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

import shootax as sx
from shootax._files import check_output
from shootax.cli.text import say, show_table


def run(
    model: pathlib.Path,
    out: pathlib.Path | None,
    tolerance: float,
    particles: str | None,
    starts: int,
    iterations: int,
    seed: int,
    as_json: bool,
) -> None:
    """Print the curve of error against particles, and write the compressed net."""
    if out is not None:
        check_output(out, inputs=[model])
    about = sx.load_record(model).get("estimator")
    if about is not None:
        kind = about.get("kind") if isinstance(about, dict) else about
        raise ValueError(
            f"{model} holds a {kind}; compress takes a single Net, and would lose the "
            "scaling of its columns. To compress only its net, write the net to another file: "
            f"shootax.save('net.safetensors', shootax.load({str(model)!r}))."
        )
    net = sx.load(model)
    if not isinstance(net, sx.Net):
        raise ValueError(f"{model} holds a {type(net).__name__}; compress takes a single Net.")
    found = sx.compress(
        net,
        tolerance=tolerance,
        particles=_numbers(particles),
        starts=starts,
        iterations=iterations,
        key=jax.random.key(seed),
    )
    if as_json:
        curve = [point._asdict() for point in found.curve]
        print(json.dumps({"reached": found.reached, "original": found.original, "curve": curve}))
    else:
        _show(found)
    if out is not None:
        record = {"tolerance": tolerance, "curve": [point._asdict() for point in found.curve]}
        sx.save(out, found.net, record=record)
        if not as_json:
            say(f"Written: {out}")


def _numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise ValueError(
            f"--particles must be whole numbers separated by commas, such as 1,2,5; got {text!r}."
        ) from error


def _show(found: sx.extend.Compression) -> None:
    table = Table(title="Error against the number of particles", box=SIMPLE, show_edge=False)
    for heading in ("particles", "relative error", "at least", "parameters"):
        table.add_column(heading, justify="right", no_wrap=True)
    for point in found.curve:
        table.add_row(
            str(point.particles),
            f"{point.error:.2e}",
            f"{point.bound:.2e}",
            f"{point.parameters:,}",
        )
    console = Console()
    show_table(table, console)
    chosen = found.net.control.ensemble.particles  # pyright: ignore[reportAttributeAccessIssue]
    verdict = "within" if found.reached else "none is within"
    console.print(
        f"{chosen} particles, {verdict} the tolerance of {found.tolerance:g}; the given network has "
        f"{found.original:,} parameters."
    )
