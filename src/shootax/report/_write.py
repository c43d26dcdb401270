"""Write a report to an HTML file."""

import os
import pathlib
from typing import Any

import numpy as np

from shootax._files import check_output, write_text
from shootax.report._encode import embedded
from shootax.report._energy import energy_section
from shootax.report._facts import facts_section
from shootax.report._function import function_section
from shootax.report._page import page
from shootax.report._paths import depths, theta_at
from shootax.report._points import flow_section
from shootax.report._reading import history_of, subject
from shootax.report._results import results_section
from shootax.report._subject import Part, Subject
from shootax.report._weights import weights_section

NETS = 4
"""The largest number of nets of a model that are shown."""


def write(
    net: Any,
    path: str | os.PathLike,
    x: Any = None,
    y: Any = None,
    history: Any = None,
    *,
    times: Any = None,
    columns: Any = None,
    classes: Any = None,
    record: dict[str, Any] | None = None,
    title: str | None = None,
) -> pathlib.Path:
    """Write an interactive report on a model to an HTML file, which you can open offline.

    It shows how data and particles move over depth, the function at every depth, the weights, the
    energy, the contribution of each particle, training curves, predictions and facts.

    **Arguments:**

    - `net`: a [`shootax.Net`][], baked or not, a model that contains nets (a chain, an image classifier,
        a latent model), or a fitted estimator from `shootax.sklearn`.
    - `path`: where to write. The usual ending is `.html`.
    - `x`, `y`: data and their targets: numbers, classes (class indices or text), or sequences
        `(samples, times, ...)`. If there are more than 200 samples, a random subset is shown. Without
        data, a net is shown with random inputs.
    - `history`: the `history` of a fit, or the result of [`shootax.fit`][].
    - `times`: the times of the targets, if they are sequences. A latent model has its own times.
    - `columns`, `classes`: the names of the inputs and of the classes. The names in a DataFrame are used
        by default.
    - `record`: facts about the model, such as `shootax.load_record(file)`.
    - `title`: the title of the page.

    **Returns:** the path.

    !!! example

        ```python
        import jax
        import numpy as np
        import shootax as sx

        x = np.linspace(-1, 1, 40)[:, None]
        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        fitted = sx.fit(net, x, x**2, epochs=2)
        path = sx.report.write(fitted.net, "report.html", x, x**2, history=fitted.history)
        print(path.stat().st_size < 6_000_000)  # True
        ```
    """
    check_output(path)
    payload = build(
        net,
        x,
        y,
        history,
        times=times,
        columns=columns,
        classes=classes,
        record=record,
        title=title,
    )
    write_text(path, page(payload, embedded(payload)))
    return pathlib.Path(path)


def build(
    net: Any,
    x: Any = None,
    y: Any = None,
    history: Any = None,
    *,
    times: Any = None,
    columns: Any = None,
    classes: Any = None,
    record: dict[str, Any] | None = None,
    title: str | None = None,
) -> dict[str, Any]:
    """All numbers and texts of a report, for JSON."""
    record = dict(record or {})
    about = subject(net, x, y, times=times, columns=columns, classes=classes)
    shown = about.parts[:NETS]
    if len(shown) < len(about.parts):
        about.notes.append(f"The first {len(shown)} of {len(about.parts)} nets are shown.")
    kind = type(about.estimator).__name__ if about.estimator is not None else type(net).__name__
    nets = [_of_part(part, about) for part in shown]
    return {
        "title": title or f"Inside a {kind}",
        "nets": nets,
        "training": history_of(history, net, record),
        "results": results_section(about),
        "facts": facts_section(about, record),
        "notes": about.notes,
    }


def _of_part(part: Part, about: Subject) -> dict[str, Any]:
    times = depths(part.net)
    theta = theta_at(part.net, times)
    return {
        "name": part.name,
        "times": np.asarray(times, float).tolist(),
        "flow": flow_section(part, about, times),
        "function": function_section(part, about, times),
        "weights": weights_section(part, about, theta),
        "energy": energy_section(part, about, times, theta),
    }
