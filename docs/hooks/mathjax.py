"""Puts MathJax into the site, from the package that brings it along: no network is needed to read."""

import importlib.metadata
import pathlib
import shutil

PACKAGE = "sphinx-mathjax-offline"
WANTED = ("tex-chtml.js", ".woff")


def on_post_build(config) -> None:
    """Copies the program and its fonts to `assets/mathjax`."""
    target = pathlib.Path(config["site_dir"]) / "assets" / "mathjax"
    copied = 0
    for file in importlib.metadata.files(PACKAGE) or ():
        path = pathlib.PurePosixPath(str(file))
        if "mathjax" in path.parts[:-1] and path.name.endswith(WANTED):
            inside = pathlib.PurePosixPath(*path.parts[path.parts.index("mathjax") + 1 :])
            if inside.name.endswith(".js") and len(inside.parts) > 1:
                continue
            (target / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(str(file.locate()), target / inside)
            copied += 1
    if copied < 10:
        raise FileNotFoundError(
            f"{PACKAGE} has no MathJax with fonts inside; found {copied} files. Install it again: "
            "pip install --force-reinstall sphinx-mathjax-offline"
        )
