"""Pages of a paper: its question, method and results with reasons for differences; the gallery of its figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import jinja2
import yaml

from fairlab.paths import project
from fairlab.suite.catalogue import PROFILES, experiment_names, specification
from fairlab.suite.comparison import Comparison, Row
from fairlab.suite.deviations import ID, introduction, sections
from fairlab.suite.labs.masters import read
from fairlab.suite.published import load_paper, paper_keys
from fairlab.suite.redrawing import figures
from fairlab.suite.scorecard import markdown_table
from fairlab.suite.site.rows import HTML, artefact_name, finding, off_most, raw
from fairlab.suite.verdicts import OPEN

UP = "../"
CALL = "exp.figure("
SHORT = """# {{ name }}

{{ head }}

## Results

{{ picture }}

{{ artefacts }}

## Experiments

{{ running }}
"""
WITHOUT_TEXT = {"figure": "", "finding": "", "condition": "false", "ids": {}}  # of a paper without a page of its own


def page_text(key: str) -> tuple[dict, str]:
    """Return the front matter and the text of ``docs/papers/<key>.md``."""
    file = project().docs / "papers" / f"{key}.md"
    if not file.exists():
        return WITHOUT_TEXT | {"name": key, "idea": load_paper(key).about.title}, SHORT
    _, head, text = file.read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(head), text


def names() -> dict[str, str]:
    """Return the short names of the papers by key."""
    return {key: page_text(key)[0]["name"] for key in paper_keys()}


def finding_of(key: str, card: Comparison) -> str:
    """Return what a paper's page says of it in one sentence, as HTML."""
    head = page_text(key)[0]
    return finding(card.of(key), head["finding"], head["condition"])


def paper_page(key: str, rows: Sequence[Row], drawn: Sequence["Picture"]) -> str:
    """Return the page of a paper as Markdown, from its text, the rows of the scorecard and its figures."""
    head, text = page_text(key)
    own = Comparison(rows).of(key)
    first = [HTML.figure(picture, UP) for picture in drawn if picture.stem == head["figure"]]
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False, keep_trailing_newline=True)
    return environment.from_string(text).render(
        name=head["name"],
        head=raw(HTML.head_of(load_paper(key), own, head["name"], finding_of(key, own))),
        figure=raw("".join(first)),
        picture=raw(f"{HTML.symbols()}<p>{own.headline()}.</p>{HTML.marks(own.rows, UP)}"),
        artefacts=_artefacts(key, head, own.rows, drawn),
        claims=raw(HTML.claims(own.rows, UP)),
        deviations=introduction(key).partition("\n\n")[2],
        running=running(key),
    )


def _artefacts(key, head, rows, drawn) -> str:
    """Return a section for each table or figure: its protocol, rows, reasons for differences and figures."""
    parts, reasons = [], sections(key)
    for id, artefact in load_paper(key).artefacts.items():
        name = artefact_name(id)
        # An entry of the index is what a search for "ADF table 4" finds.
        entry, place = f"{head['name']} {name}", raw(f'<div id="{id}" class="fl-anchor"></div>')
        parts += [place, f"```{{index}} ! single: {entry}\n:name: {entry}\n```"]
        parts += [f"### {name}: {artefact.title}", artefact.protocol.strip()]
        if own := [row for row in rows if row.artefact == id]:
            parts += [raw(HTML.marks(own, UP) + HTML.remarks(own, head["ids"], UP))]
            parts += [f"**Differences and reasons.** {with_ids(reasons[id].text, own)}"] if id in reasons else []
            parts += [raw(HTML.folded_table(own, UP))]
        parts += [raw(HTML.figure(picture, UP)) for picture in drawn if picture.artefact == id]
    return "\n\n".join(parts)


