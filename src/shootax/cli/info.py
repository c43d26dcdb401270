"""Show the contents of a model file."""

import json
import pathlib
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

import shootax as sx
from shootax.cli.tables import show
from shootax.cli.text import plain, show_table


def describe(path: pathlib.Path) -> dict[str, Any]:
    """All information in a file about its model, as JSON-serialisable values."""
    record = sx.load_record(path)
    version, about, table = (record.pop(name, None) for name in ("version", "estimator", "table"))
    net = sx.load(path)
    facts: dict[str, Any] = {"file": str(path), "version": version}
    try:
        recorded = _recorded(about, table, net)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise sx.FileFormatError(
            f"{path} has a record of an estimator that cannot be read ({error!r}). Fit the estimator "
            "again."
        ) from error
    if isinstance(net, sx.Net):
        facts |= {
            "field": type(net.field).__name__,
            "control": type(net.control).__name__,
            "integrator": str(net.integrator),
            **sx.summary(net),
        }
    else:
        facts |= {"model": type(net).__name__, "parameters": sx.count(net)}
    return facts | recorded | record


def _recorded(about: Any, table: Any, net: Any) -> dict[str, Any]:
    """The entries of the record about an estimator and its columns, if there are any."""
    facts: dict[str, Any] = {}
    if about is not None:
        facts |= _of_estimator(about, float(sx.penalty(net)))
    if table is not None:
        facts["target"] = table["target"]
        facts["columns"] = [_column(column) for column in table["columns"]]
    return facts


def _of_estimator(about: dict[str, Any], penalty: float) -> dict[str, Any]:
    training = about["training"]
    held_out = training["validation_curve"]
    weight = training.get("penalty_weight", about["parameters"]["penalty_weight"])
    facts = {
        "estimator": str(about["kind"]),
        "energy": training["loss"] + weight * penalty,
        "loss": training["loss"],
        "epochs": len(training["loss_curve"]),
        "first_objective": training["loss_curve"][0],
        "last_objective": training["loss_curve"][-1],
        "best_validation_loss": min(held_out) if held_out else None,
        "seconds": training["seconds"],
        "settings": about["parameters"],
    }
    if "repeats" in about["state"]:
        facts["repeated_inputs"] = int(about["state"]["repeats"]["count"])
    if "classes" in about["state"]:
        facts["classes"] = about["state"]["classes"]["values"]
    return facts


def _column(column: dict[str, Any]) -> str:
    kind = "number" if column["levels"] is None else f"{len(column['levels'])} levels"
    return f"{column['name']} ({kind}{', may be missing' if column['missing'] else ''})"


def run(path: pathlib.Path, as_json: bool) -> None:
    """Print the facts about a model file."""
    facts = describe(path)
    if as_json:
        print(json.dumps(facts, indent=1, ensure_ascii=False))
        return
    table = Table(box=SIMPLE, show_header=False, show_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        if value is not None:
            table.add_row(plain(name.replace("_", " ")), plain(_shown(value)))
    show_table(table)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {show(each)}" for name, each in value.items())
    return ", ".join(map(show, value)) if isinstance(value, list) else show(value)
