"""Reasons for differences between our numbers and published ones, from ``experiments/<paper>/deviations.md``.

A section ``## table-1: ...`` is about one table or figure. Its first paragraph is the reason in one or two sentences,
which ``REPRODUCTION.md`` shows. The section explains the ids in backticks, also with wildcards (``aequitas.*``).
"""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from fairlab.paths import project
from fairlab.suite.comparison import Comparison, Row
from fairlab.suite.published import paper_keys
from fairlab.suite.verdicts import OPEN

ID = re.compile(r"`([a-z0-9*][a-z0-9_.*-]*)`")


@dataclass(frozen=True)
class Deviation:
    """The section of a paper's file about one table or figure.

    Attributes
    ----------
    artefact : str
    text : str
        The section below its title, as Markdown; its own headings are of the fourth level.
    summary : str
        The first paragraph, in one line.
    patterns : frozenset of str
        Ids of rows that differ or fail, possibly with wildcards.
    link : str
        Address within the project.
    """

    artefact: str
    text: str
    summary: str
    patterns: frozenset[str]
    link: str

    def explains(self, id: str) -> bool:
        """Return whether the section names the id."""
        return any(fnmatchcase(id, pattern) for pattern in self.patterns)


def sections(paper: str) -> dict[str, Deviation]:
    """Return the sections of a paper by table or figure."""
    return {section.artefact: section for section in (_section(paper, part) for part in _parts(paper)[1:])}


def introduction(paper: str) -> str:
    """Return the text before the first section: what concerns all numbers of a paper."""
    return _parts(paper)[0].partition("\n")[2].strip()


def unexplained(card: Comparison) -> list[Row]:
    """Return the rows that differ or fail and are not explained in their paper's ``deviations.md``."""
    known = {(key, artefact): section for key in paper_keys() for artefact, section in sections(key).items()}
    off = ((row, known.get((row.paper, row.artefact))) for row in card.rows if row.verdict in OPEN)
    return [row for row, section in off if section is None or not section.explains(row.id)]


def _parts(paper) -> list[str]:
    file = project().experiments / paper / "deviations.md"
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return re.split(r"^## ", text, flags=re.MULTILINE)


def _section(paper, part) -> Deviation:
    title, _, body = part.partition("\n")
    text = re.sub(r"^#+ ", "#### ", body.strip(), flags=re.MULTILINE)
    summary = " ".join(body.strip().split("\n\n")[0].split())
    anchor = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
    artefact = re.match(r"[\w.-]+", title)[0].rstrip(":")
    link = f"experiments/{paper}/deviations.md#{anchor}"
    return Deviation(artefact, text, summary, frozenset(ID.findall(body)), link)
