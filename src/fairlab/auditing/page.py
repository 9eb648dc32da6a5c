"""A report as a page: HTML with its figure inside, that needs no other file."""

from html import escape

import pandas as pd

from fairlab.auditing import wording
from fairlab.auditing.evidence import shown_rows
from fairlab.auditing.exports import legal
from fairlab.cases.decisions import why_no_error_rates
from fairlab.cases.finding import decimals, free_name, percent
from fairlab.cases.groups import SMALLEST_SHARE
from fairlab.fairtest.rates import RATES
from fairlab.plotting import PAGE_STYLE, REPORT_STYLE, as_html

MOST_BARS = 8  # groups of a feature on the first screen, those that are selected least
NUMBERS: tuple[str, ...] = ("estimate", "before", "after", "change", "interval", "p", "n", "findings", "queries")
NUMBERS += ("seconds", "people needed", "people", "missing labels", "impact ratio", "lose", "gain", *RATES)
COUNTS = ("missing labels", "lose", "gain", "people needed")  # shown only where there are any
GENERATED = (
    "Each feature of a generated input is drawn independently from the values in the table, so many inputs do not "
    "resemble real people."
)
LOSE = "lose: people whose unfavourable decision would otherwise be favourable; gain: the reverse."
SAID_OF_ROWS = {
    "none": "Example rows are left out of this page.",
    "binned": "Example rows are shown without their labels, with numbers as ranges and rare values merged, and only in "
    "columns in which each row matches at least five people.",
    "all": "This page has rows about real people, unchanged: share it only with those who may see them.",
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
    drawing = as_html(report.plot(), "estimates of all findings with intervals") if report.findings else ""
    parts = [
        f"<style>{REPORT_STYLE}</style>",
        f"<h1>{escape(_title(report))}</h1>",
        _first(report),
        _list(report.warnings),
        *(_fact(report, place, rows) for place in range(len(report.facts))),
        "<h2>The rest of the audit</h2>" * bool(report.facts),  # the rest is not about the last finding alone
        _comparisons(report),
        _folded("Rates by group, with intervals", _groups(report)),
        _folded("Effects and their intervals", drawing),
        _folded("Not assessed", _list([*wording.reasons(report), *(f"{name}: {why}" for name, why in report.skipped)])),
        _folded("How to read this", _reading(report, rows)),
        _folded("Provenance", _provenance(report)),
    ]
    return '<div class="fairlab">\n' + "\n".join(filter(None, parts)) + "\n</div>\n"


def _title(report) -> str:
    return f"Fairness audit of {report.provenance['model']}{'' if report.n_tests else ': not assessed'}"


def _first(report) -> str:
    """Return the verdict as a word, and below it what matters most."""
    (verdict, sentence), *others = wording.lines(report)
    more = "\n".join(f"<dt>{escape(heading)}</dt><dd>{escape(said)}</dd>" for heading, said in others)
    kind = " found" if report.significant else " within" if report.n_tests and report.is_within else ""
    return (
        f'<div class="verdict{kind}"><p class="word">{escape(verdict)}</p>\n<p class="summary">{escape(sentence)}</p>\n'
        f"{_bars(report)}\n<dl>\n{more}\n</dl></div>"
    )


def _bars(report) -> str:
    """Return a bar for each group of a sensitive feature, with its selection rate and impact ratio."""
    parts = []
    for name in report.case.sensitive_features:
        if name not in report.groups or (known := wording.comparable(report.groups[name])).empty:
            continue
        large = known.sort_values("impact ratio").head(MOST_BARS)
        rows = [
            f'<tr><th>{escape(str(group))}</th><td class="bar"><i style="width:{100 * rate:.1f}%"></i></td>'
            f'<td class="number">{percent(rate)}</td><td class="number ratio">{decimals(ratio, 2, 1)}</td></tr>'
            for group, rate, ratio in large[["selection rate", "impact ratio"]].itertuples()
        ]
        n_more = len(report.groups[name]) - len(large)
        more = f"<caption>{n_more} more: see Rates by group</caption>" if n_more else ""
        heads = "".join(f'<th class="number">{each}</th>' for each in ("selected", "impact ratio"))
        head = f'<tr><th colspan="2">{escape(name)}</th>{heads}</tr>'
        parts.append(f'<table class="bars">{more}{head}\n' + "\n".join(rows) + "</table>")
    return "\n".join(parts)


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{escape(title)}</summary>\n{content}</details>" if content else ""


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
            "p": frame["p_value"].map(wording.p_value),
            "verdict": frame["verdict"],
            "n": frame["n"].map("{:,}".format),
        }
    )
    figure = as_html(compared.plot(), "changes of all measures with their intervals") if len(frame) else ""
    text = f'<h1>Two models compared</h1>\n<p class="summary">{escape(compared.summary)}</p>\n{_table(shown)}\n{figure}'
    return f'<div class="fairlab">\n<style>{REPORT_STYLE}</style>\n{text}\n</div>\n'


