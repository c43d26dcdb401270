"""Runs a network from its .npz file. Needs NumPy alone: `model = load("net.npz"); y = model(x)`."""

import json
import math

import numpy as np

KINDS = {
    "logistic": lambda x: 0.5 + 0.5 * np.tanh(0.5 * x),
    "erf": lambda x: np.vectorize(math.erf, otypes=[x.dtype])(x),
    "astype": lambda x, dtype: np.asarray(x).astype(dtype),
    "reshape": lambda x, shape: np.reshape(x, shape),
    "concatenate": lambda *x, axis: np.concatenate(x, axis),
    "slice": lambda x, at: x[tuple(slice(*s) for s in at)],
    "piece": lambda x, *at, sizes: x[tuple(slice(a, a + n) for a, n in zip(at, sizes))],
    "pad": lambda x, width, value: np.pad(x, width, constant_values=value),
    "einsum": lambda *x, spec: np.einsum(spec, *x, optimize=True),
}


def run(items, values, rows):
    for kind, inputs, options, outs in items:
        arrays = [values[name] for name in inputs]
        if kind == "loop":
            stacks = [[] for _ in options["rows"]]
            for k in range(options["length"]):
                values.update({options["counter"]: k, **dict(zip(options["carried"], arrays))})
                run(options["body"], values, rows)
                arrays = [values[name] for name in options["nexts"]]
                stacks = [[*s, values[name]] for s, name in zip(stacks, options["rows"])]
            values.update(zip(outs, arrays + [np.stack(s) for s in stacks]))
            continue
        if "shape" in options:  # a size is written as factor, offset: factor * rows + offset
            options = {"shape": [factor * rows + offset for factor, offset in options["shape"]]}
        values[outs] = (KINDS.get(kind) or getattr(np, kind))(*arrays, **options)


def load(path):
    file = dict(np.load(path))
    program = json.loads(str(file.pop("program")))

    def model(*inputs):
        given = {name: np.asarray(x, t) for x, (name, t) in zip(inputs, program["inputs"])}
        values = {**file, **given}
        run(program["items"], values, len(inputs[0]))
        outputs = [values[name] for name in program["outputs"]]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    return model
