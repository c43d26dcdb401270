"""Tables in files, and results that replace a file only when they are whole."""

import os
import pathlib
from typing import Any

import pandas as pd

from shootax.estimators.columns import Frame


def read(path: pathlib.Path) -> Frame:
    """A table from a `.csv` file (`.tsv`, or compressed, too) or a `.parquet` file."""
    if not path.is_file():
        raise ValueError(f"There is no file {path}.")
    try:
        if path.suffix in (".parquet", ".pq"):
            table = pd.read_parquet(path)
        else:
            separator = "\t" if ".tsv" in path.suffixes else ","
            table = pd.read_csv(path, sep=separator)
    except (ValueError, OSError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ValueError(
            f"{path} cannot be read as a table: {str(error).strip()}. Expected CSV with a line of "
            "column names, or Parquet."
        ) from error
    if len(table) == 0:
        raise ValueError(f"{path} has no rows below its column names.")
    table.columns = [str(name) for name in table.columns]
    return table


def write(table: Frame, path: pathlib.Path) -> None:
    """Writes by the ending of the name. The old file stays until the new one is whole."""
    part = path.with_name(path.name + ".part")
    try:
        if path.suffix in (".parquet", ".pq"):
            table.to_parquet(part, index=False)
        else:
            table.to_csv(part, index=False, sep="\t" if ".tsv" in path.suffixes else ",")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def writable(path: pathlib.Path) -> None:
    """Refuses, before the work, a place where the result could not be written after it."""
    folder = path.absolute().parent
    if path.is_dir():
        raise ValueError(f"{path} is a folder. Give the name of a file.")
    if not folder.is_dir():
        raise ValueError(f"There is no folder {folder} to write {path.name} to.")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"The folder {folder} cannot be written to.")


def needed(table: Frame, names: list[str], what: str) -> None:
    """Refuses names that are no columns."""
    for name in names:
        if name not in table.columns:
            raise ValueError(
                f"There is no column {name!r} {what}; the table has: "
                f"{', '.join(map(repr, table.columns))}."
            )


def show(value: Any) -> str:
    """A number for people."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