def with_ids(text: str, rows: Sequence[Row]) -> str:
    """Return a text with ids for patterns: that of the matching row that is off most, and how many are like it."""

    def named(pattern):
        own = [row for row in rows if fnmatchcase(row.id, pattern[1])]
        off = [row for row in own if row.verdict in OPEN]
        if "*" not in pattern[1] or not own:
            return pattern[0]
        like = len(off or own) - 1
        return f"`{(off_most(off) or own[0]).id}`" + (f" and {like} like it" if like else "")

    return ID.sub(named, text)


def running(key: str) -> str:
    """Return a table of a paper's experiments: tables and figures, data and minutes."""
    lines, names = [], experiment_names(key)
    for name in names:
        spec = specification(name)
        minutes = spec.minutes.model_dump() if spec.minutes else {}
        line = [
            f"[{spec.title}](../notebooks/{name})",
            ", ".join(map(artefact_name, spec.artefacts)),
            ", ".join(f"`{variant}`" for variant in spec.data) or "none",
            " / ".join(f"{minutes[profile]:g}" if profile in minutes else "?" for profile in PROFILES),
        ]
        lines.append(line)
    table = markdown_table(["experiment", "tables and figures", "data", f"minutes ({', '.join(PROFILES)})"], lines)
    return f"{table}\n\n```\nfairlab run {' '.join(names)}\n```"


@dataclass(frozen=True)
class Picture:
    """A figure of a run, or a committed one.

    Attributes
    ----------
    paper, stem : str
    folder : Path
        Of its files.
    entry : dict
        Its entry in ``index.json``, with caption and alternative text; see `fairlab.suite.redrawing.figures`.
    code : str
        The cell of a notebook that draws it.
    """

    paper: str
    stem: str
    folder: Path
    entry: dict
    code: str = ""

    @property
    def artefact(self) -> str:
        """The id of its table or figure in the paper."""
        return self.stem.partition("_")[0]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels, from the head of the PNG."""
        head = (self.folder / f"{self.stem}.png").read_bytes()[16:24]
        return int.from_bytes(head[:4]), int.from_bytes(head[4:])

    @property
    def title(self) -> str:
        """Name of the table or figure, and of the part if there are several."""
        part = self.stem.partition("_")[2].replace("_", " ")
        return artefact_name(self.artefact) + (f": {part}" if part else "")


def pictures(paper: str) -> list[Picture]:
    """Return the figures of a paper, from runs or else committed, in the paper's order."""
    order, cells, found = list(load_paper(paper).artefacts), {}, []
    for stem, (folder, entry) in figures(paper).items():
        name = entry["experiment"]
        if name not in cells:
            cells[name] = [cell.source for cell in read(specification(name).notebook).cells if CALL in cell.source]
        found.append(Picture(paper, stem, folder, entry, drawing_cell(stem, entry.get("draw", ""), cells[name])))
    return sorted(found, key=lambda picture: (order.index(picture.artefact), picture.stem))


def drawing_cell(stem: str, draw: str, cells: list[str]) -> str:
    """Return the cell that draws a figure: of those with its table or figure, the one with its part and function."""
    artefact, _, part = stem.partition("_")
    function = draw.rpartition(".")[2]
    # A loop over several tables or figures has their names elsewhere.
    own = [cell for cell in cells if f'"{artefact}"' in cell] or [cell for cell in cells if function in cell]
    named = {cell: f'part="{part}"' in cell if part else "part=" not in cell for cell in own}
    return max(own, key=lambda cell: (named[cell], function in cell), default="")


def gallery_page(name: str, own: Sequence[Picture]) -> str:
    """Return the page of one paper's figures as Markdown: each with its caption, its files and its source code."""
    parts = [f"# Figures of {name}", f"{len(own)} figures, each with its data as CSV."]
    for picture in own:
        parts += [f"## {picture.title}", raw(HTML.gallery_entry(picture))]
        if picture.code:
            parts += [f":::{{dropdown}} Source code\n```python\n{picture.code}\n```\n:::"]
    return "\n\n".join(parts) + "\n"
