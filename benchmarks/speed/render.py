"""Results as Markdown tables."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

Record = dict[str, Any]


def markdown(records: Sequence[Record]) -> str:
    """All tables of a results file, one section for each number of threads.

    !!! example

        ```python
        from benchmarks.speed import markdown

        record = {"part": "automatic", "case": "tiny", "rival": "automatic", "threads": 1}
        print(markdown([{**record, "ratio": 2.0, "ours_ms": 1.0, "rival_ms": 2.0}]))
        ```
    """
    sections = []
    for threads in sorted({record["threads"] for record in records}):
        mine = [record for record in records if record["threads"] == threads]
        title = "One thread" if threads == 1 else f"{threads} threads"
        parts = [f"## {title}"]
        for part, table in TABLES.items():
            chosen = [record for record in mine if record["part"] == part]
            if chosen:
                parts.append(table(chosen))
        sections.append("\n\n".join(parts))
    return "\n\n".join(sections) + "\n"


def _machine(records: Sequence[Record]) -> str:
    lines = []
    for record in records:
        versions = ", ".join(f"{name} {v}" for name, v in record["versions"].items() if v)
        rough = " A rough look, not a measurement." if record["quick"] else ""
        lines.append(f"{record['case']}; {versions}.{rough}")
    return "\n".join(dict.fromkeys(lines))


def _race(records: Sequence[Record]) -> str:
    rivals = list(
        dict.fromkeys(record["rival"] for record in records if record["rival"] != "limit")
    )
    heading = ["case", "form", "ours, ms (quartiles)"]
    heading += [f"{rival}, ms (quartiles)" for rival in rivals]
    heading += [f"{rival} / ours" for rival in rivals]
    heading += ["limit, ms", "ours / limit"]
    lines = []
    for case in dict.fromkeys(record["case"] for record in records):
        by = {record["rival"]: record for record in records if record["case"] == case}
        any_record = next(iter(by.values()))
        line = [case, any_record["form"], _spread(any_record, "ours")]
        line += [_spread(by[rival], "rival") if rival in by else "" for rival in rivals]
        line += [_number(by[rival]["ratio"]) if rival in by else "" for rival in rivals]
        limit = by.get("limit")
        line += [_number(limit["rival_ms"]), _number(limit["times_limit"])] if limit else ["", ""]
        lines.append(line)
    rates = [record["gflops"] for record in records if record["rival"] == "limit"]
    note = f"512³ products: {min(rates):.0f} to {max(rates):.0f} Gflop/s." if rates else ""
    return _table("A training step", heading, lines) + (f"\n\n{note}" if note else "")


def _memory(records: Sequence[Record]) -> str:
    modes = list(dict.fromkeys(record["rival"] for record in records))
    heading = ["steps", *(f"{m}, ms" for m in modes), *(f"{m}, MB" for m in modes)]
    lines = []
    for depth in dict.fromkeys(record["depth"] for record in records):
        by = {record["rival"]: record for record in records if record["depth"] == depth}
        times = [_number(by[mode]["rival_ms"]) for mode in modes]
        lines.append(
            [f"{depth:,}", *times, *(_number(by[m]["temporary_bytes"] / 1e6) for m in modes)]
        )
    return _table("Gradient modes against depth (regression-16)", heading, lines)


def _scaling(records: Sequence[Record]) -> str:
    heading = ["size", "range", "ms", "forms", "exponent"]
    lines = [
        [
            record["case"],
            ", ".join(str(v) for v in record["values"]),
            ", ".join(_number(ms) for ms in record["ms"]),
            ", ".join(dict.fromkeys(record["forms"])),
            f"{record['exponent']:.2f} ± {record['standard_error']:.2f}",
        ]
        for record in records
    ]
    return _table("Growth of a training step", heading, lines)


def _start(records: Sequence[Record]) -> str:
    lines = [
        [
            record["case"],
            *(f"{record[key] / 1e3:.2f}" for key in ("rival_ms", "ours_ms", "import_ms")),
        ]
        for record in records
    ]
    return _table(
        "First training step after import", ["case", "cold, s", "warm, s", "import, s"], lines
    )


def _seeds(records: Sequence[Record]) -> str:
    heading = ["case", "seeds", "mapped, ms per seed", "one by one", "processes", "mapped / limit"]
    lines = []
    for case in dict.fromkeys(record["case"] for record in records):
        by = {record["rival"]: record for record in records if record["case"] == case}
        first = next(iter(by.values()))
        count = first["seeds"]
        others = [_number(by[way]["rival_ms"] / count) for way in ("one by one", "processes")]
        limit = _number(first["times_limit_per_seed"])
        lines.append([case, str(count), _number(first["ours_per_seed_ms"]), *others, limit])
    return _table("Many seeds", heading, lines)


def _inference(records: Sequence[Record]) -> str:
    heading = [
        "plain network",
        "µs per sample",
        "with particles, µs per sample",
        "ratio",
        "difference",
    ]
    lines = [
        [
            record["case"],
            *(_number(record[k]) for k in ("ours_sample_us", "rival_sample_us", "ratio")),
            f"{record['error']:.0e}",
        ]
        for record in records
    ]
    return _table("Prediction, the rotating-MNIST block", heading, lines)


def _automatic(records: Sequence[Record]) -> str:
    heading = ["case", "forms", "written out, ms", "derived, ms", "ratio"]
    lines = [
        [
            record["case"],
            record["rival"],
            _spread(record, "ours"),
            _spread(record, "rival"),
            _number(record["ratio"]),
        ]
        for record in records
    ]
    return _table("Automatic shooting", heading, lines)


def _forms(records: Sequence[Record]) -> str:
    heading = ["shape", "chosen", "chosen, ms", "other, ms", "other / chosen"]
    lines = [
        [
            record["case"],
            record["chosen"],
            *(_number(record[k]) for k in ("ours_ms", "rival_ms", "ratio")),
        ]
        for record in records
    ]
    wrong = [1 / record["ratio"] for record in records if record["ratio"] < 1]
    costs = f", at most {100 * (max(wrong) - 1):.0f} % slower" if wrong else ""
    note = f"Wrong choices: {len(wrong)} of {len(records)}{costs}."
    return _table("Which form is faster", heading, lines) + f"\n\n{note}"


def _convolution(records: Sequence[Record]) -> str:
    rivals = list(dict.fromkeys(record["rival"] for record in records))
    heading = ["network", "shooting, ms", *(f"{rival}, ms" for rival in rivals)]
    heading += [f"shooting / {rival}" for rival in rivals]
    lines = []
    for case in dict.fromkeys(record["case"] for record in records):
        by = {record["rival"]: record for record in records if record["case"] == case}
        times = [_number(by[rival]["rival_fastest_ms"]) for rival in rivals if rival in by]
        mine = next(iter(by.values()))["ours_fastest_ms"]
        ratios = [f"{mine / by[r]['rival_fastest_ms']:.2f}" for r in rivals if r in by]
        lines.append([case, _number(mine), *times, *ratios])
    return _table("A training step of residual networks of images, fastest", heading, lines)


def _simple(title: str, mine: str, theirs: str) -> Callable[[Sequence[Record]], str]:
    """A table of two times and their ratio."""

    def table(records: Sequence[Record]) -> str:
        lines = [
            [
                record["case"],
                _spread(record, "ours"),
                _spread(record, "rival"),
                f"{record['ratio']:.2f}",
            ]
            for record in records
        ]
        heading = ["case", f"{mine}, ms", f"{theirs}, ms", f"{theirs} / {mine}"]
        return _table(title, heading, lines)

    return table


def _finished(records: Sequence[Record]) -> str:
    total = sum(record["seconds"] for record in records)
    each = ", ".join(
        f"{record['settings']['parts'][0]} {record['seconds']:.0f}" for record in records
    )
    return f"Measured in {total / 60:.1f} minutes (seconds of the parts: {each})."


TABLES: dict[str, Callable[[Sequence[Record]], str]] = {
    "machine": _machine,
    "finished": _finished,
    "race": _race,
    "fit": _simple("Steps of `fit` and the bare step", "fit", "bare step"),
    "stream": _simple("A step on a stream and on arrays", "stream", "arrays"),
    "cores": _simple("`fit` with two cores and with one", "two cores", "one core"),
    "baked": _simple("Prediction, baked in form auto and live", "baked", "live"),
    "memory": _memory,
    "scaling": _scaling,
    "start": _start,
    "seeds": _seeds,
    "inference": _inference,
    "automatic": _automatic,
    "convolution": _convolution,
    "forms": _forms,
}


def _spread(record: Record, name: str) -> str:
    middle = _number(record[f"{name}_ms"])
    if f"{name}_lower_ms" not in record:
        return middle
    return f"{middle} ({_number(record[f'{name}_lower_ms'])}–{_number(record[f'{name}_upper_ms'])})"


def _number(value: float) -> str:
    """Three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _table(title: str, heading: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    out = [f"### {title}", "", "| " + " | ".join(heading) + " |", "|" + "---|" * len(heading)]
    return "\n".join([*out, *("| " + " | ".join(line) + " |" for line in lines)])
