"""The two functions of the paper's regression experiments, on $[-1.5, 1.5]$."""

from collections.abc import Callable

import numpy as np

from shootax import _checks as checks

DOMAIN = (-1.5, 1.5)


def quadratic_like(x: np.ndarray) -> np.ndarray:
    """Compute $x^2 + 3/(1 + x^2)$, which is not invertible.

    **Arguments:** `x`: an array.

    !!! example

        ```python
        from shootax.data import quadratic_like

        print(quadratic_like(1.0))  # 2.5
        ```
    """
    return x**2 + 3 / (1 + x**2)


def cubic(x: np.ndarray) -> np.ndarray:
    """Compute $x^3$.

    **Arguments:** `x`: an array.

    !!! example

        ```python
        from shootax.data import cubic

        print(cubic(2.0))  # 8.0
        ```
    """
    return x**3


FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "quadratic": quadratic_like,
    "cubic": cubic,
}


def sample_function(name: str, samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw inputs uniformly from the domain, and evaluate a function at them.

    **Arguments:**

    - `name`: the function, `"quadratic"` or `"cubic"`.
    - `samples`: the number of inputs.
    - `seed`: the random seed.

    **Returns:** the inputs and the values, each of shape `(samples, 1)`.

    !!! example

        ```python
        from shootax.data import sample_function

        x, y = sample_function("cubic", 40, seed=0)
        print(x.shape, y.shape)  # (40, 1) (40, 1)
        ```
    """
    function = FUNCTIONS[checks.one_of(name, FUNCTIONS, "function")]
    samples = checks.positive_integer(samples, "samples")
    x = np.random.default_rng(checks.seed(seed)).uniform(*DOMAIN, (samples, 1))
    return x, function(x)