def _groups(report) -> str:
    """Return the tables of rates and impact ratios by group, of each sensitive feature and of each two."""
    parts, are_biased = [], bool(report.groups) and bool(why_no_error_rates(report.case))  # equal in every group
    for features, table in report.groups.items():
        shown = pd.DataFrame(
            {free_name(features, table): table.index, "people": table["people"].map("{:,}".format).array}
        )
        shown["selection rate"] = _shares(table, "selection rate", "rate low", "rate high")
        shown["impact ratio"] = [
            "" if ratio != ratio else decimals(ratio, 2, 1) + (f" ({low:.2f} to {high:.2f})" if low == low else "")
            for ratio, low, high in table[["impact ratio", "ratio low", "ratio high"]].itertuples(index=False)
        ]
        for name in ("true positive rate", "false positive rate"):
            if name in table and not are_biased:
                shown[name] = _shares(table, name)
        if "missing labels" in table:
            shown["missing labels"] = table["missing labels"].map("{:,}".format).array
        parts.append(_table(shown, row_class=["small" if is_so else "" for is_so in table["small"]]))
    if not parts:
        return ""
    said = (
        "The impact ratio is a group's selection rate divided by that of the group selected most often, with its "
        "interval. The four-fifths rule requires 0.8; it is not the law everywhere and does not affect the verdict. "
        f"In italics: groups with less than {SMALLEST_SHARE:.0%} of the people, which are never the reference."
    )
    return "\n".join(parts) + f"<p>{said}</p>"


def _shares(table, name, low=None, high=None) -> list[str]:
    shares = ["" if share != share else percent(share) for share in table[name]]
    if low is None:
        return shares
    ends = table[[low, high]].itertuples(index=False)
    return [
        f"{share} ({percent(a)} to {percent(b)})" if share else "" for share, (a, b) in zip(shares, ends, strict=True)
    ]


def _fact(report, place: int, rows: str) -> str:
    """Return the findings by some sensitive features: who loses and gains, all comparisons, and example rows.

    Sentences on the first screen are not repeated.
    """
    fact = report.facts[place]
    by_group = [finding.by_group for finding in fact if finding.by_group is not None]
    parts = [f"<h2>{escape(fact[0].who)}</h2>"]
    if place >= wording.MOST_FACTS:
        parts.append(f"<p>{escape(wording.line(fact[0]))}.</p>")
    if place > 0:
        parts.append(f"<p>Next: {escape(wording.next_step(fact[0].measure))}</p>")
    if by_group and by_group[0][["lose", "gain"]].to_numpy().any():
        parts.append(_table(by_group[0].rename_axis("group").reset_index()))
    found = report.frame[[any(each is finding for finding in fact) for each in report.frame["finding"]]]
    parts.append(_folded(f"Found: {wording.count(len(fact), 'comparison')}", _table_of(found)))
    parts.append(_folded("Example rows", "\n".join(filter(None, (_evidence(report, each, rows) for each in fact)))))
    return "\n".join(filter(None, parts))


