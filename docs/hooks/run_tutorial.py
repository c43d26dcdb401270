"""Runs one tutorial: `python run_tutorial.py FILE FOLDER` writes Markdown, pictures and a notebook.

Each code cell is executed in turn. What it prints and the figures that it leaves open are its output.
An error ends the run, and with it the build.
"""

import base64
import contextlib
import io
import json
import pathlib
import sys
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from percent import Cell, cells


class Output:
    """What a cell left: text, and figures as PNG."""

    def __init__(self, text: str, figures: list[bytes]):
        self.text, self.figures = text, figures


def execute(cell: Cell, names: dict, file: str) -> Output:
    """Runs a cell in a namespace."""
    import matplotlib.pyplot as plt

    code = compile("\n" * (cell.line - 1) + cell.text, file, "exec")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    figures = []
    for number in plt.get_fignums():
        picture = io.BytesIO()
        plt.figure(number).savefig(picture, format="png", dpi=130, bbox_inches="tight")
        figures.append(picture.getvalue())
    plt.close("all")
    return Output(printed.getvalue(), figures)


def page(file: pathlib.Path, done: list[tuple[Cell, Output | None]], seconds: float) -> str:
    """The tutorial as Markdown. Pictures stand beside it."""
    parts, number = [], 0
    for cell, output in done:
        if output is None:
            parts.append(cell.text)
            continue
        parts.append(f"```py\n{cell.text}\n```")
        if output.text.strip():
            parts.append(f"``` {{ .text .output }}\n{output.text.rstrip()}\n```")
        for _ in output.figures:
            number += 1
            parts.append(f"![Figure {number}]({file.stem}-{number}.png)")
    note = (
        f"*Made by running [`{file.name}`]({file.name}), which took {seconds:.0f} s here. "
        f"Download it as a [notebook]({file.stem}.ipynb).*"
    )
    head, _, rest = parts[0].partition("\n")
    return "\n\n".join([head, note, rest.strip(), *parts[1:]]) + "\n"


def notebook(done: list[tuple[Cell, Output | None]]) -> dict:
    """The tutorial as a Jupyter notebook (format 4.5), with its outputs."""
    written = []
    for number, (cell, output) in enumerate(done):
        entry: dict = {
            "id": f"cell-{number}",
            "cell_type": cell.kind,
            "metadata": {},
            "source": cell.text,
        }
        if output is not None:
            shown: list[dict] = []
            if output.text:
                shown.append({"output_type": "stream", "name": "stdout", "text": output.text})
            for figure in output.figures:
                data = {"image/png": base64.b64encode(figure).decode()}
                shown.append({"output_type": "display_data", "metadata": {}, "data": data})
            entry |= {"execution_count": None, "outputs": shown}
        written.append(entry)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": written}


def main(file: pathlib.Path, folder: pathlib.Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    sys.path.insert(0, "")  # files that a tutorial writes can be imported, as in a notebook
    warnings.simplefilter("error", DeprecationWarning)
    warnings.filterwarnings("default", category=DeprecationWarning, module=r"(?!shootax|__main__)")
    began = time.perf_counter()
    names: dict = {"__name__": "__main__"}
    done: list[tuple[Cell, Output | None]] = []
    for cell in cells(file.read_text()):
        output = execute(cell, names, str(file)) if cell.kind == "code" else None
        done.append((cell, output))
    folder.mkdir(parents=True, exist_ok=True)
    figures = [figure for _, output in done if output for figure in output.figures]
    for number, figure in enumerate(figures, start=1):
        (folder / f"{file.stem}-{number}.png").write_bytes(figure)
    (folder / f"{file.stem}.ipynb").write_text(json.dumps(notebook(done), indent=1) + "\n")
    (folder / f"{file.stem}.md").write_text(page(file, done, time.perf_counter() - began))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
