"""Print the lowest versions that pyproject.toml allows, as constraints for pip."""

import pathlib
import re
import tomllib

PROJECT = pathlib.Path(__file__).parents[1] / "pyproject.toml"
BOUND = re.compile(r"([A-Za-z0-9._-]+)\s*>=\s*([0-9][0-9a-z.]*)")


def floors(project: dict) -> list[str]:
    """`name==version` for every requirement `name>=version`."""
    listed = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        listed += extra
    bounds = [BOUND.match(requirement) for requirement in listed]
    return sorted({f"{bound[1]}=={bound[2]}" for bound in bounds if bound})


if __name__ == "__main__":
    print("\n".join(floors(tomllib.loads(PROJECT.read_text("utf-8"))["project"])))
