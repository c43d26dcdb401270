"""Kinds of files: a valid file of each kind, how it is read, and how it is edited by hand.

`read` returns the content of a file in a form that can be compared. Damaged bytes of a valid file must
be refused, or read as equal. An edit by hand makes a file that is whole but strange, with a correct
checksum if the format has one. Any answer is then allowed, but an error must be the library's own.
"""

import contextlib
import dataclasses
import io
import json
import pathlib
import random
import shutil
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import shootax as sx
from shootax._files import checksum
from shootax._storage import container
from shootax._storage.encoding import Encoder
from shootax.export import run_exported, table_reader
from tools.torture.mutations import JUNK, edited_text

FILES = pathlib.Path(__file__).parents[2] / "tests" / "files"
X = np.linspace(-1.0, 1.0, 8)[:, None]
Y = X**2


@dataclasses.dataclass
class Kind:
    """A kind of file, a valid file as bytes, and how to read it."""

    name: str
    path: pathlib.Path
    read: Callable[[pathlib.Path], Any]
    edit: Callable[[bytes, random.Random], bytes] | None = None
    protected: bool = True
    share: float = 1.0
    data: bytes = b""
    value: Any = None

    def __post_init__(self) -> None:
        self.data = self.path.read_bytes()
        self.value = self.read(self.path)
        if self.read(self.path) != self.value:
            raise AssertionError(f"{self.name} is not read the same twice")


def tiny(**options: Any) -> sx.Net:
    """The smallest net with all parts."""
    return sx.Net(
        sx.UpDown(1, 2), particles=2, integrator=sx.RK4(2), key=jax.random.key(0), **options
    )


def all_kinds(folder: pathlib.Path, only: str = "") -> list[Kind]:
    """Write one valid file of each kind to a folder, or only of kinds with a text in their name."""
    chosen = [make for name, make in MAKERS.items() if only in name]
    return [kind for make in chosen for kind in make(folder) if only in kind.name]


def _content(model: Any) -> Any:
    encoder = Encoder()
    tree = json.dumps(encoder(model))
    return tree, {name: _bytes(tensor) for name, tensor in encoder.tensors.items()}


def _bytes(array: Any) -> tuple[str, tuple[int, ...], bytes]:
    array = np.asarray(array)
    return str(array.dtype), array.shape, array.tobytes()


