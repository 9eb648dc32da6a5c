"""The scorecard as an HTML table, which a script on the page filters, sorts and searches."""

import json
from collections.abc import Sequence
from html import escape

from fairlab.suite.comparison import LABELS, Row, label_of
from fairlab.suite.site.picture import mark, symbols
from fairlab.suite.site.wording import Shown, artefact_name, paper_anchor, tag

COLUMNS = ("row", "published", "our result", "difference", "verdict", "run", "reason")
FILTERS = ("paper", "artefact", "verdict", "data", "profile", "reading")
# Labels of the filters and of their values, where they are not the keys.
FILTER_LABELS = {
    "artefact": "table or figure",
    "reading": "protocol variant",
    "as_published": "as published",
    "inferred": "inferred from published values",
    "none": "not applicable",
}


def scorecard_table(rows: Sequence[Row], names: dict[str, str], root: str = "") -> str:
    """Return all rows as an HTML table with the attributes by which a script filters and sorts them."""
    head = "".join(tag("th", name, scope="col") for name in COLUMNS)
    body = "".join(table_row(Shown(row), names, root) for row in rows)
    labels = json.dumps(LABELS | FILTER_LABELS)
    caption = tag("caption", f"All {len(rows)} published numbers and claims, in the order of the papers")
    inner = f"{caption}{tag('thead', tag('tr', head))}{tag('tbody', body)}"
    return symbols() + tag("table", inner, class_="fl-scorecard", id="scorecard-table", data_labels=labels)


def table_row(shown: Shown, names: dict[str, str], root: str = "") -> str:
    """Return one row of the scorecard."""
    row = shown.row
    paper = tag("a", f"{escape(names[row.paper])} {artefact_name(row.artefact)}", href=root + paper_anchor(row))
    own = tag("a", escape(row.id), href=f"#{shown.anchor}", class_="fl-id")
    reason = escape(row.reason or "")
    cite = f"<details><summary>cite</summary>{escape(shown.citation)}</details>"
    trials = f" <small>{shown.trials}</small>" if shown.trials else ""
    inferred = " <small>inferred</small>" if shown.is_inferred else ""
    cells = {
        "row": f"{paper} {own}",
        "published": f"{escape(shown.published)} <small>{escape(shown.source)}</small>",
        "our result": escape(shown.ours) + trials,
        "difference": escape(row.difference),
        "verdict": f"{mark(row.verdict, shown.is_inferred)} {label_of(row.verdict)}{inferred}",
        "run": tag("small", escape(shown.run)),
        "reason": tag("small", reason) + cite,
    }
    data = {f"data-{name}": str(getattr(row, name) or "none") for name in FILTERS}
    size = "" if row.relative_difference is None else f"{abs(row.relative_difference):.6g}"
    inner = "".join(f'<td data-label="{name}">{cell}</td>' for name, cell in cells.items())
    return tag("tr", inner, id=shown.anchor, data_size=size, **data)


def short_table(rows: Sequence[Row], root: str = "") -> str:
    """Return rows as a small table of published numbers and our results, linked to the scorecard."""
    columns = ("row", "published", "our result", "difference", "verdict")
    lines = []
    for shown in map(Shown, rows):
        row = shown.row
        cells = [
            tag("a", escape(row.id), href=root + shown.link, class_="fl-id"),
            escape(shown.published),
            escape(shown.ours) + (f" <small>{shown.trials}</small>" if shown.trials else ""),
            escape(row.difference),
            f"{mark(row.verdict, shown.is_inferred)} {label_of(row.verdict)}",
        ]
        pairs = zip(columns, cells, strict=True)
        lines.append(tag("tr", "".join(f'<td data-label="{name}">{cell}</td>' for name, cell in pairs)))
    head = tag("tr", "".join(tag("th", name, scope="col") for name in columns))
    return tag("table", tag("thead", head) + tag("tbody", "".join(lines)), class_="fl-scorecard fl-short")
