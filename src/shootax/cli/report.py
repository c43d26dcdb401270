"""Write a report on a saved model."""

import pathlib
from typing import Any

import numpy as np

import shootax as sx
from shootax import report
from shootax._files import check_output
from shootax.cli.text import say


def run(
    model: pathlib.Path, data: pathlib.Path | None, target: str | None, out: pathlib.Path
) -> None:
    """Write the report."""
    check_output(out, inputs=[path for path in (model, data) if path is not None])
    record = sx.load_record(model)
    if target is not None and data is None:
        raise ValueError("--target is the name of a column of a table; give the table with --data.")
    options: dict[str, Any] = {"record": record, "title": f"Inside {model.name}"}
    if record.get("estimator") is not None:
        subject, more = _estimator(model, record, data, target)
    else:
        subject, more = sx.load(model), {} if data is None else _of_file(data, target)
    report.write(subject, out, **options, **more)
    say(f"Written: {out} ({out.stat().st_size / 1e6:.1f} MB)")


def _of_file(data: pathlib.Path, target: str | None) -> dict[str, Any]:
    """Inputs and targets for a net: the columns of a table, or the arrays of a `.npz` file."""
    if data.suffix.lower() == ".npz":
        return _of_arrays(data, target)
    from shootax.cli import tables

    table = tables.read(data)
    y = None
    if target is not None:
        tables.needed(table, {f"for --target in {data}": [target]})
        y = table.pop(target)
    strange = [str(name) for name in table.columns if table[name].dtype.kind not in "iufb"]
    if strange:
        raise ValueError(
            f"Column {strange[0]!r} of {data} is not numeric, but a net needs numbers. Leave it out, or "
            "use a model written by `shootax fit`, which encodes its columns."
        )
    return {"x": table, "y": y}


def _of_arrays(data: pathlib.Path, target: str | None) -> dict[str, Any]:
    if target is not None:
        raise ValueError(
            f"--target is the name of a column of a table, but {data} holds arrays x, y, times."
        )
    try:
        with np.load(data, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in ("x", "y", "times") if name in arrays}
    except Exception as error:  # from NumPy or the archive, or out of memory
        raise ValueError(
            f"{data} cannot be read as arrays of numbers ({type(error).__name__}): it is damaged, too "
            "large, or not a .npz file. Write it with numpy.savez."
        ) from error
    if "x" not in found:
        raise ValueError(
            f"{data} has no array called x. Write it with numpy.savez({data.name!r}, x=x)."
        )
    return found


def _estimator(
    model: pathlib.Path, record: dict[str, Any], data: pathlib.Path | None, target: str | None
) -> tuple[Any, dict[str, Any]]:
    from shootax.sklearn import load_estimator

    estimator = load_estimator(model)
    if data is None:
        return estimator, {}
    if data.suffix.lower() == ".npz":
        return estimator, _of_arrays(data, target)
    if record.get("table") is None:
        return estimator, _of_file(data, target)
    return estimator, _of_table(record["table"], data, target)


def _of_table(about: dict[str, Any], data: pathlib.Path, target: str | None) -> dict[str, Any]:
    """Encode the columns of a table as `shootax fit` did."""
    from shootax.cli import tables
    from shootax.sklearn import tables as columns

    table = tables.read(data)
    wanted = about["target"] if target is None else target
    if target is not None:
        tables.needed(table, {f"for --target in {data}": [target]})
    y = table[wanted] if wanted in table.columns else None
    known = columns.from_json(about["columns"])
    x, notes = columns.encode(table, known)
    for note in notes:
        say(f"Note: {note}.")
    names = [column.name for column in known for _ in range(column.width)]
    if y is not None:
        there = y.notna().to_numpy()
        x, y = x[there], y[there]
    return {"x": x, "y": y, "columns": names}
