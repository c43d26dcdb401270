"""Checks the built site: `python docs/check_links.py FOLDER`.

Every link and picture inside the site must lead to a file, every anchor to an element, and no page
may load anything from a network.
"""

import html.parser
import pathlib
import sys
import urllib.parse

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
NEUTRAL_RELATIONS = {"canonical", "prev", "next", "alternate"}


class Page(html.parser.HTMLParser):
    """The links of a page, its anchors, and what a browser loads with it."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag in LOADED and values.get(LOADED[tag]):
            relation = set((values.get("rel") or "").split())
            if not relation & NEUTRAL_RELATIONS:
                self.loaded.append(values[LOADED[tag]])


def problems(site: pathlib.Path) -> list[str]:
    """All that is wrong with the site, a line each."""
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site)
        for link in page.loaded:
            if urllib.parse.urlsplit(link).netloc:
                found.append(f"{name}: loads {link} from a network")
        for link in {*page.links, *page.loaded}:
            found += [f"{name}: {link}: {what}" for what in _wrong(site, path, link, pages)]
    for style in site.rglob("*.css"):
        if any(f"url({quote}http" in style.read_text() for quote in ("", '"', "'")):
            found.append(f"{style.relative_to(site)}: loads from a network")
    return found


def _wrong(site: pathlib.Path, path: pathlib.Path, link: str, pages: dict) -> list[str]:
    parts = urllib.parse.urlsplit(link)
    if parts.scheme or parts.netloc:
        return []
    target = path
    if parts.path:
        place = urllib.parse.unquote(parts.path)
        base = site if place.startswith("/") else path.parent
        target = (base / place.lstrip("/")).resolve()
    if target.is_dir():
        target = target / "index.html"
    if not target.is_file():
        return [] if path.name == "404.html" else ["leads nowhere"]
    anchor = urllib.parse.unquote(parts.fragment)
    if not anchor or anchor.startswith("__") or target not in pages:
        return []
    return [] if anchor in pages[target].anchors else [f"no element #{anchor} there"]


def main() -> None:
    site = pathlib.Path(sys.argv[1]).resolve()
    found = problems(site)
    for line in found:
        print(line)
    number = len(list(site.rglob("*.html")))
    if not number:
        sys.exit(f"There are no pages in {site}. Build them first: mkdocs build")
    sys.exit(f"{len(found)} links are wrong." if found else 0)


if __name__ == "__main__":
    main()
