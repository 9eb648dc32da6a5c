"""A report as a page: HTML with its figure inside, that needs no other file."""

from html import escape

import pandas as pd

from fairlab.auditing import figures, wording
from fairlab.auditing.evidence import shown_rows
from fairlab.auditing.exports import legal
from fairlab.cases.groups import SMALLEST_SHARE
from fairlab.fairtest.rates import RATES
from fairlab.plotting import PAGE_STYLE, REPORT_STYLE, as_html

MOST_TOLD = 4  # findings of one measure, before the others are folded
NUMBERS: tuple[str, ...] = (
    "estimate",
    "before",
    "after",
    "change",
    "interval",
    "p",
    "against",
    "n",
    "findings",
    "queries",
    "seconds",
    "smallest found",
)
NUMBERS += ("people", "missing labels", "impact ratio", "lose", "gain", *RATES)
GENERATED = (
    "Each feature of a generated input is drawn by itself from the values of the table, so that many are unlike people."
)
SAID_OF_ROWS = {
    "none": "Rows that show a finding are left out of this page.",
    "binned": "Rows that show a finding are in this page without their labels, numbers as ranges, rare values merged, "
    "in columns in which each is like five people or more.",
    "all": "This page holds rows about real people as they are: pass it on only to those who may see them.",
}


def document(report, rows: str) -> str:
    """Return the whole page; `rows` is as in `Report.to_html`."""
    return whole(_title(report), fragment(report, rows))


def whole(title: str, content: str) -> str:
    """Return a page with some content."""
    return legal(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{PAGE_STYLE}</style>\n</head>\n<body>\n"
        f"<main>\n{content}</main>\n</body>\n</html>\n"
    )


def fragment(report, rows: str) -> str:
    """Return the page without its frame, as a notebook shows it."""
    kind = " found" if report.significant else ""
    parts = [
        f"<style>{REPORT_STYLE}</style>",
        f"<h1>{escape(_title(report))}</h1>",
        f'<div class="verdict{kind}"><p class="summary">{escape(report.summary)}</p></div>',
        _list([*wording.reasons(report), *report.warnings]),
        _groups(report),
        _findings(report),
        _directions(report),
        _figure(report),
        _evidence(report, rows),
        _skipped(report),
        _reading(report, rows),
        _provenance(report),
    ]
    return '<div class="fairlab">\n' + "\n".join(filter(None, parts)) + "\n</div>\n"


def _title(report) -> str:
    return f"Fairness audit of {wording.name_of(report.case)}{'' if report.n_tests else ': not assessed'}"


def comparison(compared) -> str:
    """Return a comparison of two models as a notebook shows it."""
    frame = compared.to_frame()
    shown = pd.DataFrame(
        {
            "where": frame["where"],
            "measure": frame["measure"],
            "before": frame["before"].map(wording.number),
            "after": frame["after"].map(wording.number),
            "change": frame["change"].map(wording.number),
            "interval": [f"{wording.number(r.low)} to {wording.number(r.high)}" for r in frame.itertuples()],
            "p": [f"{p:.1g}" for p in frame["p_value"]],
            "verdict": frame["verdict"],
            "n": frame["n"].map("{:,}".format),
        }
    )
    figure = as_html(compared.plot(), "changes of all measures with their intervals") if len(frame) else ""
    text = f'<h1>Two models compared</h1>\n<p class="summary">{escape(compared.summary)}</p>\n{_table(shown)}\n{figure}'
    return f'<div class="fairlab">\n<style>{REPORT_STYLE}</style>\n{text}\n</div>\n'


def _groups(report) -> str:
    """Return the tables of rates and impact ratios by group, of each sensitive feature and of each two."""
    parts = []
    for features, table in report.groups.items():
        shown = pd.DataFrame({features: table.index, "people": table["people"].map("{:,}".format).array})
        shown["selection rate"] = _shares(table, "selection rate", "rate low", "rate high")
        shown["impact ratio"] = [
            "" if ratio != ratio else f"{ratio:.2f}" + (f" ({low:.2f} to {high:.2f})" if low == low else "")
            for ratio, low, high in table[["impact ratio", "ratio low", "ratio high"]].itertuples(index=False)
        ]
        for name in ("true positive rate", "false positive rate"):
            if name in table:
                shown[name] = _shares(table, name)
        if "missing labels" in table:
            shown["missing labels"] = table["missing labels"].map("{:,}".format).array
        parts.append(_table(shown, row_class=["small" if is_so else "" for is_so in table["small"]]))
    if not parts:
        return ""
    said = (
        "The impact ratio is a group's selection rate over that of the group which is selected most often, with its "
        "interval. The line of the four-fifths rule is at 0.8; the rule is not the law everywhere, and the line is no "
        f"verdict. In italics: groups with less than {SMALLEST_SHARE:.0%} of the people, with which none is compared."
    )
    ratios = as_html(figures.impact(report.groups), "impact ratios of all groups with intervals, and a line at 0.8")
    return "<h2>Rates by group</h2>\n" + "\n".join(parts) + f"<p>{said}</p>\n{ratios}"


def _shares(table, name, low=None, high=None) -> list[str]:
    shares = ["" if share != share else f"{share:.1%}" for share in table[name]]
    if low is None:
        return shares
    ends = table[[low, high]].itertuples(index=False)
    return [f"{share} ({a:.1%} to {b:.1%})" if share else "" for share, (a, b) in zip(shares, ends, strict=True)]


