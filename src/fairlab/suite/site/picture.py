"""The overview of all verdicts: one mark per published number or claim, by paper and by table or figure."""

from collections import Counter
from collections.abc import Sequence
from html import escape
from itertools import groupby

from fairlab.suite.comparison import COLOUR_OF, Comparison, Row, label_of
from fairlab.suite.published import load_paper
from fairlab.suite.site.bars import bars_as_html
from fairlab.suite.site.wording import MEANINGS, Shown, artefact_name, paper_anchor, slug, tag

# Shapes in a square of 12 by 12: verdicts differ in shape as well as in colour.
SHAPES = {
    "exact": '<circle cx="6" cy="6" r="5"/>',
    "agrees": '<rect x="1.5" y="1.5" width="9" height="9"/>',
    "near": '<polygon points="6,0 12,6 6,12 0,6"/>',
    "compatible": '<polygon points="3,1 9,1 12,6 9,11 3,11 0,6"/>',
    "same conclusion": '<polygon points="6,1 11,5 9,11 3,11 1,5"/>',
    "differs": '<polygon points="6,1 12,11 0,11"/>',
    "holds": '<path d="M4 1h4v3h3v4h-3v3h-4v-3h-3v-4h3z"/>',
    "fails": '<path d="M3 0l3 3 3 -3 3 3 -3 3 3 3 -3 3 -3 -3 -3 3 -3 -3 3 -3 -3 -3z"/>',
    "setting": '<circle cx="6" cy="6" r="2.5"/>',
    "impossible": '<polygon points="1,1 11,1 7,6 11,11 1,11 5,6"/>',
    "not comparable": '<rect x="1" y="4" width="10" height="4"/>',
    "surrogate": '<polygon points="0,1 12,1 6,11"/>',
    "not run": '<circle cx="6" cy="6" r="3" class="fl-ring"/>',
}


def symbols() -> str:
    """Return the shapes as SVG symbols, which a page needs once before it can show marks."""
    shapes = "".join(
        f'<symbol id="mark-{slug(verdict)}" viewBox="-1 -1 14 14">{shape}</symbol>' for verdict, shape in SHAPES.items()
    )
    return f'<svg width="0" height="0" class="fl-symbols" aria-hidden="true">{shapes}</svg>'


def mark(verdict: str, inferred: bool = False) -> str:
    """Return the mark of a verdict; hollow if the protocol was inferred."""
    hollow = " fl-hollow" * inferred
    use = f'<use href="#mark-{slug(verdict)}"/>'
    return f'<svg class="fl-mark fl-{COLOUR_OF[verdict]}{hollow}" aria-hidden="true">{use}</svg>'


def linked_marks(rows: Sequence[Row], root: str = "") -> str:
    """Return one mark per row, linked to the row; `root` is the path from the page to the site's root."""
    marks = []
    for shown in map(Shown, rows):
        sign = mark(shown.row.verdict, shown.is_inferred)
        text = escape(shown.summary)
        marks.append(
            f'<a href="{escape(root + shown.link)}" title="{text}" aria-label="{text}" tabindex="-1">{sign}</a>'
        )
    return tag("span", "".join(marks), class_="fl-marks")


def picture(rows: Sequence[Row], names: dict[str, str], root: str = "") -> str:
    """Return the overview of all verdicts as HTML.

    Parameters
    ----------
    rows : sequence of Row
        In the order of the scorecard.
    names : dict of str to str
        Short names of the papers by key.
    root : str
    """
    papers = [bars_as_html(Comparison(rows), names)]
    for key in dict.fromkeys(row.paper for row in rows):
        of_paper, groups = [row for row in rows if row.paper == key], []
        for artefact, several in groupby(of_paper, key=lambda row: row.artefact):
            of_artefact = list(several)
            title = load_paper(key).artefact(artefact).title
            label = tag("a", artefact_name(artefact), href=root + paper_anchor(of_artefact[0]), title=title)
            groups.append(tag("li", label + linked_marks(of_artefact, root), class_="fl-artefact"))
        link = tag("a", escape(names[key]), href=f"{root}papers/{key}.html")
        head = tag("h3", f"{link} {tag('small', escape(Comparison(of_paper).headline()))}")
        papers.append(tag("section", head + tag("ul", "".join(groups)), class_="fl-paper"))
    return symbols() + tag("div", "".join(papers), class_="fl-picture") + legend(rows, root)


def legend(rows: Sequence[Row], root: str = "") -> str:
    """Return the legend: the meaning of each mark, its number of rows (hollow marks separately), and a link to them."""
    counts = Counter((row.verdict, Shown(row).is_inferred) for row in rows)
    entries = []
    for verdict, meaning in MEANINGS.items():
        filled, hollow = counts[verdict, False], counts[verdict, True]
        if filled or hollow:
            head = f"{mark(verdict)} {label_of(verdict)} <small>{filled}</small>"
            if hollow:
                head += f" <small>and {hollow} {mark(verdict, True)}</small>"
            link = tag("a", head, href=f"{root}scorecard.html?verdict={verdict.replace(' ', '+')}")
            entries.append(f"{link} <span>{meaning}</span>")
    inferred = sum(Shown(row).is_inferred for row in rows)
    if inferred:
        head = f"{mark('agrees', True)} hollow <small>{inferred}</small>"
        link = tag("a", head, href=f"{root}scorecard.html?reading=inferred")
        entries.append(
            f"{link} <span>protocol inferred from the published values; counted separately unless it differs</span>"
        )
    return tag("ul", "".join(tag("li", entry) for entry in entries), class_="fl-legend")
