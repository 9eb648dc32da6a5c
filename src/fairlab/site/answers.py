"""What came out, in the words of the notebooks: the source of what the first page and the pages of papers say.

The first cell of every notebook has a section "What came out". In a paper's ``overview`` it begins with a verdict,
continues with a list of what is new, each item with a sentence in bold, and with what the authors could mend. In every
notebook it has a line for each of its tables and figures, such as ``* **table-8** holds for ...``.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from fairlab.labs.masters import read
from fairlab.site.places import on_site
from fairlab.suite.catalogue import experiment_names, specification
from fairlab.suite.comparison import Comparison, Row
from fairlab.suite.links import LINK, set_links
from fairlab.suite.scorecard import committed_rows

SECTION = re.compile(r"^## What came out\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
ITEM = re.compile(r"^(?:\d+\.|[*-]) (.*?)(?=^(?:\d+\.|[*-]) |\n\n|\Z)", re.MULTILINE | re.DOTALL)
ARTEFACT = re.compile(r"\*\*(?P<id>[a-z]+-[\w.-]+)\*\*:? (?P<text>.*)", re.DOTALL)
LEAD = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)
FIGURE = re.compile(r"/figures/[\w-]+/([\w.-]+)\.png\)")
MARKDOWN = MarkdownIt("commonmark")
PAGE = re.compile(r'(href="[^":]+)\.(?:ipynb|md)(?=["#])')  # of the site, as an address


@dataclass(frozen=True)
class Text:
    """A text of a notebook, which any page can show.

    Attributes
    ----------
    source : str
        In Markdown, with links as they lead from the notebook's file.
    file : Path
        The notebook.
    """

    source: str
    file: Path

    def markdown(self, root: str = "") -> str:
        """Return the text for a page of the site, from which `root` leads to the site's root."""
        return on_site(self.source, self.file, root)

    def html(self, root: str = "") -> str:
        """Return the text as HTML within a line."""
        return PAGE.sub(r"\1.html", MARKDOWN.renderInline(self.markdown(root)))

    def on(self, card: Comparison, committed: dict[tuple, str]) -> "Text | None":
        """Return the text with the numbers of a scorecard; None if a row that it links to has another verdict there."""
        found = verdicts_of(card.rows)
        rows = [(link["paper"], link["artefact"], link["id"]) for link in LINK.finditer(self.source)]
        if any(row not in found or found[row] != committed.get(row) for row in rows):
            return None
        try:
            return Text(set_links(self.source, card.rows), self.file)
        except KeyError:  # of a run of another version, whose reasons have other words
            return self


def verdicts_of(rows: Iterable[Row]) -> dict[tuple, str]:
    """Return the verdicts of rows by their places."""
    return {row.place: row.verdict for row in rows}


def came_out(name: str) -> Text:
    """Return the section "What came out" of an experiment's notebook; empty if it has none."""
    file = specification(name).notebook
    found = SECTION.search(read(file).cells[0].source)
    return Text(found[1] if found else "", file)


def answer_of(key: str, card: Comparison) -> dict | None:
    """Return what came out of a paper: `verdict`, what is `new`, its `leads` and `figures`, what to `mend`; or None.

    The words are those of the committed scorecard. If `card` has another verdict on a row that they link to, there is
    no answer.
    """
    name = f"{key}/overview"
    if name not in experiment_names(key) or not (section := came_out(name)).source:
        return None
    blocks = [block for block in section.source.split("\n\n") if not block.lstrip().startswith(("![", "These numbers"))]
    section = Text("\n\n".join(blocks), section.file).on(card, verdicts_of(committed_rows()))
    if section is None:
        return None
    verdict, *blocks = section.source.strip().split("\n\n")
    items = [item for block in blocks for item in ITEM.findall(block) if not ARTEFACT.match(item)]
    return {
        "verdict": Text(LEAD.sub(r"\1", verdict), section.file),
        "new": [Text(item, section.file) for item in items],
        "leads": [Text(LEAD.search(item)[1], section.file) for item in items if LEAD.search(item)],
        "figures": [stem for item in items for stem in FIGURE.findall(item)],
        "mend": [Text(block, section.file) for block in blocks if block.startswith("**What its authors could mend")],
    }


def holds_of(key: str, card: Comparison) -> dict[str, Text]:
    """Return for each table and figure of a paper for what it holds and why, where notebooks say so."""
    found, committed = {}, verdicts_of(committed_rows())
    for name in experiment_names(key):
        section = came_out(name)
        for item in ITEM.findall(section.source):
            if (own := ARTEFACT.match(item)) and (text := Text(own["text"].strip(), section.file).on(card, committed)):
                found[own["id"]] = Text(text.source[0].upper() + text.source[1:], section.file)
    return found
