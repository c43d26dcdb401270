"""Encode numbers and text for a page compactly, so that a browser never reads them as markup."""

import base64
import json
import math
from typing import Any

import numpy as np

BYTES = "u1"
FLOATS = "<f4"


def floats(values: Any) -> dict[str, Any]:
    """Encode an array in single precision."""
    return _array("f32", np.asarray(values), FLOATS)


def small_integers(values: Any) -> dict[str, Any]:
    """Encode an array of integers from 0 to 255."""
    return _array("u8", np.asarray(values), BYTES)


def _array(kind: str, values: np.ndarray, dtype: str) -> dict[str, Any]:
    with np.errstate(over="ignore"):
        packed = np.ascontiguousarray(values.astype(dtype))
    return {kind: base64.b64encode(packed.tobytes()).decode("ascii"), "shape": list(values.shape)}


def decoded(array: dict[str, Any]) -> np.ndarray:
    """The inverse of `floats` and `small_integers`."""
    kind, dtype = ("f32", FLOATS) if "f32" in array else ("u8", BYTES)
    return np.frombuffer(base64.b64decode(array[kind]), dtype).reshape(array["shape"])


def plain(value: Any) -> Any:
    """Convert a value for strict JSON: NaN and infinity become `None`, objects become text."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def embedded(value: Any) -> str:
    """JSON for the inside of a `<script>` element, escaped so that no text can close the element."""
    text = json.dumps(plain(value), allow_nan=False, separators=(",", ":"))  # ASCII alone
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
