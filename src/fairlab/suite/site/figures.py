"""The project's figures with their captions, and the gallery: one page per paper."""

from dataclasses import dataclass
from pathlib import Path

from fairlab.suite.catalogue import specification
from fairlab.suite.labs.masters import read
from fairlab.suite.published import load_paper
from fairlab.suite.redrawing import figures
from fairlab.suite.site.rows import HTML, artefact_name, raw

CALL = "exp.figure("


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
