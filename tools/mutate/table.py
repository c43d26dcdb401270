"""The result by package, and the survivors."""

import collections
import functools
import json
import pathlib
import tomllib

from .edits import Edit
from .sample import package
from .trial import Outcome

LIST = pathlib.Path(__file__).with_name("equivalent.toml")


@functools.cache
def equivalent() -> dict[str, str]:
    """Changes without any effect, by name, with their reasons."""
    listed = tomllib.loads(LIST.read_text("utf-8")).get("change", [])
    return {entry["name"]: entry["reason"] for entry in listed}


def known(place: pathlib.Path) -> Outcome | None:
    """The known outcome of a change, if there is one."""
    return Outcome(**json.loads(place.read_text("utf-8"))) if place.exists() else None


def _judged(edit: Edit, results: pathlib.Path) -> str:
    quick = known(results / f"{edit.name}.json")
    long = known(results / "long" / f"{edit.name}.json")
    if edit.name in equivalent():
        return "equivalent"
    if quick is None:
        return "not run"
    if quick.invalid:
        return "invalid"
    if quick.noticed:
        return "quick"
    if long and long.noticed:
        return "long"
    return "capped" if quick.capped else "survived"


def show(drawn: list[Edit], results: pathlib.Path) -> None:
    """Print the table and the survivors."""
    counts, survivors = collections.defaultdict(collections.Counter), []
    for edit in drawn:
        key = _judged(edit, results)
        if key in ("survived", "capped", "long"):
            survivors.append((edit, key))
        for name in (package(edit.file), "all"):
            counts[name][key] += 1
    print(
        "\n| package | changes | noticed by `make test` | by `make test-all` | out of time ", end=""
    )
    print("| equivalent | not a program | not run |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, row in sorted(counts.items(), key=lambda entry: (entry[0] == "all", entry[0])):
        valid = sum(row[key] for key in ("quick", "long", "capped", "survived"))
        quick, both = row["quick"], row["quick"] + row["long"]
        rest = " | ".join(str(row[key]) for key in ("capped", "equivalent", "invalid", "not run"))
        print(f"| {name} | {valid} | {_share(quick, valid)} | {_share(both, valid)} | {rest} |")
    print(f"\n{sum(key != 'long' for _, key in survivors)} survivors")
    for edit, key in sorted(survivors, key=lambda entry: (entry[0].file, entry[0].line)):
        print(f"\n{edit.file}:{edit.line} in {edit.function} [{edit.kind}] {edit.name} {key}")
        print(f"- {edit.old}\n+ {edit.new}")


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / whole:.0f} %)" if whole else "-"
