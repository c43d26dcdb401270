"""Convert models to trees of JSON-serialisable values and a dictionary of arrays, and back."""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from shootax._activations import ACTIVATIONS
from shootax._errors import FileFormatError
from shootax._penalties import SPDMatrix
from shootax._storage import registry

PLAIN = bool | int | float | str | None
NON_FINITE = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


class Encoder:
    """Encode a model, and collect its arrays in `tensors`, named by their paths in the model."""

    def __init__(self):
        self.tensors: dict[str, np.ndarray] = {}

    def __call__(self, value: Any, place: str = "") -> Any:
        below = f"{place}." if place else ""
        if isinstance(value, float) and not np.isfinite(value):
            return {"float": repr(float(value))}
        if isinstance(value, PLAIN):
            return value
        if isinstance(value, jax.Array | np.ndarray | np.generic):
            return self._array(value, place)
        if isinstance(value, SPDMatrix):
            return {"spd": self._keep(value.values, place)}
        if isinstance(value, eqx.Module):
            names = [field.name for field in dataclasses.fields(value)]
            return self._object("module", value, names, below, place)
        if isinstance(value, tuple) and type(value) is not tuple:
            return self._object("namedtuple", value, getattr(value, "_fields", None), below, place)
        if isinstance(value, tuple | list):
            kind = "tuple" if isinstance(value, tuple) else "list"
            return {kind: [self(item, f"{below}{i}") for i, item in enumerate(value)]}
        if isinstance(value, dict):
            for key in value:
                if not isinstance(key, PLAIN):
                    raise _cannot(key, place, "Use text or numbers as keys of dictionaries.")
            return {"dict": [[self(k), self(v, f"{below}{k}")] for k, v in value.items()]}
        if isinstance(value, jax.ShapeDtypeStruct):
            return {"shape": list(value.shape), "dtype": str(value.dtype)}
        if isinstance(value, jax.tree_util.PyTreeDef):
            leaves = jax.tree.unflatten(value, range(value.num_leaves))
            return {"structure": self(leaves, place)}
        return self._function(value, place)

    def _keep(self, tensor: np.ndarray, place: str) -> str:
        readable = "".join(c if c.isprintable() and ord(c) < 0xD800 else "?" for c in place)
        name, number = readable, 1
        while name in self.tensors or name == "__metadata__":  # {"a.b": …} and {"a": {"b": …}}
            number += 1
            name = f"{readable}~{number}"
        self.tensors[name] = tensor
        return name

    def _array(self, value: Any, place: str) -> Any:
        if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
            data = np.asarray(jax.random.key_data(value))
            return {"key": self._keep(data, place), "impl": str(jax.random.key_impl(value))}
        kind = "array" if isinstance(value, jax.Array) else "numpy"
        kind = "scalar" if isinstance(value, np.generic) else kind
        return {kind: self._keep(np.asarray(value), place)}

    def _object(self, kind: str, value: Any, names: Any, below: str, place: str) -> Any:
        missing = [n for n in names or () if getattr(value, n, self) is self]
        if names is None or missing:
            raise _cannot(value, place, f"It has no {', '.join(missing) or 'named fields'}.")
        fields = {name: self(getattr(value, name), f"{below}{name}") for name in names}
        return {
            kind: self._name(type(value), place),
            **self._foreign(type(value)),
            "fields": fields,
        }

    def _function(self, value: Any, place: str) -> Any:
        for name, function in ACTIVATIONS.items():
            if value is function:
                return {"activation": name}
        if inspect.ismethod(value) or not callable(value):
            raise _cannot(value, place)
        return {"known": self._name(value, place), **self._foreign(value)}

    def _name(self, item: Any, place: str) -> str:
        name = registry.name_of(item)
        if name is None and "<" in getattr(item, "__qualname__", "<"):
            raise _cannot(item, place)
        return registry.qualified(item) if name is None else name

    def _foreign(self, item: Any) -> dict[str, bool]:
        return {"foreign": True} if registry.name_of(item) is None else {}


def _cannot(value: Any, place: str, advice: str | None = None) -> FileFormatError:
    advice = advice or (
        "Use a named activation, or a function or module defined at the top level of a file."
    )
    return FileFormatError(
        f"The model holds {value!r} at {place or 'its top'}, which cannot be written to a file. "
        f"{advice}"
    )


