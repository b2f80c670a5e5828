"""Check the built site: every link leads somewhere in it, and nothing is loaded from elsewhere.

python docs/check_site.py FOLDER
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Attributes by which a page loads a file, by element.
_LOADS = {"script": "src", "img": "src", "link": "href", "source": "src", "iframe": "src"}

#: In a style sheet, a file of another host.
_FROM_ELSEWHERE = re.compile(r"(?:url\(|@import\s)\s*[\"']?(?:https?:)?//[^)\"']*")

#: Links that load nothing.
_MERE_LINKS = {"canonical", "next", "prev", "index", "search", "author"}


class Page(HTMLParser):
    """What a page links to and loads, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = {"", "top"}
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element offers, links to, or loads."""
        values = {name: value for name, value in attrs if value}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        target = values.get(_LOADS.get(tag, ""))
        if target and not (tag == "link" and values.get("rel") in _MERE_LINKS):
            self.loads.append(target)


def failures(folder: Path) -> Iterator[str]:
    """One line for each link that leads nowhere, and each file that another host would send."""
    files = [path for path in folder.rglob("*.html") if path.parts[len(folder.parts)] != "_static"]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in files}
    for path, page in sorted(pages.items()):
        place = path.relative_to(folder)
        yield from (f"{place}: {problem}" for problem in _bad_loads(path, page))
        yield from (f"{place}: {problem}" for problem in _bad_links(path, pages, place.parts[0]))
    for path in sorted(folder.rglob("*.css")):
        for found in _FROM_ELSEWHERE.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(folder)}: loads from elsewhere: {found}"


def _bad_loads(path: Path, page: Page) -> Iterator[str]:
    for target in page.loads:
        if _is_elsewhere(target):
            yield f"loads {target}"
        elif not target.startswith("data:") and not _file(path, target).exists():
            yield f"{target} is missing"


def _bad_links(path: Path, pages: dict[Path, Page], section: str) -> Iterator[str]:
    for target in pages[path].links:
        if _is_elsewhere(target):
            continue
        file, anchor = _file(path, target), unquote(urlsplit(target).fragment)
        if not file.exists():
            yield f"link to {target}, which is missing"
        elif section == "_modules" or file not in pages:
            continue  # viewcode names the place wrongly where a module has two public paths
        elif anchor not in pages[file].anchors:
            yield f"link to {target}, where there is no such place"


def _is_elsewhere(target: str) -> bool:
    parts = urlsplit(target)
    return bool(parts.netloc) or parts.scheme in ("http", "https", "mailto")


def _file(page: Path, target: str) -> Path:
    name = unquote(urlsplit(target).path)
    path = (page.parent / name).resolve() if name else page
    return path / "index.html" if path.is_dir() else path


if __name__ == "__main__":
    found = list(failures(Path(sys.argv[1]).resolve()))
    print("\n".join(found) or "site: all links lead somewhere, nothing is loaded from elsewhere")
    sys.exit(bool(found))
