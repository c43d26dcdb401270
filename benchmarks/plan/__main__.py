"""`python -m benchmarks.plan`: compare counts of compiled programs with the model, and predict from it.

python -m benchmarks.plan --check check.json      # compiles about 40 small programs for 8 virtual devices
python -m benchmarks.plan --markdown check.json   # prints all tables of the page
"""

import argparse
import json
import os
import pathlib
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.plan.model import ACCELERATORS, Accelerator, Shape, best, need

ROOT = pathlib.Path(__file__).parents[2]
DEVICES = 8
CHECKED = [
    Shape("small", 8, 8, 64, 512, 1),
    Shape("many particles", 8, 8, 256, 512, 1),
    Shape("wide", 16, 16, 64, 1024, 1),
    Shape("large batch", 4, 8, 256, 4096, 1),
]
LAYOUTS = [
    *((n, 1, "dense") for n in (1, 2, 4, 8)),
    *((n, 1, "kernel") for n in (1, 2, 4, 8)),
    *((data, 8 // data, "kernel") for data in (1, 2, 4)),
]
# Steps in a loop. A compiled program counts their operations once, so this shape checks memory only.
DEEP = Shape("small, 4 steps", 8, 8, 64, 512, 4)
FEW_LAYOUTS = [
    (1, 1, "dense"),
    (8, 1, "dense"),
    (1, 1, "kernel"),
    (8, 1, "kernel"),
    (2, 4, "kernel"),
]
PLANNED = [
    Shape("large batch", 64, 16, 1_024, 1_000_000),
    Shape("wide layers", 6_250, 15, 1_024, 65_536),
    Shape("wide layers, large batch", 6_250, 15, 1_024, 1_000_000),
    Shape("many particles", 64, 16, 1_000_000, 65_536),
    Shape("many particles, large batch", 64, 16, 1_000_000, 1_000_000),
    Shape("all of it", 6_250, 15, 1_000_000, 1_000_000),
]
COUNTS = (8, 64, 512, 4_096)


def check(path: pathlib.Path) -> None:
    """Compile the programs, and write their counts beside those of the model."""
    flag = f"--xla_force_host_platform_device_count={DEVICES}"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}".strip()
    from benchmarks.plan.program import compiled, contents  # JAX reads the variable when it starts

    cases = [(shape, *layout, "direct") for shape in CHECKED for layout in LAYOUTS]
    cases += [
        (DEEP, *layout, kept) for layout in FEW_LAYOUTS for kept in ("direct", "checkpointed")
    ]
    records = []
    for shape, data, particles, form, kept in cases:
        found = contents(compiled(shape, data, particles, form, kept))
        said = need(shape, data, particles, form, kept)  # pyright: ignore[reportArgumentType]
        records.append(
            {
                "shape": shape.name,
                "steps": shape.steps,
                "mesh": [data, particles],
                "form": form,
                "gradient": kept,
                "found": found,
                "model": said._asdict(),
            }
        )
        print(f"{shape.name}, {data} × {particles}, {form}, {kept}", file=sys.stderr, flush=True)
        path.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


def checked_table(records: Sequence[dict[str, Any]]) -> str:
    """The counts of compiled programs, and those of the model in per cent of them."""
    lines = []
    for each in records:
        found, said = each["found"], each["model"]
        data, particles = each["mesh"]
        counted = each["steps"] == 1
        lines.append(
            [
                each["shape"],
                f"{data} × {particles}",
                f"{each['form']}, {each['gradient']}",
                f"{found['operations'] / 1e6:.3g}" if counted else "–",
                _share(said["operations"], found["operations"]) if counted else "–",
                f"{found['memory'] / 1e6:.3g}",
                _share(said["memory"], found["memory"]),
                _size(found["all_reduce"], said["reduced"]),
                _size(found["gathered"], said["gathered"]) if counted else "–",
            ]
        )
    heading = ["shape", "data × particles", "form, gradient", "10⁶ operations", "model", "MB"]
    return _table([*heading, "model", "all-reduce", "gathered"], lines)


def planned_tables() -> Iterable[str]:
    """For each accelerator, the best layout of each training, with the built forms and with a future
    form."""
    for accelerator in ACCELERATORS:
        yield f"### {accelerator.name}\n\n{accelerator.source}.\n\n" + _planned(accelerator, True)
        yield f"The sharded dense form, which is not built:\n\n{_planned(accelerator, False)}"


def _planned(accelerator: Accelerator, built: bool) -> str:
    lines = []
    for shape in PLANNED:
        for devices in COUNTS:
            found = best(shape, accelerator, devices, built)
            data, particles = found["mesh"]
            times = [_seconds(found[k]) for k in ("compute", "memory", "network", "start")]
            last = [_seconds(found["seconds"]), found["bound"]] if found["fits"] else ["–", "–"]
            fits = "" if found["fits"] else ", **too much**"
            layout = f"{data} × {particles} {found['form']}, {found['gradient']}"
            size = f"{found['gigabytes']:,.1f}{fits}"
            lines.append([shape.name, f"{devices:,}", layout, size, *times, *last])
    heading = ["training", "devices", "layout", "GB a device", "compute", "memory", "network"]
    return _table([*heading, "start", "step", "bound"], lines)


def shapes_table() -> str:
    lines = [
        [
            shape.name,
            f"{shape.dim:,}",
            f"{shape.state:,}",
            f"{shape.particles:,}",
            f"{shape.batch:,}",
            f"{shape.parameters:.3g}",
        ]
        for shape in PLANNED
    ]
    return _table(["training", "d", "width", "particles", "batch", "parameters"], lines)


def _share(said: float, found: float) -> str:
    return f"{100 * said / found:.0f} %" if found else "–"


def _size(found: float, said: float) -> str:
    if not found and not said:
        return "–"
    return f"{found / 1e3:,.1f} kB" + ("" if found == said else f" (model {said / 1e3:,.1f})")


def _seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return "0" if value == 0 else f"{value / 1e-6:.2g} µs"


def _table(heading: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [list(heading), ["---"] * len(heading), *map(list, lines)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.plan",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--check", type=pathlib.Path, help="write the counts to this file")
    parser.add_argument(
        "--markdown", type=pathlib.Path, help="print the tables of a file of counts"
    )
    given = parser.parse_args()
    if given.check is not None:
        check(given.check)
    if given.markdown is not None:
        print(checked_table(json.loads(given.markdown.read_text(encoding="utf-8"))) + "\n")
    print(shapes_table() + "\n")
    print("\n\n".join(planned_tables()))


if __name__ == "__main__":
    main()
