"""The result by package, and the survivors."""

import collections
import functools
import json
import pathlib
import tomllib

from .edits import Edit
from .sample import package

LIST = pathlib.Path(__file__).with_name("equivalent.toml")


@functools.cache
def equivalent() -> dict[str, str]:
    """Changes that change nothing, by name, with their reasons."""
    listed = tomllib.loads(LIST.read_text("utf-8")).get("change", [])
    return {entry["name"]: entry["reason"] for entry in listed}


def show(drawn: list[Edit], results: pathlib.Path) -> None:
    """Prints the table and the survivors."""
    counts, survivors = collections.defaultdict(collections.Counter), []
    for edit in drawn:
        place, row = results / f"{edit.name}.json", package(edit.file)
        if edit.name in equivalent():
            key = "equivalent"
        elif not place.exists():
            key = "not run"
        elif json.loads(place.read_text("utf-8"))["noticed"]:
            key = "noticed"
        else:
            key = "survived"
            survivors.append(edit)
        for name in (row, "all"):
            counts[name][key] += 1
    print(f"\n{'package':<14} noticed  survived  share  equivalent  not run")
    for name, row in sorted(counts.items(), key=lambda entry: (entry[0] == "all", entry[0])):
        judged = row["noticed"] + row["survived"]
        share = f"{100 * row['noticed'] / judged:.0f} %" if judged else "-"
        print(
            f"{name:<14} {row['noticed']:>7}  {row['survived']:>8}  {share:>5}  "
            f"{row['equivalent']:>10}  {row['not run']:>7}"
        )
    print(f"\n{len(survivors)} survivors")
    for edit in sorted(survivors, key=lambda edit: (edit.file, edit.line)):
        print(f"\n{edit.file}:{edit.line} in {edit.function} [{edit.kind}] {edit.name}")
        print(f"- {edit.old}\n+ {edit.new}")
