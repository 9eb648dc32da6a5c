"""One page per paper: question, method, every table and figure with our results, reasons for differences."""

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

import jinja2
import yaml

from fairlab.paths import EXPERIMENTS, ROOT
from fairlab.suite.catalogue import PROFILES, experiment_names, specification
from fairlab.suite.comparison import OPEN, Comparison, Row
from fairlab.suite.published import Artefact, load_paper, paper_keys
from fairlab.suite.site.bars import bars_as_html
from fairlab.suite.site.drawings import Picture, pictures
from fairlab.suite.site.picture import linked_marks, mark, symbols
from fairlab.suite.site.table import short_table
from fairlab.suite.site.wording import Shown, artefact_name, tag

MOST_ROWS = 8  # of a table or figure, shown without folding
UP = "../"
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
    file = ROOT / "docs" / "papers" / f"{key}.md"
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
    paper, own = load_paper(key), [row for row in rows if row.paper == key]
    drawn = pictures(key)
    figure = next((picture for picture in drawn if picture.stem == head["figure"]), None)
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False, keep_trailing_newline=True)
    return environment.from_string(text).render(
        name=head["name"],
        title=paper.about.title,
        figure=_html(figure.figure(UP)) if figure else "",
        picture=_html(symbols() + bars_as_html(Comparison(own), {key: head["name"]}) + linked_marks(own, UP)),
        artefacts="\n\n".join(_artefact(paper.artefact(id), own, drawn) for id in paper.artefacts),
        claims=_html(claims(own)),
        deviations=deviations(key)[""],
        running=running(key),
        citation=citation(key),
    )


def _artefact(artefact: Artefact, rows: Sequence[Row], drawn: Sequence[Picture]) -> str:
    """Return the section of one table or figure: its protocol, rows, figures and reasons for differences."""
    own = [row for row in rows if row.artefact == artefact.id]
    anchor = _html(tag("div", id=artefact.id, class_="fl-anchor"))
    parts = [anchor, f"### {artefact_name(artefact.id)}: {artefact.title}", artefact.protocol.strip()]
    if own:
        parts.append(_html(linked_marks(own, UP)))
        if why := deviations(own[0].paper).get(artefact.id):
            parts.append(f"**Differences and reasons.** {why}")
        parts.append(_html(_folded(own)))
    parts += [_html(picture.figure(UP)) for picture in drawn if picture.artefact == artefact.id]
    return "\n\n".join(parts)


def _folded(rows) -> str:
    """Return the rows as a table; if it is long, rows that neither differ nor fail are folded."""
    if len(rows) <= MOST_ROWS:
        return short_table(rows, UP)
    shown = [row for row in rows if row.verdict in OPEN][:MOST_ROWS]
    rest = [row for row in rows if row not in shown]
    summary = tag("summary", f"{'The other' if shown else 'All'} {len(rest)} rows: published numbers and our results")
    return (short_table(shown, UP) if shown else "") + tag("details", summary + short_table(rest, UP))


def claims(rows: Sequence[Row]) -> str:
    """Return the claims that hold, those that fail and the others, as lists."""
    parts = []
    own = [row for row in rows if row.kind == "claim"]
    for title, verdicts in (("Hold", ("holds",)), ("Fail", ("fails",)), ("Not judged", None)):
        chosen = [
            row for row in own if (row.verdict in verdicts if verdicts else row.verdict not in ("holds", "fails"))
        ]
        items = "".join(
            tag(
                "li",
                f"{mark(row.verdict, Shown(row).is_inferred)} "
                + tag("a", artefact_name(row.artefact), href=UP + Shown(row).link, aria_label=Shown(row).anchor)
                + f": {tag('span', escape(str(row.published)))}"
                + (f" <small>{escape(row.reason)}</small>" if row.reason else ""),
            )
            for row in chosen
        )
        if items:
            parts.append(tag("h3", f"{title}: {len(chosen)}") + tag("ul", items, class_="fl-claims"))
    return "".join(parts) or tag("p", "No claim was checked.")


def deviations(key: str) -> dict[str, str]:
    """Return the sections of ``deviations.md`` as Markdown by table or figure; its introduction has an empty id."""
    file = EXPERIMENTS / key / "deviations.md"
    if not file.exists():
        return {"": ""}
    head, *sections = re.split(r"^## ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {"": head.partition("\n")[2].strip()}
    for section in sections:
        title, _, body = section.partition("\n")
        found[re.match(r"[\w.-]+", title)[0].rstrip(":")] = re.sub(r"^#+ ", "#### ", body.strip(), flags=re.MULTILINE)
    return found


def running(key: str) -> str:
    """Return a table of a paper's experiments: tables and figures, data and minutes."""
    names = [name for name in experiment_names() if name.startswith(f"{key}/")]
    lines = [f"| experiment | tables and figures | data | minutes ({', '.join(PROFILES)}) |", "|---|---|---|---|"]
    for name in names:
        spec = specification(name)
        minutes = spec.minutes.model_dump() if spec.minutes else {}
        cells = [
            f"[{spec.title}](../notebooks/{name})",
            ", ".join(map(artefact_name, spec.artefacts)),
            ", ".join(f"`{variant}`" for variant in spec.data) or "none",
            " / ".join(f"{minutes[profile]:g}" if profile in minutes else "?" for profile in PROFILES),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + f"\n\n```\nfairlab run {' '.join(names)}\n```"


def citation(key: str) -> str:
    """Return how to cite the paper."""
    about = load_paper(key).about
    return f"{about.authors}. *{about.title}.* {about.venue}. doi:{about.doi}"


def write_papers(folder: Path, rows: Sequence[Row]) -> None:
    """Write the page of every paper into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for key in paper_keys():
        (folder / f"{key}.md").write_text(paper_page(key, rows), encoding="utf-8")


def _html(text: str) -> str:
    return f"```{{raw}} html\n{text}\n```" if text else ""
