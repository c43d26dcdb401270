"""What makes the documentation: cells of tutorials, pages and notebooks, and the link checker."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

DOCS = pathlib.Path(__file__).parents[2] / "docs"
TUTORIAL = """# %% [markdown]
# # A title
#
# Some words.

# %%
import matplotlib.pyplot as plt

plt.plot([1, 2])
print("drawn")

# %%
x = 3

# %%
print(x)
"""


def module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


percent = module(DOCS / "hooks" / "percent.py")
check_links = module(DOCS / "check_links.py")


def test_cells_have_kinds_texts_and_lines():
    found = percent.cells(TUTORIAL)
    assert [cell.kind for cell in found] == ["markdown", "code", "code", "code"]
    assert found[0].text == "# A title\n\nSome words."
    for cell in found[1:]:
        assert TUTORIAL.splitlines()[cell.line - 1] == cell.text.splitlines()[0]


def test_text_in_a_markdown_cell_must_be_a_comment():
    with pytest.raises(ValueError, match="must begin with '# ', got 'oops'"):
        percent.cells("# %% [markdown]\noops\n")


def run(source, tmp_path):
    file = tmp_path / "small.py"
    file.write_text(source)
    command = [sys.executable, DOCS / "hooks" / "run_tutorial.py", file, tmp_path / "out"]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)


def test_a_tutorial_becomes_a_page_with_pictures_and_a_notebook(tmp_path):
    done = run(TUTORIAL, tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out" / "small.md").read_text()
    assert page.startswith("# A title\n")
    assert "![Figure 1](small-1.png)" in page
    assert "drawn" in page
    assert (tmp_path / "out" / "small-1.png").read_bytes().startswith(b"\x89PNG")
    notebook = json.loads((tmp_path / "out" / "small.ipynb").read_text())
    assert [cell["cell_type"] for cell in notebook["cells"]] == ["markdown"] + 3 * ["code"]
    kinds = [output["output_type"] for output in notebook["cells"][1]["outputs"]]
    assert kinds == ["stream", "display_data"]
    assert notebook["cells"][3]["outputs"][0]["text"] == "3\n"


def test_a_tutorial_that_fails_says_where(tmp_path):
    done = run(TUTORIAL + "\n# %%\nraise KeyError('no')\n", tmp_path)
    assert done.returncode != 0
    assert "line 19" in done.stderr
    assert not (tmp_path / "out" / "small.md").exists()


def site(tmp_path, **pages):
    for name, body in pages.items():
        (tmp_path / f"{name}.html").write_text(f"<html><body>{body}</body></html>")
    return check_links.problems(tmp_path)


def test_good_links_are_no_problem(tmp_path):
    assert (
        site(tmp_path, a='<p id="x"><a href="b.html#y">b</a>', b='<h1 id="y"><a href="#y">') == []
    )
    assert site(tmp_path, c='<a href="https://example.org/nowhere">elsewhere</a>') == []


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ('<a href="gone.html">', "leads nowhere"),
        ('<img src="gone.png">', "leads nowhere"),
        ('<a href="#gone">', "no element #gone"),
        ('<script src="https://cdn.example.org/x.js"></script>', "from a network"),
        ('<link rel="stylesheet" href="//fonts.example.org/x.css">', "from a network"),
    ],
)
def test_bad_links_are_found(tmp_path, body, what):
    (found,) = site(tmp_path, a=body)
    assert what in found