def _comparisons(report) -> str:
    """Return all other comparisons, by their answer, and those about generated inputs."""
    people, answer = report.frame["population"].eq("people"), report.frame["answer"]
    decides = "also decide the verdict" if report.verdict_on == "all" else "do not decide the verdict"
    kinds = {
        "Undecided": people & answer.eq("undecided"),
        f"Ruled out, as large as {wording.margins(report, 'within')}": people & answer.eq("ruled out"),
        "Without a test": people & answer.eq(""),
        f"On generated inputs, which {decides}": ~people,
    }
    parts = []
    for kind, chosen in kinds.items():
        said = f"<p>{GENERATED}</p>\n" if "inputs" in kind else ""
        content = f"{said}{_table_of(report.frame[chosen])}" if chosen.any() else ""
        parts.append(_folded(f"{kind}: {wording.count(int(chosen.sum()), 'comparison')}", content))
    return "\n".join(filter(None, parts))


def _table_of(rows: pd.DataFrame) -> str:
    names = ["significant" if is_so else "" for is_so in rows["significant"]]
    return _table(wording.comparisons(rows).drop(columns="answer"), names, "comparisons")


def _evidence(report, finding, rows) -> str:
    shown = shown_rows(finding, report.people, rows)
    if shown is None:
        return ""
    kind = "generated inputs" if finding.evidence.attrs.get("generated") else "people in the table"
    of = f"{len(shown):,} of {len(finding.evidence):,} {kind}"
    return _folded(f"{finding.method}, {finding.who}, {finding.where}: {of}", _table(shown, kind="rows"))


def _reading(report, rows) -> str:
    frame = pd.DataFrame(
        [(e.method, len(e.findings), f"{e.n_queries:,}", f"{e.seconds:.1f}") for e in report.results],
        columns=["method", "findings", "queries", "seconds"],
    )
    said = [
        wording.how(report),
        f"Intervals are {100 * report.confidence_level:.3g}% confidence intervals, not adjusted. p tests the "
        f"hypothesis that an effect is at most {wording.margins(report, 'margin') or 'the margin'}, corrected by "
        f"Holm's method over the {wording.count(report.n_tests, 'comparison')} that decide the verdict; those on "
        f"generated inputs are corrected {'with them' if report.verdict_on == 'all' else 'separately'}.",
        f"Ruled out: shown to be less than {wording.margins(report, 'within') or 'its margin'}, by Holm's method, or "
        "because all comparisons are, each by its own test. Undecided: neither found nor ruled out; people needed is "
        "the approximate number of people like those in the table that would settle it if the estimate were the true "
        "value.",
        *([LOSE] * any(finding.by_group is not None for finding in report.findings)),
        *(each.description for each in report.results if each.description and (each.findings or each.n_queries)),
        "A finding shows where to look and does not prove discrimination; a lack of findings does not prove fairness.",
        SAID_OF_ROWS[rows],
    ]
    return f"{_list(said)}\n{_table(frame)}"


def _provenance(report) -> str:
    items = pd.DataFrame([(key.replace("_", " "), value) for key, value in report.provenance.items()])
    return _table(items.set_axis(["what", "value"], axis=1), kind="rows")


def _list(sentences) -> str:
    items = "\n".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<ul>\n{items}\n</ul>" if items else ""


def _table(frame: pd.DataFrame, row_class=None, kind: str = "") -> str:
    """Return a table as HTML, with everything escaped, without columns of `COUNTS` that are empty.

    On a phone a comparison stands above its numbers (`kind` "comparisons"), and texts break anywhere ("rows").
    """
    frame = frame[[name for name in frame if name not in COUNTS or not frame[name].isin([0, "0", ""]).all()]]

    def cells(tag, values):
        kinds = [' class="number"' if name in NUMBERS else "" for name in frame.columns]
        return "".join(f"<{tag}{kind}>{escape(str(value))}</{tag}>" for kind, value in zip(kinds, values, strict=True))

    names = row_class or [""] * len(frame)
    body = "\n".join(
        f"<tr{f' class={name!r}' if name else ''}>{cells('td', row)}</tr>"
        for name, row in zip(names, frame.itertuples(index=False, name=None), strict=True)
    )
    return (
        f'<div class="{f"wide {kind}".strip()}"><table>\n<tr>{cells("th", frame.columns)}</tr>\n{body}\n</table></div>'
    )
