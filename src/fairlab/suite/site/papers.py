"""Pages of a paper: its question, method and results with reasons for differences; the gallery of its figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
import yaml

from fairlab.paths import project
from fairlab.suite.catalogue import PROFILES, experiment_names, specification
from fairlab.suite.comparison import Comparison, Row
from fairlab.suite.deviations import introduction, sections
from fairlab.suite.labs.masters import read
from fairlab.suite.published import load_paper, paper_keys
from fairlab.suite.redrawing import figures
from fairlab.suite.scorecard import markdown_table
from fairlab.suite.site.rows import HTML, artefact_name, bars_as_html, raw

UP = "../"
CALL = "exp.figure("
SHORT = """# {{ name }}

{{ title }}

## Results

{{ picture }}

{{ artefacts }}

## Experiments

{{ running }}

## Citation

{{ citation }}
"""


def page_text(key: str) -> tuple[dict, str]:
    """Return the front matter and the text of ``docs/papers/<key>.md``."""
    file = project().docs / "papers" / f"{key}.md"
    if not file.exists():
        return {"name": key, "idea": load_paper(key).about.title, "figure": ""}, SHORT
    _, head, text = file.read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(head), text


def names() -> dict[str, str]:
    """Return the short names of the papers by key."""
    return {key: page_text(key)[0]["name"] for key in paper_keys()}


def paper_page(key: str, rows: Sequence[Row]) -> str:
    """Return the page of a paper as Markdown, from its text and the rows of the scorecard."""
    head, text = page_text(key)
    about, own, drawn = load_paper(key).about, Comparison(rows).of(key), pictures(key)
    first = [HTML.figure(picture, UP) for picture in drawn if picture.stem == head["figure"]]
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False, keep_trailing_newline=True)
    return environment.from_string(text).render(
        name=head["name"],
        title=about.title,
        figure=raw("".join(first)),
        picture=raw(HTML.symbols() + bars_as_html(own, {key: head["name"]}) + HTML.marks(own.rows, UP)),
        artefacts=_artefacts(key, own.rows, drawn),
        claims=raw(HTML.claims(own.rows, UP)),
        deviations=introduction(key),
        running=running(key),
        citation=f"{about.authors}. *{about.title}.* {about.venue}. doi:{about.doi}",
    )


def _artefacts(key, rows, drawn) -> str:
    """Return a section for each table or figure: its protocol, rows, reasons for differences and figures."""
    parts, reasons = [], sections(key)
    for id, artefact in load_paper(key).artefacts.items():
        parts += [raw(f'<div id="{id}" class="fl-anchor"></div>'), f"### {artefact_name(id)}: {artefact.title}"]
        parts += [artefact.protocol.strip()]
        if own := [row for row in rows if row.artefact == id]:
            parts += [raw(HTML.marks(own, UP))]
            parts += [f"**Differences and reasons.** {reasons[id].text}"] if id in reasons else []
            parts += [raw(HTML.folded_table(own, UP))]
        parts += [raw(HTML.figure(picture, UP)) for picture in drawn if picture.artefact == id]
    return "\n\n".join(parts)


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


def gallery_page(paper: str, name: str) -> str:
    """Return the page of one paper's figures as Markdown: each with its caption, its files and its source code."""
    own = pictures(paper)
    parts = [f"# Figures of {name}", f"{len(own)} figures, each with its data as CSV."]
    for picture in own:
        parts += [f"## {picture.title}", raw(HTML.gallery_entry(picture))]
        if picture.code:
            parts += [f":::{{dropdown}} Source code\n```python\n{picture.code}\n```\n:::"]
    return "\n\n".join(parts) + "\n"
