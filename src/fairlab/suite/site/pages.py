"""Pages of papers and of notebooks: text, rows of the scorecard, figures, and outputs of runs; and labs."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

import yaml
from PIL import Image

from fairlab.checks import optional
from fairlab.paths import project, write_text
from fairlab.suite.catalogue import experiment_names, other_notebooks, specification
from fairlab.suite.comparison import Comparison, Row, short_line
from fairlab.suite.deviations import ID, introduction, sections
from fairlab.suite.drawing import figures
from fairlab.suite.labs.course import cards, guide, released
from fairlab.suite.labs.masters import exercises, read
from fairlab.suite.published import load_paper, paper_keys
from fairlab.suite.run import run_folder
from fairlab.suite.scorecard import published_runs
from fairlab.suite.site.rows import ENVIRONMENT, HTML, MARKDOWN, PAGES, artefact_name, off_most, raw
from fairlab.suite.verdicts import OPEN

nbformat = optional("nbformat")

UP = "../"  # from the page of a paper to the site's root
CALL = "exp.figure("
SHOWN = {"image/png", "text/markdown"}  # a figure and its caption, in the outputs of a cell
AS_SPECIFIED = re.compile(r"as specified: ([-.e\d]+)")


def page_text(key: str) -> tuple[dict, str]:
    """Return the front matter and the text of ``docs/papers/<key>.md``, else those of ``paper.md`` beside this file."""
    own = project().docs / "papers" / f"{key}.md"
    file = own if own.exists() else Path(__file__).with_name("paper.md")
    _, head, text = file.read_text(encoding="utf-8").split("---\n", 2)
    return {"name": key} | yaml.safe_load(head), text


def names() -> dict[str, str]:
    """Return the short names of the papers by key."""
    return {key: page_text(key)[0]["name"] for key in paper_keys()}


def finding_of(key: str, card: Comparison) -> str:
    """Return what a paper's page says of it in one sentence, as HTML.

    That is the ``finding`` of its front matter, a template, if the rows meet its ``condition``; else how many numbers
    agree. Both may use ``rows(pattern, *verdicts)``, the rows whose ``table:id`` matches a pattern, ``n``, their
    number, and ``as_specified(row)``, our number by the protocol as the paper specifies it.
    """
    head, own = page_text(key)[0], card.of(key)

    def rows(pattern="*", *verdicts):
        matching = [row for row in own.rows if fnmatchcase(f"{row.artefact}:{row.id}", pattern)]
        return [row for row in matching if not verdicts or row.verdict in verdicts]

    def as_specified(row):
        found = AS_SPECIFIED.search(row.reason or "")
        return float(found[1]) if found else math.nan

    given = {"rows": rows, "n": lambda *asked: len(rows(*asked)), "as_specified": as_specified}
    if own.rows and ENVIRONMENT.compile_expression(head["condition"])(**given):
        return ENVIRONMENT.from_string(head["finding"]).render(given)
    return f"{short_line(own)}."


def paper_page(key: str, rows: Sequence[Row], drawn: Sequence["Picture"]) -> str:
    """Return the page of a paper as Markdown, from its text, the rows of the scorecard and its figures."""
    head, text = page_text(key)
    own, paper, names = Comparison(rows).of(key), load_paper(key), experiment_names(key)
    return MARKDOWN.from_string(text).render(
        name=head["name"],
        head=raw(HTML.head_of(paper, own, head["name"], finding_of(key, own))),
        figure=raw("".join(HTML.figure(picture, UP) for picture in drawn if picture.stem == head["figure"])),
        picture=raw(f"{HTML.symbols()}<p>{own.headline()}.</p>{HTML.marks(own.rows, UP)}"),
        artefacts=PAGES.artefacts(paper, head, own.rows, drawn, sections(key), with_ids),
        claims=raw(HTML.claims(own.rows, UP)),
        deviations=introduction(key).partition("\n\n")[2],
        running=PAGES.experiments([specification(name) for name in names]),
    )


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


@dataclass(frozen=True)
class Picture:
    """A figure of a run, or a committed one.

    Attributes
    ----------
    paper, stem : str
    folder : Path
        Of its files.
    entry : dict
        Its entry in ``index.json``, with caption and alternative text; see `fairlab.suite.drawing.figures`.
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
        """Width and height in pixels."""
        return Image.open(self.folder / f"{self.stem}.png").size

    @property
    def title(self) -> str:
        """Name of the table or figure, and of the part if there are several."""
        part = self.stem.partition("_")[2].replace("_", " ")
        return artefact_name(self.artefact) + (f": {part}" if part else "")


