"""Run exported files in their target programs."""

import contextlib
import importlib.util
import pathlib
import types
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from shootax import FileFormatError
from shootax import _checks as checks
from shootax.export import reader
from shootax.export._stablehlo import read_stablehlo
from shootax.export._trace import trace
from shootax.export._whole import Exportable, Whole, doubles


def run_exported(path: Any, to: str, x: PyTree) -> list[np.ndarray]:
    """Run an exported model on a batch.

    **Arguments:**

    - `path`, `to`: the file and its format, as in [`shootax.export.write`][]. ONNX needs onnxruntime,
        and `"torch"` needs PyTorch.
    - `x`: the batch.

    **Returns:** the outputs as a list of arrays. If the file is damaged, or the input does not fit, a
    `ValueError` is raised with the message of the runtime.

    !!! example

        ```python
        import jax
        import numpy as np
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=2, inflation=4), particles=5, key=jax.random.key(0))
        sx.export.write(net, "net.npz", to="numpy")
        (y,) = sx.export.run_exported("net.npz", "numpy", np.ones((3, 2)))
        print(y.shape)  # (3, 2)
        ```
    """
    path, inputs = (
        pathlib.Path(checks.path(path, "path")),
        [np.asarray(leaf) for leaf in jax.tree.leaves(x)],
    )
    runners = {"onnx": _onnx, "torch": _torch, "stablehlo": _stablehlo, "numpy": _numpy}
    checks.one_of(to, tuple(runners), "format")
    if not path.is_file():
        raise FileFormatError(f"There is no exported file {path}. Check the path.")
    try:
        out = _stablehlo(path, x) if to == "stablehlo" else runners[to](path, inputs)
    except (FileFormatError, reader.ProgramError, ImportError):
        raise
    except Exception as error:  # the exception types of the runtimes are not known here
        raise ValueError(
            f"{path} cannot be run as {to} on inputs of shapes {[a.shape for a in inputs]}: an input "
            f"does not fit, or the file is damaged ({error})."
        ) from error
    return [np.asarray(leaf) for leaf in jax.tree.leaves(out)]


def difference(
    model: Any, path: Any, to: str, *, input: Any = None, samples: int = 100
) -> float | None:
    """Compute the largest difference between a model and its exported file on random samples.

    For an estimator, the samples are raw, in the ranges of its training table, with some entries
    missing or unknown. The export is then compared with the estimator's `predict` or `predict_proba`.

    **Arguments:**

    - `model`, `path`, `to`, `input`: as in [`shootax.export.write`][].
    - `samples`: the number of samples.

    **Returns:** the difference, divided by the largest absolute output if that is more than 1; `None` if
    the runtime of the format is not installed.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=2, inflation=4), particles=5, key=jax.random.key(0))
        sx.export.write(net, "net.npz", to="numpy")
        print(sx.export.difference(net, "net.npz", "numpy") < 1e-4)  # True
        ```
    """
    needed = {"onnx": "onnxruntime", "torch": "torch"}.get(to)
    if needed is not None and importlib.util.find_spec(needed) is None:
        return None
    generator = np.random.default_rng(0)
    if isinstance(model, Exportable):
        model = model._exported()
    if isinstance(model, Whole):
        x = model.sample(generator, samples)
        return _gap([model.reference(x)], run_exported(path, to, x))
    spec = trace(model, input).spec
    x = jax.tree.map(
        lambda leaf: generator.normal(size=(samples, *leaf.shape[1:])).astype(leaf.dtype), spec
    )
    wanted = [np.asarray(leaf) for leaf in jax.tree.leaves(model(x))]
    return _gap(wanted, run_exported(path, to, x))


def _gap(wanted: list[np.ndarray], got: list[np.ndarray]) -> float:
    gap = max(float(np.max(np.abs(a - b))) for a, b in zip(wanted, got, strict=True))
    return gap / max(1.0, *(float(np.max(np.abs(a))) for a in wanted))


def _onnx(path: pathlib.Path, inputs: list[np.ndarray]) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # The larger fusions, before onnxruntime 1.31, make operations that it lacks in double precision.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [entry.name for entry in session.get_inputs()]
    return session.run(None, dict(zip(names, inputs, strict=True)))


def _torch(path: pathlib.Path, inputs: list[np.ndarray]) -> Any:
    import torch  # pyright: ignore[reportMissingImports]

    model = _module(path).load(path.with_suffix(".safetensors"))
    with torch.no_grad():
        out = model(*(torch.from_numpy(array.copy()) for array in inputs))
    return [tensor.numpy() for tensor in (out if isinstance(out, tuple) else (out,))]


def _stablehlo(path: pathlib.Path, x: PyTree) -> Any:
    exported = read_stablehlo(path)
    wide = any(aval.dtype == np.float64 for aval in exported.in_avals)
    with doubles() if wide else contextlib.nullcontext():
        return jax.tree.map(np.asarray, exported.call(x))


def _numpy(path: pathlib.Path, inputs: list[np.ndarray]) -> Any:
    return reader.load(path)(
        *inputs
    )  # the same code as in the exported .py file, which is not run here


def _module(path: pathlib.Path) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise FileFormatError(f"{path} is not an exported module: its name must end in .py.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
