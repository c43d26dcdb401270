"""Results as Markdown tables."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

Row = dict[str, Any]


def markdown(rows: Sequence[Row]) -> str:
    """All tables of a results file, one section for each number of threads.

    !!! example

        ```python
        from shootax.bench import markdown

        row = {"part": "automatic", "case": "tiny", "rival": "automatic", "threads": 1}
        print(markdown([{**row, "ratio": 2.0, "ours_ms": 1.0, "rival_ms": 2.0}]))
        ```
    """
    sections = []
    for threads in sorted({row["threads"] for row in rows}):
        mine = [row for row in rows if row["threads"] == threads]
        title = "One thread" if threads == 1 else f"{threads} threads"
        parts = [f"## {title}"]
        for part, table in TABLES.items():
            chosen = [row for row in mine if row["part"] == part]
            if chosen:
                parts.append(table(chosen))
        sections.append("\n\n".join(parts))
    return "\n\n".join(sections) + "\n"


def _machine(rows: Sequence[Row]) -> str:
    lines = []
    for row in rows:
        versions = ", ".join(f"{name} {v}" for name, v in row["versions"].items() if v)
        rough = " A rough look, not a measurement." if row["quick"] else ""
        lines.append(f"{row['case']}; {versions}.{rough}")
    return "\n".join(dict.fromkeys(lines))


def _race(rows: Sequence[Row]) -> str:
    rivals = list(dict.fromkeys(row["rival"] for row in rows if row["rival"] != "limit"))
    heading = ["case", "form", "ours, ms (quartiles)"]
    heading += [f"{rival}, ms (quartiles)" for rival in rivals]
    heading += [f"{rival} / ours" for rival in rivals]
    heading += ["limit, ms", "ours / limit"]
    lines = []
    for case in dict.fromkeys(row["case"] for row in rows):
        by = {row["rival"]: row for row in rows if row["case"] == case}
        any_row = next(iter(by.values()))
        line = [case, any_row["form"], _spread(any_row, "ours")]
        line += [_spread(by[rival], "rival") if rival in by else "" for rival in rivals]
        line += [_number(by[rival]["ratio"]) if rival in by else "" for rival in rivals]
        limit = by.get("limit")
        line += [_number(limit["rival_ms"]), _number(limit["times_limit"])] if limit else ["", ""]
        lines.append(line)
    rates = [row["gflops"] for row in rows if row["rival"] == "limit"]
    note = f"512³ products: {min(rates):.0f} to {max(rates):.0f} Gflop/s." if rates else ""
    return _table("A training step", heading, lines) + (f"\n\n{note}" if note else "")


def _memory(rows: Sequence[Row]) -> str:
    modes = list(dict.fromkeys(row["rival"] for row in rows))
    heading = ["steps", *(f"{m}, ms" for m in modes), *(f"{m}, MB" for m in modes)]
    lines = []
    for depth in dict.fromkeys(row["depth"] for row in rows):
        by = {row["rival"]: row for row in rows if row["depth"] == depth}
        times = [_number(by[mode]["rival_ms"]) for mode in modes]
        lines.append(
            [f"{depth:,}", *times, *(_number(by[m]["temporary_bytes"] / 1e6) for m in modes)]
        )
    return _table("Gradient modes against depth (regression-16)", heading, lines)


def _scaling(rows: Sequence[Row]) -> str:
    heading = ["size", "range", "ms", "forms", "exponent"]
    lines = [
        [
            row["case"],
            ", ".join(str(v) for v in row["values"]),
            ", ".join(_number(ms) for ms in row["ms"]),
            ", ".join(dict.fromkeys(row["forms"])),
            f"{row['exponent']:.2f} ± {row['standard_error']:.2f}",
        ]
        for row in rows
    ]
    return _table("Growth of a training step", heading, lines)


def _start(rows: Sequence[Row]) -> str:
    lines = [
        [
            row["case"],
            *(f"{row[key] / 1e3:.2f}" for key in ("rival_ms", "ours_ms", "import_ms")),
        ]
        for row in rows
    ]
    return _table(
        "First training step after import", ["case", "cold, s", "warm, s", "import, s"], lines
    )


def _seeds(rows: Sequence[Row]) -> str:
    heading = ["case", "seeds", "mapped, ms per seed", "one by one", "processes", "mapped / limit"]
    lines = []
    for case in dict.fromkeys(row["case"] for row in rows):
        by = {row["rival"]: row for row in rows if row["case"] == case}
        first = next(iter(by.values()))
        count = first["seeds"]
        others = [_number(by[way]["rival_ms"] / count) for way in ("one by one", "processes")]
        limit = _number(first["times_limit_per_seed"])
        lines.append([case, str(count), _number(first["ours_per_seed_ms"]), *others, limit])
    return _table("Many seeds", heading, lines)


def _inference(rows: Sequence[Row]) -> str:
    heading = ["plain network", "µs per row", "with particles, µs per row", "ratio", "difference"]
    lines = [
        [
            row["case"],
            *(_number(row[k]) for k in ("ours_row_us", "rival_row_us", "ratio")),
            f"{row['error']:.0e}",
        ]
        for row in rows
    ]
    return _table("Prediction, the rotating-MNIST block", heading, lines)


def _automatic(rows: Sequence[Row]) -> str:
    heading = ["case", "forms", "written out, ms", "derived, ms", "ratio"]
    lines = [
        [
            row["case"],
            row["rival"],
            _spread(row, "ours"),
            _spread(row, "rival"),
            _number(row["ratio"]),
        ]
        for row in rows
    ]
    return _table("Automatic shooting", heading, lines)


def _forms(rows: Sequence[Row]) -> str:
    heading = ["shape", "chosen", "chosen, ms", "other, ms", "other / chosen"]
    lines = [
        [row["case"], row["chosen"], *(_number(row[k]) for k in ("ours_ms", "rival_ms", "ratio"))]
        for row in rows
    ]
    wrong = [1 / row["ratio"] for row in rows if row["ratio"] < 1]
    costs = f", at most {100 * (max(wrong) - 1):.0f} % slower" if wrong else ""
    note = f"Wrong choices: {len(wrong)} of {len(rows)}{costs}."
    return _table("Which form is faster", heading, lines) + f"\n\n{note}"


TABLES: dict[str, Callable[[Sequence[Row]], str]] = {
    "machine": _machine,
    "race": _race,
    "memory": _memory,
    "scaling": _scaling,
    "start": _start,
    "seeds": _seeds,
    "inference": _inference,
    "automatic": _automatic,
    "forms": _forms,
}


def _spread(row: Row, name: str) -> str:
    middle = _number(row[f"{name}_ms"])
    if f"{name}_lower_ms" not in row:
        return middle
    return f"{middle} ({_number(row[f'{name}_lower_ms'])}–{_number(row[f'{name}_upper_ms'])})"


def _number(value: float) -> str:
    """Three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _table(title: str, heading: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    out = [f"### {title}", "", "| " + " | ".join(heading) + " |", "|" + "---|" * len(heading)]
    return "\n".join([*out, *("| " + " | ".join(line) + " |" for line in lines)])