def pictures(paper: str) -> list[Picture]:
    """Return the figures of a paper, from runs or else committed, in the paper's order."""
    order, cells = list(load_paper(paper).artefacts), {}
    for name in experiment_names(paper):
        notebook = read(specification(name).notebook)
        cells[name] = [cell.source for cell in notebook.cells if CALL in cell.source]
    found = [
        Picture(paper, stem, folder, entry, drawing_cell(stem, entry.get("draw", ""), cells[entry["experiment"]]))
        for stem, (folder, entry) in figures(paper).items()
    ]
    return sorted(found, key=lambda picture: (order.index(picture.artefact), picture.stem))


def drawing_cell(stem: str, draw: str, cells: list[str]) -> str:
    """Return the cell that draws a figure: of those with its table or figure, the one with its part and function."""
    artefact, _, part = stem.partition("_")
    function = draw.rpartition(".")[2]

    def fit(cell):  # a loop over several tables or figures has their names elsewhere
        is_part = f'part="{part}"' in cell if part else "part=" not in cell
        return f'"{artefact}"' in cell, is_part, function in cell

    return max((cell for cell in cells if fit(cell)[0] or fit(cell)[2]), key=fit, default="")


def write_notebooks(folder: Path, drawn: Mapping[str, Sequence[Picture]]) -> None:
    """Write every experiment's notebook, and those of no experiment, below `folder`; `drawn` are figures by paper."""
    runs = published_runs()
    for name in experiment_names():
        run = runs.get(name)
        path = run and run_folder(run.name, run.profile) / "notebook.ipynb"
        if path and path.exists():
            date = datetime.fromtimestamp(path.stat().st_mtime, UTC).strftime("%d %B %Y")
            page, note = read(path), PAGES.executed(run, date)
        else:
            page, note = read(specification(name).notebook), PAGES.without_results(name)
        insert_figures(page, [own for own in drawn[name.split("/")[0]] if own.entry["experiment"] == name])
        for cell in page.cells:
            cell.metadata["tags"] = [*cell.metadata.get("tags", ()), "hide-input"]
        _write(page, note, folder / f"{name}.ipynb")
    for name in other_notebooks():
        page = read(project().notebooks / f"{name}.ipynb")
        _write(page, PAGES.unexecuted(name), folder / f"{name}.ipynb")


def write_labs(pages: Path, downloads: Path) -> None:
    """Write the labs as students receive them: as pages, and to download."""
    for card in cards():
        notebook = released(card)
        write_text(downloads / card.notebook.name, nbformat.writes(notebook))
        sample = guide(card, read(card.notebook), 0).partition("## Free-text answers")[0].partition("\n")[2]
        below_title(notebook, HTML.lab_head(card, exercises(notebook), sample))
        write_text(pages / card.notebook.name, nbformat.writes(notebook))


def below_title(notebook, text: str) -> None:
    """Put a text below the title of a notebook."""
    first = notebook.cells[0]
    title, _, rest = first.source.partition("\n")
    first.source = f"{title}\n\n{text}\n{rest}"


def insert_figures(notebook, drawn) -> None:
    """Put figures below the cells that draw them, instead of what an executed cell shows of them."""
    cells = []
    for cell in notebook.cells:
        own = [HTML.figure(picture, 2 * UP) for picture in drawn if picture.code == cell.source]
        if own:
            cell.outputs = [out for out in cell.outputs if not SHOWN.intersection(out.get("data", ()))]
        cells += [cell, *map(nbformat.v4.new_markdown_cell, own)]
    notebook.cells = cells


def _write(notebook, note, path: Path) -> None:
    """Write a notebook with a note below its title."""
    below_title(notebook, f":::{{note}}\n{note}\n:::")
    write_text(path, nbformat.writes(notebook))