def _read_model(path: pathlib.Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _content(sx.load(path)), sx.load_record(path)


def _edit_container(key: str) -> Callable[[bytes, random.Random], bytes]:
    """Edit one entry of the header, or the tensors, and write a correct checksum."""

    def edit(data: bytes, rng: random.Random) -> bytes:
        header, tensors, _ = container.from_bytes(data)
        if rng.random() < 0.2:
            names = list(tensors)
            name = rng.choice(names)
            tensors = {**tensors, name: tensors[rng.choice(names)]}
            if rng.random() < 0.3:
                tensors.pop(rng.choice(list(tensors)))
        elif rng.random() < 0.2:
            name = rng.choice(list(header))
            header = {**header, name: rng.choice([v for v in JUNK if _is_text(v)])}
        else:
            chosen = key if rng.random() < 0.8 else "record"
            text = edited_text(json.loads(header[chosen]), rng)
            header = {**header, chosen: text}
        try:
            return container.to_bytes(header, tensors)
        except UnicodeEncodeError:
            return data[:-1]

    return edit


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _models(folder: pathlib.Path) -> list[Kind]:
    nets = {
        "net": tiny(),
        "chain": sx.Chain(tiny(), tiny()),
    }
    kinds = []
    for name, net in nets.items():
        path = folder / f"{name}.safetensors"
        sx.save(path, net, record={"epochs": 3, "loss": [0.5, 0.25]})
        kinds.append(Kind("model, format 2", path, _read_model, _edit_container("model"), share=2))
    return kinds


def _old_models(folder: pathlib.Path) -> list[Kind]:
    kinds = []
    for name in ("particles", "chain", "single-precision"):
        path = folder / f"format1-{name}.safetensors"
        shutil.copy(FILES / path.name, path)
        kinds.append(Kind("model, format 1", path, _read_model, protected=False, share=0.4))
    return kinds


def _estimators(folder: pathlib.Path) -> list[Kind]:
    from shootax.sklearn import ShootingRegressor, load_estimator

    path = folder / "regressor.safetensors"
    estimator = ShootingRegressor(particles=2, max_iter=2, random_state=0).fit(X, Y[:, 0])
    estimator.save(path)

    def read(path: pathlib.Path) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = load_estimator(path)
        scaling = [_bytes(leaf) for part in (found._x, found._y) for leaf in jax.tree.leaves(part)]
        return _content(found.net_), scaling, repr(found.get_params()), found.loss_curve_

    return [Kind("estimator", path, read, _edit_container("record"))]


def _checkpoints(folder: pathlib.Path) -> list[Kind]:
    path = folder / "training.ckpt"

    def read(path: pathlib.Path) -> Any:
        # A checkpoint at its last epoch: it is read completely, and nothing is trained.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = sx.fit(tiny(), X, Y, epochs=3, checkpoint=path)
        return _content(found.net), json.dumps(found.history, default=list)

    read(path)
    return [Kind("checkpoint", path, read, _edit_container("record"), share=0.8)]


def _npz(arrays: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in arrays.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def _numpy(folder: pathlib.Path) -> list[Kind]:
    path = folder / "export.npz"
    sx.export.write(tiny(), path, to="numpy")

    def read(path: pathlib.Path) -> Any:
        return [_bytes(out) for out in run_exported(path, "numpy", X.astype(np.float32))]

    def edit(data: bytes, rng: random.Random) -> bytes:
        with np.load(io.BytesIO(data)) as file:
            arrays = dict(file)
        program = json.loads(str(arrays.pop("program")))
        if rng.random() < 0.85:
            program = edited_text(program, rng)
        else:
            program = json.dumps(program)
            name = rng.choice(list(arrays))
            arrays[name] = arrays[rng.choice(list(arrays))]
        buffer = io.BytesIO()
        program = program.encode("utf-8", "replace").decode()
        np.savez(buffer, **{**arrays, "program": np.array(program)})  # pyright: ignore
        if rng.random() < 0.1:  # the description of an array that does not match the bytes after it
            with zipfile.ZipFile(buffer) as archive:
                parts = {name: archive.read(name) for name in archive.namelist()}
            name = rng.choice(list(parts))
            parts[name] = rng.choice([
                parts[name].replace(b"(", b"(10000000000, ", 1), parts[name].replace(b"f4", b"O ", 1),
                parts[name][:40], b"", parts[name].replace(b"<U", b"<S", 1),
            ])  # fmt: skip
            return _npz(parts)
        return buffer.getvalue()

    return [Kind("NumPy export", path, read, edit)]


def _summed(text: str, part: Callable[[Any], Any], checksum: Callable[[Any], str]) -> bytes:
    """JSON with the checksum of a part of it, if the format has one."""
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(text)
        if isinstance(value, dict):
            text = json.dumps({**value, "checksum": checksum(part(value))})
    return text.encode("utf-8", "surrogatepass")


def _columns(folder: pathlib.Path) -> list[Kind]:
    import pandas as pd

    from shootax.cli import fit
    from shootax.sklearn import load_estimator

    table = pd.DataFrame(
        {"a": [0.5, 1.0, None, 2.5] * 5, "b": ["x", "y", "x", None] * 5, "c": range(20)}
    )
    table.assign(y=["no", "yes"] * 10).to_csv(folder / "columns.csv", index=False)
    options = {"particles": 2, "max_iter": 1, "random_state": 0}
    with contextlib.redirect_stdout(io.StringIO()):
        fit.run(
            folder / "columns.csv", "y", folder / "columns.safetensors", task="classification",
            ignore=[], categorical=[], weight=None, options=options,
        )  # fmt: skip
    sx.export.write(
        load_estimator(folder / "columns.safetensors"), folder / "table.npz", to="numpy"
    )
    path = folder / "table.columns.json"

    def read(path: pathlib.Path) -> Any:
        spec = table_reader.load(path)
        rows = table_reader.rows(spec, {name: table[name] for name in table})
        picked = table_reader.labels(spec, np.eye(2)[[0, 1, 1]])
        return json.dumps(spec), _bytes(rows), _bytes(picked)

    def edit(data: bytes, rng: random.Random) -> bytes:
        spec = json.loads(data)
        spec.pop("checksum")
        return _summed(edited_text(spec, rng), lambda spec: spec, table_reader.checksum)

    return [Kind("columns of an export", path, read, edit)]


def _sweeps(folder: pathlib.Path) -> list[Kind]:
    from shootax.report._progress import progress
    from shootax.sweeps import read_results, read_settings, run_sweep
    from shootax.sweeps._plan import grid_sweep
    from shootax.sweeps._store import Store

    out, grid = folder / "sweep", {"x": [2, 3]}
    function = "tools.torture.jobs:add"
    run_sweep(function, grid, out)
    store, group = Store(out), grid_sweep(function, grid).groups[0]

    def edit(data: bytes, rng: random.Random) -> bytes:
        value = json.loads(data)
        if isinstance(value, dict):
            value.pop("checksum")
        return _summed(edited_text(value, rng), lambda value: value.get("runs", value), checksum)

    def group_of(path: pathlib.Path) -> Any:
        runs = store.read_group(group)
        progress(out)
        if runs is None:  # reported as damaged, and run again
            raise sx.FileFormatError(f"{path.name}: {store.damaged([group])}")
        return runs

    def settings_of(path: pathlib.Path) -> Any:
        progress(out)
        return read_settings(out)

    def results_of(path: pathlib.Path) -> Any:
        progress(out)
        return read_results(out)

    return [
        Kind("runs of a sweep", store.runs / f"{group.name}.json", group_of, edit, share=0.6),
        Kind("settings of a sweep", out / "sweep.json", settings_of, edit, share=0.4),
        Kind("results.json", out / "results.json", results_of, edit, protected=False, share=0.4),
    ]


def _programs(folder: pathlib.Path) -> list[Kind]:
    path = folder / "net.stablehlo"
    sx.export.write(tiny(), path, to="stablehlo")

    def read(path: pathlib.Path) -> Any:
        return [_bytes(out) for out in run_exported(path, "stablehlo", X.astype(np.float32))]

    return [Kind("StableHLO", path, read, share=0.4)]


def _torch(folder: pathlib.Path) -> list[Kind]:
    try:
        import torch  # noqa: F401  # pyright: ignore[reportMissingImports]
    except ImportError:
        return []
    path = folder / "module.py"
    sx.export.write(tiny(), path, to="torch")

    def read(weights: pathlib.Path) -> Any:
        try:
            return [_bytes(out) for out in run_exported(path, "torch", X.astype(np.float32))]
        except ValueError as error:  # raised by the exported module, outside of this package
            if "of this module" in str(error):
                raise sx.FileFormatError(str(error)) from error
            raise

    return [Kind("PyTorch weights", path.with_suffix(".safetensors"), read, share=0.4)]


def _tables(folder: pathlib.Path) -> list[Kind]:
    import pandas as pd

    from shootax.cli import tables

    table = pd.DataFrame({"a": np.arange(30) / 4, "b": ["x", "y", "z"] * 10, "c": range(30)})

    def read(path: pathlib.Path) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tables.read(path).to_json()

    kinds = []
    for ending in (".csv", ".csv.gz", ".parquet"):
        tables.write(table, folder / f"table{ending}")
        kinds.append(
            Kind(f"table {ending}", folder / f"table{ending}", read, protected=False, share=0.2)
        )
    return kinds


# The names of the kinds that each function makes, to choose between them.
MAKERS: dict[str, Callable[[pathlib.Path], list[Kind]]] = {
    "model, format 2": _models,
    "model, format 1": _old_models,
    "estimator": _estimators,
    "checkpoint": _checkpoints,
    "NumPy export": _numpy,
    "columns of an export": _columns,
    "runs of a sweep, settings of a sweep, results.json": _sweeps,
    "StableHLO": _programs,
    "PyTorch weights": _torch,
    "table .csv, table .csv.gz, table .parquet": _tables,
}
