"""One page per paper: question, method, every table and figure with our results, reasons for differences."""

from collections.abc import Sequence

import jinja2
import yaml

from fairlab.paths import project
from fairlab.suite.catalogue import PROFILES, experiment_names, specification
from fairlab.suite.comparison import Comparison, Row
from fairlab.suite.deviations import introduction, sections
from fairlab.suite.published import load_paper, paper_keys
from fairlab.suite.site.bars import bars_as_html
from fairlab.suite.site.figures import pictures
from fairlab.suite.site.rows import HTML, artefact_name, raw

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
