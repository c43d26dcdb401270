"""Tables in files: read whatever their separator, and written whole or not at all."""

import contextlib
import csv
import gzip
import io
import pathlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from shootax._files import replaced
from shootax.sklearn.tables import Frame

SEPARATORS = (",", ";", "\t")
ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".pq")
OTHER = (".xlsx", ".xls", ".xlsm", ".ods", ".json", ".jsonl", ".feather", ".arrow", ".orc", ".pkl")


def read(path: pathlib.Path) -> Frame:
    """A table from a CSV file, compressed or not, or a `.parquet` file.

    The separator of CSV is recognised: a comma, a semicolon (then numbers may have a decimal comma)
    or a tab.
    """
    if not path.is_file():
        raise ValueError(f"There is no file {path}.")
    if path.suffix.lower() in OTHER:
        raise ValueError(f"{path} is of a kind that cannot be read. Save it as CSV or Parquet.")
    try:
        reader = _read_parquet if path.suffix.lower() in (".parquet", ".pq") else _read_csv
        table = reader(path)
    except Exception as error:  # of pandas, PyArrow, and whatever undoes the compression
        raise ValueError(
            f"{path} cannot be read as a table: {_told(error)}. Expected CSV with "
            "a line of column names, or Parquet."
        ) from error
    if len(table) == 0:
        raise ValueError(f"{path} has no rows below its column names.")
    return table


def _told(error: Exception) -> str:
    return str(error).strip().rstrip(".") or type(error).__name__


def _read_parquet(path: pathlib.Path) -> Frame:
    table = pd.read_parquet(path)
    named = [name is not None for name in table.index.names]
    table = table.reset_index(drop=not all(named))  # an index with a name is a column
    table.columns = [str(name) for name in table.columns]
    _all_different(list(table.columns))
    return table


def _read_csv(path: pathlib.Path) -> Frame:
    first = _first_lines(path)
    separator = _separator(first)
    options: dict[str, Any] = {"sep": separator, "encoding": "utf-8-sig"}
    names = [name.strip() for name in _fields(first[0], separator)] if first else []
    _all_different([name for name in names if name])
    if len(first) > 1 and len(_fields(first[1], separator)) > len(names):
        # pandas would take the first entries for names of rows, and shift the others.
        raise ValueError(
            f"the rows have more entries than there are column names ({len(names)}); give every "
            "column a name"
        )
    table = pd.read_csv(path, **options)
    if separator == ";" and _has_decimal_commas(table):
        options["decimal"] = ","
        table = pd.read_csv(path, **options)
    return _exact_integers(table, path, options)


def _first_lines(path: pathlib.Path) -> list[str]:
    """The first two lines as they are, through any compression."""
    lines = pd.read_csv(
        path,
        sep="\x1f",  # a character that no table has, so that a line is one entry
        header=None,
        nrows=2,
        dtype=str,
        quoting=csv.QUOTE_NONE,
        keep_default_na=False,
        encoding="utf-8-sig",
    )
    return [str(line) for line in lines[0]]


def _fields(line: str, separator: str) -> list[str]:
    return next(csv.reader([line], delimiter=separator), [])


def _separator(lines: Sequence[str]) -> str:
    """The one that splits the line of names into most, and the next line into as many if it can."""

    def rank(separator: str) -> tuple[bool, int]:
        counts = [len(_fields(line, separator)) for line in lines]
        return min(counts) > 1 and len(set(counts)) == 1, counts[0]

    return max(SEPARATORS, key=rank) if lines else ","


def _all_different(names: Sequence[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"several columns are called {', '.join(map(repr, repeated))}; give each its own name"
        )


def _has_decimal_commas(table: Frame) -> bool:
    number = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*|\s*[+-]?\d+\s*")
    for name in table.columns:
        if not pd.api.types.is_numeric_dtype(table[name]):
            some = table[name].dropna().iloc[:100].map(str)
            if len(some) and some.map(lambda entry: bool(number.fullmatch(entry))).all():
                return True
    return False


def _exact_integers(table: Frame, path: pathlib.Path, options: Mapping[str, Any]) -> Frame:
    """Large whole numbers as they are in the file: beside holes they are read as floats."""
    lossy = [
        name
        for name in table.columns
        if table[name].dtype == "float64"
        and table[name].isna().any()
        and table[name].abs().max() >= 2**53
        and (table[name].dropna() % 1 == 0).all()
    ]
    for name in lossy:
        text = pd.read_csv(path, **options, dtype={name: str})[name]
        if text.dropna().map(lambda entry: bool(re.fullmatch(r"\s*-?\d+\s*", entry))).all():
            with contextlib.suppress(OverflowError):  # no type holds them: they stay floats
                whole = [pd.NA if pd.isna(v) else int(v) for v in text]
                table[name] = pd.array(whole, dtype="Int64")
    return table


def check_format(path: pathlib.Path) -> None:
    """Refuses a name whose ending promises a format that is not written."""
    if not path.name.lower().endswith(ENDINGS):
        raise ValueError(
            f"{path} has an ending that tables are not written with. Choose one of: "
            f"{', '.join(ENDINGS)}."
        )


def write(table: Frame, path: pathlib.Path) -> None:
    """Writes by the ending of the name. The old file stays until the new one is whole."""
    check_format(path)
    name = path.name.lower()
    with replaced(path) as temporary:
        if name.endswith((".parquet", ".pq")):
            table.to_parquet(temporary, index=False)
            return
        separator = "\t" if ".tsv" in name else ","
        text = table.to_csv(index=False, sep=separator).encode("utf-8")
        # Without a time and a name inside, equal tables make equal files.
        pathlib.Path(temporary).write_bytes(_packed(text) if name.endswith(".gz") else text)


def _packed(data: bytes) -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as file:
        file.write(data)
    return out.getvalue()


def needed(table: Frame, names: Mapping[str, Sequence[str]]) -> None:
    """Refuses names that are no columns, all in one message; the keys say what they are for."""
    absent = [
        f"{name!r} {what}"
        for what, wanted in names.items()
        for name in wanted
        if name not in table.columns
    ]
    if absent:
        raise ValueError(
            f"There is no column {', nor '.join(absent)}; the table has: "
            f"{', '.join(map(repr, table.columns))}."
        )


def show(value: Any) -> str:
    """A number for people."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
