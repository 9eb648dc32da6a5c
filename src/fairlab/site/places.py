"""Where files of the project are on the site, and their links as links of pages."""

import os
import re
import tomllib
from pathlib import Path

from PIL import Image

from fairlab.data.project import project

# Files that are pages of the site and do not lie in `docs`.
FILES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "src/fairlab/data/files/LICENCES.md": "guide/licences.md",
}
# Where everything is on the site, by what its path in the project begins with.
PLACES = FILES | {"docs/labs.md": "labs/index.md", "docs/": "", "notebooks/labs/": "labs/", "": ""}
# Addresses of the project, where it has any.
ABOUT = project().root / "pyproject.toml"
ADDRESSES = tomllib.loads(ABOUT.read_text("utf-8"))["project"].get("urls", {}) if ABOUT.exists() else {}
REFERENCE = re.compile(r"(!?)\[([^\[\]]*)\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")  # picture?, text, file, place in it
MIN_FIGURE_WIDTH = 0.62  # of the width of a figure of 150 pixels an inch, at which its text of 7 points has 9 pixels
UP = "../"  # from the page of a paper to the site's root


def place_of(file: Path) -> Path:
    """Return where a file of the project is on the site."""
    path = file.relative_to(project().root).as_posix()
    start = next(start for start in PLACES if path.startswith(start))
    return Path(PLACES[start] + path.removeprefix(start))


def on_site(text: str, file: Path, root: str | None = None) -> str:
    """Return Markdown of a file of the project with its links as they are on the site; links in examples stay.

    `root` leads to the site's root, from another page than that of the file.
    """
    up = UP * (len(place_of(file).parts) - 1) if root is None else root

    def link(found):
        picture, words, path, part = found.groups("")
        target = Path(os.path.normpath(file.parent / path))
        if not target.exists():
            return found[0]
        if target.name == "published.yaml":  # a row
            row = ":".join([target.parent.name, *part[1:].split(":")[:2]])  # what more is asked of it is no anchor
            return f'<a href="{up}scorecard.html#{row}">{words}</a>'
        if target.is_relative_to(project().figures) and not picture and target.suffix == ".png":
            artefact = target.stem.partition("_")[0]  # where the page of its paper shows it
            return f'<a href="{up}papers/{target.parent.name}.html#{artefact}">{words}</a>'
        if target.is_relative_to(project().figures):
            width, height = Image.open(target).size
            look = f'width="{width}" height="{height}" style="--least: {int(MIN_FIGURE_WIDTH * width)}px"'
            return f'<span class="fl-wide"><img alt="{words}" src="{up}{place_of(target)}" {look}></span>'
        return f"{picture}[{words}]({up}{place_of(target)}{part})"

    return REFERENCE.sub(link, text)
