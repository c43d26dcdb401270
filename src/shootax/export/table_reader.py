"""Convert tables to samples for an exported estimator, with NumPy alone.

    spec = load("model.columns.json")
    x = rows(spec, {"wind": ["north", "south"], "pressure": [1013.2, None]})

`rows` returns an array `(rows, columns)` in double precision, the input of the exported model:

- A column of numbers is unchanged, except that its `offset`, if it has one, is subtracted.
- A column of categories becomes the index of each entry in the list `levels`, or -1 if the entry is not
  in the list.
- A column of dates becomes seconds since the start of 1970 in UTC. Entries are dates of Python, NumPy or
  pandas, or text in the column's `format` or in ISO 8601. Dates without a time zone are taken as UTC.
- Missing entries (None, NaN, NaT or NA) become NaN.

`labels(spec, y)` returns the most probable classes, if the outputs `y` are probabilities.
"""

import datetime
import hashlib
import json
import os

import numpy as np


def load(path):
    """Load and check the description of the columns."""
    try:
        with open(path, encoding="utf-8") as file:
            spec = json.load(file)
        proper = isinstance(spec["inputs"], list) and isinstance(spec["outputs"], dict)
        for column in spec["inputs"]:
            proper = proper and isinstance(column["name"], str)
            proper = proper and isinstance(column.get("offset", 0), int)
            if column["kind"] == "category":
                proper = proper and all(isinstance(level, str) for level in column["levels"])
            elif column["kind"] == "date":
                proper = proper and isinstance(column["format"], str)
            else:
                proper = proper and column["kind"] == "number"
        proper = proper and isinstance(spec["outputs"].get("classes", []), list)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} does not describe the columns of a model ({error!r}).") from error
    if not proper or not spec["inputs"]:
        raise ValueError(f"{path} does not describe the columns of a model.")
    written = spec.pop("checksum", None)
    if written != (None if spec.get("format") == 1 else checksum(spec)):  # format 1 has none
        raise ValueError(
            f"{path} does not describe the columns of a model as it was exported: its checksum does "
            "not match. Export the model again."
        )
    if _is_of_another(spec.get("model"), os.path.dirname(os.path.abspath(path))):
        raise ValueError(
            f"{path} does not describe the columns of the model beside it, which is another one or "
            "damaged. Export the model again."
        )
    return spec


def _is_of_another(model, folder):
    """Whether the model's file exists, but is not the one that was exported with the description."""
    proper = isinstance(model, dict) and isinstance(model.get("file"), str)
    place = os.path.join(folder, os.path.basename(model["file"])) if proper else ""
    if not os.path.isfile(place):
        return False
    with open(place, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest() != model.get("sha256")


def checksum(spec):
    """The SHA-256 of a description, independent of its layout."""
    return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()


def rows(spec, table):
    """Convert a table, a dictionary of columns or a DataFrame, to samples. Ignore other columns."""
    absent = [column["name"] for column in spec["inputs"] if column["name"] not in table]
    if absent:
        raise ValueError(f"The table lacks the columns {absent} that the model was fitted with.")
    return np.stack([_numbers(column, list(table[column["name"]])) for column in spec["inputs"]], 1)


def labels(spec, y):
    """The most probable class of each row."""
    if not spec["outputs"].get("classes"):
        raise ValueError("This model predicts numbers; it has no classes. Do not call labels.")
    classes = np.array(spec["outputs"]["classes"])
    if np.ndim(y) != 2 or np.shape(y)[1] != len(classes):
        raise ValueError(
            f"Expected probabilities of shape (samples, {len(classes)}), got {np.shape(y)}."
        )
    return classes[np.argmax(y, axis=1)]


def _numbers(column, entries):
    lost = [_is_lost(entry) for entry in entries]
    if any(lost) and column.get("missing") == "not allowed":
        row = lost.index(True) + 1
        raise ValueError(
            f"Column {column['name']!r} has no entry in row {row}, but needs one in every row."
        )
    if column["kind"] == "category":
        codes = {level: float(code) for code, level in enumerate(column["levels"])}
        found = [codes.get(_text(entry), -1.0) for entry in entries]
    else:
        read = _seconds if column["kind"] == "date" else _number
        found = [0.0 if gone else read(column, e) for e, gone in zip(entries, lost)]  # noqa: B905
    return np.where(lost, np.nan, np.array(found, np.float64))


def _number(column, entry):
    try:
        offset = column.get("offset", 0)
        number = float(int(entry) - offset) if offset else float(entry)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(
            f"Column {column['name']!r} should hold numbers, got {entry!r}."
        ) from error
    if number in (float("inf"), -float("inf")):
        raise ValueError(f"Column {column['name']!r} should hold finite numbers, got {entry!r}.")
    return number


def _seconds(column, entry):
    moment = entry
    if isinstance(entry, np.datetime64):
        return (entry - np.datetime64(0, "s")) / np.timedelta64(1, "s")
    if isinstance(entry, str):
        moment = _moment(entry, column["format"])
    elif isinstance(entry, datetime.date) and not isinstance(entry, datetime.datetime):
        moment = datetime.datetime(entry.year, entry.month, entry.day)
    if not isinstance(moment, datetime.datetime):
        raise ValueError(f"Column {column['name']!r} should hold dates, got {entry!r}.")
    utc = datetime.timezone.utc  # noqa: UP017  (this file is copied out, to older Pythons too)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=utc)
    start = datetime.datetime(1970, 1, 1, tzinfo=utc)
    return (moment - start) / datetime.timedelta(seconds=1)


def _moment(text, form):
    """The date and time in a text, or None."""
    if form != "ISO8601":
        try:
            return datetime.datetime.strptime(text.strip(), form)
        except ValueError:
            pass
    try:
        return datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        return None


def _text(entry):
    """The text of an entry, with integers written without a decimal point."""
    whole = isinstance(entry, (float, np.floating)) and float(entry).is_integer()
    return str(int(entry)) if whole else str(entry)


def _is_lost(entry):
    if entry is None or type(entry).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(entry, np.datetime64):
        return bool(np.isnat(entry))
    return isinstance(entry, (float, np.floating)) and bool(entry != entry)
