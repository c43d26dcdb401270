"""Functions by reference, so that another process can import them."""

import importlib
import pathlib
import runpy
import sys
from collections.abc import Callable
from typing import Any

ADVICE = (
    "Define it with `def` at the top level of a module or script, so that other processes can "
    "import it."
)


def reference(function: Callable[..., Any] | str) -> str:
    """`module:name`, or `/path/to/script.py:name` for a function of the script that is running."""
    if isinstance(function, str):
        resolve(function)
        return function
    name = getattr(function, "__qualname__", "")
    module = sys.modules.get(getattr(function, "__module__", ""))
    if not name.isidentifier() or getattr(module, name, None) is not function:
        raise ValueError(f"Workers cannot import {function!r}. {ADVICE}")
    assert module is not None
    if module.__name__ != "__main__":
        return f"{module.__name__}:{name}"
    spec, file = getattr(module, "__spec__", None), getattr(module, "__file__", None)
    if spec is not None:  # python -m package.module
        return f"{spec.name}:{name}"
    if file is None:
        raise ValueError(f"Workers cannot import {name} from an interactive session. {ADVICE}")
    return f"{pathlib.Path(file).resolve()}:{name}"


def resolve(text: str) -> Callable[..., Any]:
    """The function of a reference. A script is imported under a name other than `__main__`."""
    place, _, name = text.rpartition(":")
    if not place or not name.isidentifier():
        raise ValueError(f"Expected a function as 'module:name', got {text!r}.")
    try:
        found = (
            runpy.run_path(place, run_name="__sweep_worker__").get(name)
            if place.endswith(".py")
            else getattr(importlib.import_module(place), name, None)
        )
    except ModuleNotFoundError as error:
        raise ValueError(f"Cannot import {text!r}: {error}.") from error
    if not callable(found):
        raise ValueError(f"{place} has no function {name!r}. {ADVICE}")
    return found


def short(text: str) -> str:
    """A reference without its folder, so that it is the same on every machine."""
    place, _, name = text.rpartition(":")
    return f"{pathlib.Path(place).stem}:{name}" if place.endswith(".py") else text
