"""Links of a built site, and which of them are broken."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ADDRESSES = {"a": "href", "link": "href", "img": "src", "script": "src", "source": "src", "use": "href"}
ELSEWHERE = ("http", "https", "mailto", "data", "javascript")
LOADED = ("img", "script", "source", "link")  # loaded by a browser without a click


class _Page(HTMLParser):
    """Ids and links of one page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        if address := given.get(ADDRESSES.get(tag)):
            self.links.append((tag, address))


def dead_links(folder: Path) -> list[str]:
    """Return a line for each link that is broken or that makes a browser load something from another host."""
    pages = {path.resolve(): _Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    found = {}
    for path, page in pages.items():
        for tag, address in page.links:
            if reason := _fault(path, tag, address, pages):
                found[f"{path.relative_to(folder.resolve())}: {address} {reason}"] = None
    return list(found)


def _fault(path, tag, address, pages) -> str:
    parts = urlsplit(address)
    if parts.scheme in ELSEWHERE or parts.netloc:
        return "is loaded from another host" if tag in LOADED and parts.scheme != "data" else ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return "does not exist"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
        return "has no such anchor"
    return ""
