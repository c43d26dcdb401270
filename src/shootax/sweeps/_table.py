"""Results for other programs."""

from collections.abc import Sequence
from typing import Any


def to_pandas(runs: Sequence[dict[str, Any]]) -> Any:
    """Convert runs to a `pandas.DataFrame` with one row per run.

    **Arguments:** `runs`: the runs, as returned by [`shootax.sweeps.run_sweep`][] or
    [`shootax.sweeps.read_results`][].

    !!! example

        ```python
        from shootax.sweeps import to_pandas

        print(to_pandas([{"seed": 0, "error": 0.1}, {"seed": 1, "error": 0.2}]).shape)  # (2, 2)
        ```
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("Tables need pandas: pip install 'shootax[tables]'.") from error
    return pd.DataFrame(list(runs))