def _findings(report) -> str:
    parts = []
    for population, title in (("people", "What was found among people"), ("generated inputs", "On generated inputs")):
        of_these = report.frame[report.frame["population"] == population]
        clear, other = of_these[of_these["significant"]], of_these[~of_these["significant"]]
        if of_these.empty:
            continue
        parts.append(f"<h2>{title}</h2>")
        if population != "people":
            decides = "decide the verdict, too" if report.verdict_on == "all" else "do not decide the verdict"
            parts.append(f"<p>{GENERATED} These findings {decides}.</p>")
        parts += [_table_of(clear)] * (not clear.empty)
        if not other.empty:
            were = "was" if len(other) == 1 else "were"
            summary = f"{wording.count(len(other), 'finding')} that could be chance, or {were} not tested"
            parts.append(f"<details{' open' * clear.empty}><summary>{summary}</summary>\n{_table_of(other)}</details>")
    return "\n".join(parts)


def _table_of(rows: pd.DataFrame) -> str:
    shown = {
        "sensitive features": rows["who"],
        "where": rows["where"],
        "effect": rows["effect"],
        "estimate": rows["estimate"].map(wording.number),
        "interval": rows["finding"].map(wording.interval),
        "p": rows["p_value"].map(wording.p_value),
        "against": rows["limit"].map(wording.number),
        "smallest found": rows["smallest"].map(wording.number),
        "n": rows["n"].map("{:,}".format),
        "method": rows["method"],
    }
    if rows["smallest"].isna().all():
        del shown["smallest found"]
    return _table(pd.DataFrame(shown), row_class=["significant" if is_so else "" for is_so in rows["significant"]])


def _directions(report) -> str:
    """Return, by measure, what the significant findings say, who loses and gains, and what to do next."""
    measures = dict.fromkeys(finding.measure for finding in report.significant)
    parts = []
    for measure in measures:
        found = [finding for finding in report.significant if finding.measure == measure]
        parts.append(f"<h3>{escape(measure.replace('_', ' ').capitalize() or 'Others')}</h3>")
        parts.append(f"<p>Next: {escape(wording.next_step(measure))}</p>")
        parts += map(_direction, found[:MOST_TOLD])
        if rest := found[MOST_TOLD:]:
            more = "\n".join(map(_direction, rest))
            parts.append(f"<details><summary>{wording.count(len(rest), 'more finding')}</summary>\n{more}</details>")
    return "<h2>Who is concerned, and what to do next</h2>\n" + "\n".join(parts) if parts else ""


def _direction(finding) -> str:
    text = f"<p>{escape(finding.sentence or finding.effect)}</p>"
    if finding.by_group is not None and finding.by_group[["lose", "gain"]].to_numpy().any():
        text += _table(finding.by_group.rename_axis("group").reset_index())
    return text


def _figure(report) -> str:
    if not report.findings:
        return ""
    return f"<h2>Effects and their intervals</h2>\n{as_html(report.plot(), 'estimates of all findings with intervals')}"


def _evidence(report, rows) -> str:
    parts = []
    for finding in report.significant:
        shown = shown_rows(finding, report.people, rows)
        if shown is not None:
            kind = "generated inputs" if finding.evidence.attrs.get("generated") else "people of the table"
            of = f"{len(shown):,} of {len(finding.evidence):,} {kind}"
            head = escape(f"{finding.method}, {finding.who}, {finding.where}: {of}")
            parts.append(f"<details><summary>{head}</summary>\n{_table(shown)}</details>")
    return "<h2>Rows that show it</h2>\n" + "\n".join(parts) if parts else ""


def _skipped(report) -> str:
    reasons = [f"{method}: {reason}" for method, reason in report.skipped]
    return f"<h2>Not assessed</h2>\n{_list(reasons)}" if reasons else ""


def _reading(report, rows) -> str:
    frame = pd.DataFrame(
        [(e.method, len(e.findings), f"{e.n_queries:,}", f"{e.seconds:.1f}") for e in report.results],
        columns=["method", "findings", "queries", "seconds"],
    )
    said = [
        wording.how(report),
        f"Intervals are {100 * report.confidence_level:.3g}% confidence intervals, not adjusted. p is that of an "
        "effect of at most what it is tested against: the margin of the audit, of a loss ratio the limit that counts "
        f"as fair. It is corrected by Holm's method over the {wording.count(report.n_tests, 'test')} that decide the "
        f"verdict; tests on generated inputs are corrected {'with them' if report.verdict_on == 'all' else 'apart'}. "
        "The smallest effect that would have been found is that with a power of 80%.",
        "lose: people whose decision is unfavourable and would be favourable; gain: the other way round.",
        *(result.description for result in report.results if result.description),
        "A finding is a place to look, not a proof of discrimination; no finding is no proof of fairness.",
        SAID_OF_ROWS[rows],
    ]
    return f"<h2>How to read this</h2>\n{_list(said)}\n{_table(frame)}"


def _provenance(report) -> str:
    items = pd.DataFrame([(key.replace("_", " "), value) for key, value in report.provenance.items()])
    return f"<h2>Where this comes from</h2>\n{_table(items.set_axis(['what', 'value'], axis=1))}"


def _list(sentences) -> str:
    items = "\n".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<ul>\n{items}\n</ul>" if items else ""


def _table(frame: pd.DataFrame, row_class=None) -> str:
    """Return a table, everything in it escaped."""

    def cells(tag, values):
        kinds = [' class="number"' if name in NUMBERS else "" for name in frame.columns]
        return "".join(f"<{tag}{kind}>{escape(str(value))}</{tag}>" for kind, value in zip(kinds, values, strict=True))

    names = row_class or [""] * len(frame)
    body = "\n".join(
        f"<tr{f' class={name!r}' if name else ''}>{cells('td', row)}</tr>"
        for name, row in zip(names, frame.itertuples(index=False, name=None), strict=True)
    )
    return f'<div class="wide"><table>\n<tr>{cells("th", frame.columns)}</tr>\n{body}\n</table></div>'