class Decoder:
    """Reconstruct a model from the output of an `Encoder`. `rounded` lists the arrays for which JAX, with
    its current settings, uses fewer bits than the file."""

    def __init__(self, tensors: dict[str, np.ndarray], names: registry.Names, format: int):
        self.tensors, self.names, self.format = tensors, names, format
        self.rounded: list[str] = []
        self.used: set[str] = set()
        self.arrays: dict[str, jax.Array] = {}
        self.kinds: dict[str, Callable[[dict[str, Any]], Any]] = {
            "array": lambda node: self._jax_array(node["array"]),
            "numpy": lambda node: self._tensor(node["numpy"]).copy(),
            "scalar": lambda node: self._tensor(node["scalar"])[()],
            "key": lambda node: jax.random.wrap_key_data(
                jnp.asarray(self._tensor(node["key"])), impl=node["impl"]
            ),
            "spd": lambda node: SPDMatrix(self._tensor(node["spd"])),
            "tuple": lambda node: tuple(map(self, _list(node["tuple"]))),
            "list": lambda node: list(map(self, _list(node["list"]))),
            "dict": lambda node: {self(k): self(v) for k, v in map(_list, _list(node["dict"]))},
            "float": lambda node: NON_FINITE[node["float"]],
            "shape": lambda node: jax.ShapeDtypeStruct(
                tuple(_list(node["shape"])), jnp.dtype(node["dtype"])
            ),
            "structure": lambda node: jax.tree.structure(self(node["structure"])),
            "activation": lambda node: ACTIVATIONS[node["activation"]],
            "known": lambda node: self._found("known", node)[1],
            "module": self._module,
            "namedtuple": self._namedtuple,
        }

    def __call__(self, node: Any) -> Any:
        if isinstance(node, PLAIN):
            return node
        kind = next((kind for kind in self.kinds if kind in node), None)
        if kind is None or not isinstance(node, dict):
            raise FileFormatError(f"its description has the unknown part {str(node)[:200]}")
        try:
            return self.kinds[kind](node)
        except FileFormatError:
            raise
        except RecursionError as error:
            raise FileFormatError("its description is nested too deeply") from error
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise FileFormatError(
                f"the part {str(node)[:200]} of its description is invalid: {error!r}"
            ) from error

    def _tensor(self, name: Any) -> np.ndarray:
        if not isinstance(name, str) or name not in self.tensors:
            raise FileFormatError(f"it has no tensor {str(name)[:200]!r}")
        # A small file must not become a large model. In format 1, two arrays may share a tensor.
        if name in self.used and self.format > 1:
            raise FileFormatError(f"its tensor {name!r} is used twice")
        self.used.add(name)
        return self.tensors[name]

    def _jax_array(self, name: Any) -> jax.Array:
        if isinstance(name, str) and name in self.arrays and self.format == 1:
            return self.arrays[name]
        tensor = self._tensor(name)
        dtype = jax.dtypes.canonicalize_dtype(tensor.dtype)
        if dtype != tensor.dtype:
            self.rounded.append(name)
        self.arrays[name] = jnp.asarray(tensor.astype(dtype))
        return self.arrays[name]

    def _found(self, kind: str, node: dict[str, Any]) -> tuple[str, Any]:
        name = node[kind]
        if not isinstance(name, str):
            raise FileFormatError(f"a name in its description is {str(name)[:200]}, not text")
        item = self.names.find(name, by_place=self.format == 1 or node.get("foreign") is True)
        if item is None:
            raise FileFormatError(
                f"it needs {name}, which is not part of this version of shootax. If it is your own, pass "
                f"it: load(path, known=[{name.rsplit('.', 1)[-1]}])"
            )
        return registry.name_of(item) or name, item

    def _module(self, node: dict[str, Any]) -> Any:
        name, cls = self._found("module", node)
        if not (isinstance(cls, type) and issubclass(cls, eqx.Module)):
            raise FileFormatError(f"{name} is not a subclass of equinox.Module")
        fields = {field.name: _default(field) for field in dataclasses.fields(cls)}
        values = self._fields(name, fields, node["fields"])
        module = object.__new__(cls)
        for field, value in values.items():
            object.__setattr__(module, field, value)
        return module

    def _namedtuple(self, node: dict[str, Any]) -> Any:
        name, cls = self._found("namedtuple", node)
        if not (isinstance(cls, type) and issubclass(cls, tuple) and cls is not tuple):
            raise FileFormatError(f"{name} is not a named tuple class")
        defaults = getattr(cls, "_field_defaults", {})
        fields = {f: (lambda f=f: defaults[f]) if f in defaults else None for f in cls._fields}  # pyright: ignore
        return tuple.__new__(cls, self._fields(name, fields, node["fields"]).values())

    def _fields(self, name: str, fields: dict[str, Any], stored: Any) -> dict[str, Any]:
        """The values of all `fields`, a dictionary from names to functions that return the default, or
        `None` if there is no default."""
        if not isinstance(stored, dict):
            raise FileFormatError(f"the fields of {name} are {str(stored)[:200]}")
        renamed, values = registry.RENAMED_FIELDS.get(name, {}), {}
        for old, item in stored.items():
            field = old if old in fields else renamed.get(old, old)
            if field not in fields:
                raise FileFormatError(
                    f"its {name} has the field {old!r}, which this version of the class does not "
                    f"have; its fields are {', '.join(fields) or 'none'}. Load the file with the "
                    "version that wrote it"
                )
            if field in values:
                raise FileFormatError(f"its {name} has the field {field!r} twice")
            values[field] = self(item)
        given = registry.FIELD_DEFAULTS.get(name, {})
        for field in fields.keys() - values.keys():
            make = fields[field]
            if field not in given and make is None:
                raise FileFormatError(
                    f"its {name} lacks the field {field!r}, which has no default: the file has "
                    f"{', '.join(stored) or 'no fields'}"
                )
            values[field] = given[field] if field in given else make()
        return {field: values[field] for field in fields}


def _default(field: Any) -> Callable[[], Any] | None:
    if field.default is not dataclasses.MISSING:
        return lambda: field.default
    factory = field.default_factory
    return None if factory is dataclasses.MISSING else factory


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise FileFormatError(f"its description has {str(value)[:200]} in place of a list")
    return value
