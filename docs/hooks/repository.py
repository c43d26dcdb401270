"""Files of the repository's root as parts of pages: a line `{{ include NAME }}` becomes the file."""

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
INCLUDE = re.compile(r"^\{\{ include ([\w.]+) \}\}$", re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#|mailto:)([^)]+)\)")


def on_page_markdown(markdown: str, page, config, files) -> str:
    """Includes the files. One that is not there leaves nothing."""
    return INCLUDE.sub(lambda found: _text(found.group(1)), markdown)


def _text(name: str) -> str:
    path = ROOT / name
    if not path.is_file():
        return ""
    body = re.sub(r"\A# .*\n", "", path.read_text())
    return LINK.sub(_relinked, body)


def _relinked(found: re.Match) -> str:
    """Links into `docs/` are links of this site; other files have no page, and are only named."""
    text, target = found.groups()
    if target.startswith("docs/") and target.split("#")[0].endswith(".md"):
        return f"[{text}]({target.removeprefix('docs/')})"
    return text if text.strip("`") == target else f"{text} (`{target}`)"
