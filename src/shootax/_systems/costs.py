"""What the kernel form costs besides its products, on each platform. You can replace these numbers.

They are in `form_costs.json` next to this file. The environment variable `SHOOTAX_FORM_COSTS` names a
file with other numbers, as written by `python -m benchmarks --parts forms --costs FILE`.
"""

import functools
import json
import math
import os
import pathlib
from typing import Any, NamedTuple

from shootax._compile import default_platform

VARIABLE = "SHOOTAX_FORM_COSTS"
DEFAULTS = pathlib.Path(__file__).with_name("form_costs.json")


class FormCosts(NamedTuple):
    """Costs in operations of a product, so that they can be added to the count of products.

    `kernel_overhead`: an evaluation of the kernel form runs more and smaller operations than one of
    the dense form. `gram_element`: the kernel form processes its Gram matrices element by element.
    `measured`: whether the numbers come from a measurement on such a device.
    """

    kernel_overhead: float
    gram_element: float
    measured: bool


def form_costs(platform: str | None = None) -> FormCosts:
    """The costs on a platform, by default the one that programs are compiled for.

    A platform without numbers is treated as a GPU.
    """
    platform = platform or default_platform()
    own = os.environ.get(VARIABLE)
    table = {**_read(str(DEFAULTS)), **(_read(own) if own else {})}
    return table.get(platform, table["gpu"])


@functools.cache
def _read(path: str) -> dict[str, FormCosts]:
    try:
        table = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        return {platform: _costs(entry) for platform, entry in table.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"{VARIABLE}={path} is not a table of costs ({type(error).__name__}: {error}). Expected JSON "
            'such as {"gpu": {"kernel_overhead": 2e9, "gram_element": 640}}, which `python -m benchmarks '
            "--parts forms --costs FILE` writes."
        ) from error


def _costs(entry: dict[str, Any]) -> FormCosts:
    numbers = [float(entry[name]) for name in ("kernel_overhead", "gram_element")]
    if not all(math.isfinite(number) and number >= 0 for number in numbers):
        raise ValueError(f"costs must be finite and not negative, got {numbers}")
    return FormCosts(*numbers, measured=bool(entry.get("measured", False)))
