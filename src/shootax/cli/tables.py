"""Read tables from files with any of several separators, and write them atomically."""

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
    """Read a table from a CSV file, compressed or not, or a `.parquet` file.

    The separator of CSV is detected: a comma, a semicolon (in which case numbers may have a decimal
    comma) or a tab.
    """
    if not path.is_file():
        raise ValueError(f"There is no file {path}.")
    if path.suffix.lower() in OTHER:
        raise ValueError(f"{path} is in a format that cannot be read. Save it as CSV or Parquet.")
    try:
        reader = _read_parquet if path.suffix.lower() in (".parquet", ".pq") else _read_csv
        table = reader(path)
    except Exception as error:  # from pandas, PyArrow, or decompression
        raise ValueError(
            f"{path} cannot be read as a table: {_told(error)}. Expected CSV with a line of column "
            "names, or Parquet."
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
        # pandas would treat the first entries as row names, and shift the others.
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
    """The first two lines of a file, decompressed but not parsed."""
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
    """The separator that splits the line of names into most parts, preferably one that splits the next
    line into as many."""

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
    """Restore large integers exactly: in columns with missing entries, pandas reads them as floats."""
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
            with contextlib.suppress(OverflowError):  # too large for Int64: they stay floats
                whole = [pd.NA if pd.isna(v) else int(v) for v in text]
                table[name] = pd.array(whole, dtype="Int64")
    return table


def check_format(path: pathlib.Path) -> None:
    """Raise an error if the suffix of a file name is not a format that `write` supports."""
    if not path.name.lower().endswith(ENDINGS):
        raise ValueError(
            f"{path} does not have the suffix of a supported table format. Choose one of: "
            f"{', '.join(ENDINGS)}."
        )


def write(table: Frame, path: pathlib.Path) -> None:
    """Write a table in the format of the suffix. An old file stays until the new one is complete."""
    check_format(path)
    name = path.name.lower()
    with replaced(path) as temporary:
        if name.endswith((".parquet", ".pq")):
            table.to_parquet(temporary, index=False)
            return
        separator = "\t" if ".tsv" in name else ","
        text = table.to_csv(index=False, sep=separator).encode("utf-8")
        # Compressed without a time stamp and a name, so that equal tables give equal files.
        pathlib.Path(temporary).write_bytes(_packed(text) if name.endswith(".gz") else text)


def _packed(data: bytes) -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as file:
        file.write(data)
    return out.getvalue()


def needed(table: Frame, names: Mapping[str, Sequence[str]]) -> None:
    """Raise one error for all names that are not columns. The keys of `names` say what they are for."""
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
    """Format a value for display."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
