"""Results for other programs."""

from collections.abc import Sequence
from typing import Any


def to_pandas(runs: Sequence[dict[str, Any]]) -> Any:
    """The runs as a `pandas.DataFrame`, a row for each."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("Tables need pandas: pip install 'shootax[tables]'.") from error
    return pd.DataFrame(list(runs))
