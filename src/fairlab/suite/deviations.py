"""What ``experiments/<paper>/deviations.md`` explains: where our numbers differ from published ones, and why.

A section ``## table-1: ...`` is about an artefact. Its first paragraph says in one or two sentences why numbers differ;
it stands in ``REPRODUCTION.md``. The section explains the ids that stand in it in backticks, also with wildcards
(``aequitas.*``).
"""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from fairlab.paths import EXPERIMENTS
from fairlab.suite.comparison import OPEN, Comparison, Row
from fairlab.suite.published import paper_keys

ID = re.compile(r"`([a-z0-9*][a-z0-9_.*-]*)`")


@dataclass(frozen=True)
class Section:
    """What a paper's file says about one artefact.

    Attributes
    ----------
    artefact, title : str
    summary : str
        The first paragraph, in one line.
    patterns : frozenset of str
        Ids of what differs or fails, possibly with wildcards.
    link : str
        Address within the project.
    """

    artefact: str
    title: str
    summary: str
    patterns: frozenset[str]
    link: str

    def explains(self, id: str) -> bool:
        """Say whether the section names the id."""
        return any(fnmatchcase(id, pattern) for pattern in self.patterns)


def sections(paper: str) -> dict[str, Section]:
    """Return the sections about artefacts of a paper, by artefact."""
    file = EXPERIMENTS / paper / "deviations.md"
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    parsed = [_section(paper, part) for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]]
    return {section.artefact: section for section in parsed}


def unexplained(card: Comparison) -> list[Row]:
    """Return the rows that differ or fail and are not explained in their paper's ``deviations.md``."""
    known = {key: sections(key) for key in paper_keys()}
    return [row for row in card.rows if row.verdict in OPEN and not _explained(row, known.get(row.paper, {}))]


def _explained(row, known) -> bool:
    return row.artefact in known and known[row.artefact].explains(row.id)


def _section(paper, part) -> Section:
    title, _, body = part.partition("\n")
    summary = " ".join(body.strip().split("\n\n")[0].split())
    anchor = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
    artefact = re.match(r"[\w.-]+", title)[0].rstrip(":")
    link = f"experiments/{paper}/deviations.md#{anchor}"
    return Section(artefact, title.strip(), summary, frozenset(ID.findall(body)), link)
