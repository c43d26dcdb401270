"""Train several nets of one kind."""

import inspect
import os
from collections.abc import Sequence
from typing import Any, Unpack

import equinox as eqx
from jaxtyping import Array, PyTree

from shootax import _checks as checks
from shootax._compile import on_cpu
from shootax._errors import DivergedError
from shootax._fork import refuse_after_fork
from shootax._measures import nets as nets_in
from shootax._train.checkpoint import Checkpoint
from shootax._train.engine import train
from shootax._train.fit import FitOptions, fit
from shootax._train.problem import as_seed, check_model, make_problem
from shootax._train.progress import Show
from shootax._train.results import FitResult
from shootax._train.samples import AbstractSampler
from shootax._train.streams import is_stream


def fit_many(
    nets: Sequence[Any],
    x: PyTree[Array] | AbstractSampler,
    y: PyTree[Array] | None = None,
    *,
    seed: int = 0,
    seeds: Sequence[int] | None = None,
    together: bool | None = None,
    checkpoint: str | os.PathLike | Checkpoint | None = None,
    progress: bool | Show | None = None,
    **options: Unpack[FitOptions],
) -> list[FitResult | DivergedError]:
    """Train several nets of one kind, for instance one for each of many seeds.

    Small nets spend most of a step on overhead, which they share if they train as one program. Large
    nets do not, and are trained one after the other.

    **Arguments:**

    - `nets`: models that differ only in the values of their arrays.
    - `x`, `y`: inputs and targets, the same for all nets.
    - `seed`: the seed for the validation split, which all nets share, and for the order of the
        samples: net `i` sees them in the order of `fit(..., seed=seed + i)`.
    - `seeds`: a list of seeds for the order of the samples, one for each net, instead of `seed + i`.
    - `together`: whether to train all nets as one program; by default chosen by their size.
    - `checkpoint`: as in [`shootax.fit`][]; only if the nets train as one program.
    - `progress`: as in [`shootax.fit`][].
    - `options`: `epochs`, `batch_size`, `loss`, `data_strength`, `penalty_strength`, `times`,
        `sample_weight`, `optimizer`, `polish`, `validation`, `mesh` and `callbacks`, as in
        [`shootax.fit`][]. A callback is called for every net, which the `index` of the report
        identifies. If it returns `True`, only that net stops.

    **Returns:** for each net, what [`shootax.fit`][] would return, or the error it would raise. A net
    that diverges does not stop the others.

    !!! example

        ```python
        import jax
        import numpy as np
        import shootax as sx

        x = np.linspace(-1, 1, 40)[:, None]
        field = sx.UpDown(dim=1, inflation=4)
        nets = [sx.Net(field, particles=3, key=jax.random.key(seed)) for seed in range(3)]
        fits = sx.fit_many(nets, x, x**2, epochs=2)
        print([fit.net.control.ensemble.particles for fit in fits])  # [3, 3, 3]
        ```
    """
    refuse_after_fork()
    if is_stream(x):
        raise ValueError(
            "fit_many trains on arrays or a sampler, which all nets share. For a stream, call sx.fit for "
            "each net."
        )
    nets = _checked(nets, x)
    if seeds is None:
        seeds = [as_seed(seed) + i for i in range(len(nets))]
    elif isinstance(seeds, str) or len(seeds) != len(nets):
        raise ValueError(f"Give one seed for each net; got {len(seeds)} for {len(nets)} nets.")
    seeds = [as_seed(each, "Each of the seeds") for each in seeds]
    problem = make_problem(nets[0], x, y, seed=seed, **_with_defaults(options))
    if together is None:
        together = pays_together(nets[0], problem.recipe.batch_size)
    if together:
        return train(nets, seeds, problem, progress, Checkpoint.at(checkpoint))
    if checkpoint is not None:
        raise ValueError(
            "Nets that train one after the other have no common checkpoint. Use together=True, or call "
            "`fit` for each net with its own checkpoint."
        )
    outcomes = []
    for i, (net, own) in enumerate(zip(nets, seeds, strict=True)):
        outcomes += train([net], [own], problem, progress, first=i)
    return outcomes


def _with_defaults(options: FitOptions) -> dict[str, Any]:
    """All options that `fit_many` shares with `fit`, with the defaults in the signature of `fit`."""
    known = inspect.signature(fit).parameters
    for name in options:
        if name not in FitOptions.__annotations__:
            shared = ", ".join(FitOptions.__annotations__)
            raise TypeError(f"fit_many has no option {name!r}. It shares with fit: {shared}.")
    return {name: options.get(name, known[name].default) for name in FitOptions.__annotations__}


def _checked(nets: Any, x: Any) -> list[Any]:
    if callable(nets) or not isinstance(nets, Sequence) or isinstance(nets, str):
        raise ValueError(
            f"The first argument must be a list of models, got a {type(nets).__name__}. For one model, "
            "use sx.fit."
        )
    if len(nets) == 0:
        raise ValueError("There are no nets to train: the list of models is empty.")
    kinds = []
    for net in nets:
        check_model(net, x)
        kinds.append(eqx.tree_pformat(eqx.filter_eval_shape(lambda model: model, net)))
    odd = next((i for i, kind in enumerate(kinds) if kind != kinds[0]), None)
    if odd is not None:
        raise ValueError(
            f"The nets must differ only in the values of their arrays, but number {odd} has other "
            "shapes or options than number 0. Train nets of different kinds with separate calls."
        )
    return list(nets)


# With more numbers in the states of one evaluation, arithmetic takes more time than overhead. On the CPU
# there is less overhead, because small loops are compiled as single functions.
_LARGE, _LARGE_ON_CPU = 8_000, 2_000


def pays_together(model: Any, batch_size: int) -> bool:
    """Whether nets of this kind train faster as one program.

    **Arguments:** `model`: one of the nets; `batch_size`: the number of samples in a batch.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        print(sx.extend.pays_together(net, batch_size=32))  # True
        ```
    """
    batch_size = checks.positive_integer(batch_size, "batch_size")
    sizes = [net.work(batch_size) for net in nets_in(model)]
    return max(sizes, default=0) <= (_LARGE_ON_CPU if on_cpu(()) else _LARGE)
