"""The project's figures, with captions and the notebook cells that draw them."""

import ast
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from html import escape
from pathlib import Path

from fairlab.suite.catalogue import specification
from fairlab.suite.drawing import first_sentence
from fairlab.suite.published import load_paper
from fairlab.suite.redrawing import figures
from fairlab.suite.site.wording import artefact_name, tag


@dataclass(frozen=True)
class Drawing:
    """A call of ``exp.figure`` in a notebook.

    Attributes
    ----------
    pattern : str
        Name of the figure, ``table-4_networks``; ``*`` matches what the notebook computes.
    caption, code : str
        The caption, if it is a literal in the notebook, and the cell that draws the figure.
    """

    pattern: str
    caption: str = ""
    code: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure of a run, or a committed one.

    Attributes
    ----------
    paper, stem : str
    about : dict
        Metadata of the run: ``experiment``, ``profile``, ``seed``, ``data``, ``commit``; and if the run stored them
        ``draw``, ``options``, ``caption``, ``alternative``, ``marks``.
    caption, code : str
    folder : Path
        Of its files.
    """

    paper: str
    stem: str
    about: dict
    caption: str = ""
    code: str = ""
    folder: Path = Path()

    @property
    def artefact(self) -> str:
        """The id of its table or figure in the paper."""
        return self.stem.partition("_")[0]

    @property
    def title(self) -> str:
        """Name of the table or figure, and of the part if there are several."""
        part = self.stem.partition("_")[2].replace("_", " ")
        return artefact_name(self.artefact) + (f": {part}" if part else "")

    @property
    def alternative(self) -> str:
        """The alternative text of the figure, one sentence."""
        text = self.about.get("alternative") or first_sentence(self.caption)
        return f"{self.title}. {text or load_paper(self.paper).artefact(self.artefact).title + '.'}"

    @property
    def provenance(self) -> str:
        """Profile, data, seed and commit of the run."""
        about = self.about
        return f"{about['profile']}, {about['data']} data, seed {about['seed']}, commit {str(about['commit'])[:7]}"

    def image(self, root: str) -> str:
        """Return the picture as an HTML image."""
        return f'<img src="{root}figures/{self.paper}/{self.stem}.png" alt="{escape(self.alternative)}" loading="lazy">'

    def figure(self, root: str) -> str:
        """Return the picture with its caption as HTML."""
        text = (
            f"<strong>{escape(self.title)}.</strong> {inline(self.caption)} <small>{escape(self.provenance)}.</small>"
        )
        return tag("figure", self.image(root) + tag("figcaption", text), class_="fl-figure")


def drawings(notebook) -> list[Drawing]:
    """Return the figures that a notebook draws, in its order."""
    cells = (cell for cell in notebook.cells if cell.cell_type == "code" and "exp.figure(" in cell.source)
    return [Drawing(pattern, caption, cell.source) for cell in cells for pattern, caption in _calls(cell.source)]


def pictures(paper: str) -> list[Picture]:
    """Return the figures of a paper, from runs or else committed, in the paper's order."""
    from fairlab.suite.labs.masters import read

    known = figures(paper)
    names = {about["experiment"] for _, about in known.values()}
    drawn = {name: drawings(read(specification(name).notebook)) for name in names}
    order = list(load_paper(paper).artefacts)
    found = []
    for stem, (folder, about) in known.items():
        drawing = drawing_of(stem, drawn[about["experiment"]])
        found.append(Picture(paper, stem, about, about.get("caption") or drawing.caption, drawing.code, folder))
    return sorted(found, key=lambda picture: (order.index(picture.artefact), picture.stem))


def drawing_of(stem: str, of_notebook: list[Drawing]) -> Drawing:
    """Return the call that draws a figure: the one with the longest name that fits."""
    fitting = [drawing for drawing in of_notebook if fnmatchcase(stem, drawing.pattern)]
    return max(fitting, key=lambda drawing: len(drawing.pattern), default=Drawing(stem))


def inline(markdown: str) -> str:
    """Return a line of Markdown as HTML: emphasis and code, nothing else."""
    text = escape(markdown)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", text)


def _calls(source):
    try:
        tree = ast.parse(source)
    except SyntaxError:  # of a shell or of IPython
        return
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args)
    for call in sorted(calls, key=lambda call: call.lineno):
        if ast.unparse(call.func) == "exp.figure":
            given = {word.arg: word.value for word in call.keywords}
            artefact = _text(call.args[0], "*")
            part = f"_{_text(given['part'], '*')}" if "part" in given else ""
            yield artefact + part, _text(given.get("caption"), "")


def _text(node, unknown) -> str:
    """Return a string literal of the source, with `unknown` for computed parts."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            texts = [_text(part, unknown) for part in parts]
            return "".join(texts) if unknown or all(texts) else ""
    return unknown
