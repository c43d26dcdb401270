"""The HTML page of a report."""

import html
from importlib import resources
from typing import Any

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
"""The content security policy: a browser blocks all access to anything outside of the page."""

SECTIONS = (
    (
        "flow",
        "Flow",
        "Each dot is a sample. It moves from the lifted input at depth 0 to the input of the readout "
        "at the end. Diamonds are the particles, which move in the same flow and generate the "
        "weights. Arrows are their momenta, all at the same scale.",
    ),
    (
        "function",
        "Function",
        "The output of the network if it stopped at the depth of the slider: the readout applied to "
        "the states there, for inputs on a grid. Marks are the data.",
    ),
    (
        "weights",
        "Weights",
        "The norm of every part θₖ of the weights over depth. Below, the chosen matrix at the depth of "
        "the slider and its singular values. In a field that is linear in θ, K particles generate "
        "matrices of rank at most K: singular values beyond the dashed line are zero.",
    ),
    (
        "energy",
        "Energy",
        "Three quantities over depth: the Hamiltonian, which the flow conserves up to the error of "
        "the integrator, the penalty R(θ(t)), and the complexity log₂ Σ‖θₖ(t)‖² of the matrices.",
    ),
    (
        "particles",
        "Particles one by one",
        "The change of loss and penalty when one particle is removed and everything else, including "
        "other nets, is unchanged. If a bar is near zero, the particle is dispensable. If the loss "
        "decreases, the particle does harm on these data.",
    ),
    (
        "training",
        "Training",
        "The minimised objective, its data term and penalty, the validation loss and the learning "
        "rate, by epoch.",
    ),
    (
        "results",
        "Predictions",
        "Predicted against true values, for the samples of this report.",
    ),
    ("facts", "Facts", "The type of the model, its number of parameters, and how it was made."),
)


def asset(name: str) -> str:
    """The text of a style sheet or script that is stored in this package."""
    return (resources.files("shootax.report") / "page" / name).read_text(encoding="utf-8")


def plotly_script() -> str:
    """The source of plotly.js, from the installed package `plotly`."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError(
            "A report needs Plotly. Install it with pip install 'shootax[report]'."
        ) from error
    return get_plotlyjs()


def page(payload: dict[str, Any], json_text: str) -> str:
    """The HTML document, which contains its scripts, styles and numbers."""
    title = html.escape(payload["title"])
    links = "".join(f'<a href="#{name}">{html.escape(text)}</a>' for name, text, _ in SECTIONS)
    sections = "".join(_section(*section, payload) for section in SECTIONS)
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in payload["notes"])
    scripts = "\n".join(asset(name) for name in ("core.js", "flow.js", "depth.js", "results.js"))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{asset("report.css")}</style>
</head>
<body>
<header><h1>{title}</h1><nav aria-label="Sections">{links}</nav></header>
<div id="bar" role="group" aria-label="Depth">
<button id="play" type="button" aria-pressed="false">Play</button>
<label for="depth">depth</label>
<input id="depth" type="range" min="0" max="0" step="1" value="0">
<output id="where" for="depth"></output>
<span id="choose-net" hidden><label for="net">net</label> <select id="net"></select></span>
</div>
<main>
<noscript><p>The pictures of this report need JavaScript.</p></noscript>
<ul id="notes">{notes}</ul>
{sections}
</main>
<script type="application/json" id="payload">{json_text}</script>
<script>{plotly_script()}</script>
<script>{scripts}</script>
</body>
</html>
"""


def _section(name: str, title: str, sentence: str, payload: dict[str, Any]) -> str:
    body = _facts(payload["facts"]) if name == "facts" else f'<div id="{name}-body"></div>'
    return (
        f'<section id="{name}"><h2>{html.escape(title)}</h2>'
        f'<p class="about">{html.escape(sentence)}</p>{body}</section>'
    )


def _facts(tables: list[dict[str, Any]]) -> str:
    parts = []
    for table in tables:
        rows = "".join(
            f'<tr><th scope="row">{html.escape(name)}</th><td>{html.escape(value)}</td></tr>'
            for name, value in table["rows"]
        )
        parts.append(f"<table><caption>{html.escape(table['title'])}</caption>{rows}</table>")
    return f'<div class="tables">{"".join(parts)}</div>'
