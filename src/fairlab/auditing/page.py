"""A report as a page: HTML with its figure inside, that needs no other file."""

from html import escape

import pandas as pd

from fairlab.auditing import wording
from fairlab.auditing.evidence import shown_rows
from fairlab.plotting import as_html

STYLE = """
.fairlab {font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 0 1rem;}
.fairlab .summary {font-size: 1.1em;}
.fairlab table {border-collapse: collapse; margin: .5em 0;}
.fairlab th, .fairlab td {text-align: left; vertical-align: top; padding: .2em .7em .2em 0;
  border-bottom: 1px solid #9996;}
.fairlab td.number, .fairlab th.number {text-align: right; white-space: nowrap;}
.fairlab tr.significant td:first-child {border-left: 4px solid #D55E00; padding-left: .5em;}
.fairlab .wide {overflow-x: auto;}
.fairlab img {max-width: 100%; background: white;}
.fairlab summary {cursor: pointer;}
"""
NUMBERS = ("estimate", "before", "after", "change", "interval", "p", "n", "findings", "queries", "seconds")
GENERATED = (
    "Inputs are generated feature by feature, each value as likely as every other, so that many are unlike people. A "
    "number with many values is in bins, all as likely: Themis draws from the table's values in a bin, ADF and "
    "AEQUITAS take its median."
)
SAID_OF_ROWS = {
    "none": "Rows that show a finding are left out of this page.",
    "binned": "Rows that show a finding are in this page without their labels, numbers as ranges, rare values merged.",
    "all": "This page holds rows about real people as they are: pass it on only to those who may see them.",
}


def document(report, rows: str) -> str:
    """Return the whole page; `rows` is as in `Report.to_html`."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(_title(report))}</title>\n</head>\n<body>\n"
        f"{fragment(report, rows)}</body>\n</html>\n"
    )


def fragment(report, rows: str) -> str:
    """Return the page without its frame, as a notebook shows it."""
    parts = [
        f"<style>{STYLE}</style>",
        f"<h1>{escape(_title(report))}</h1>",
        f'<p class="summary">{escape(report.summary)}</p>',
        _list([*wording.reasons(report), *report.warnings]),
        _findings(report),
        _figure(report),
        _evidence(report, rows),
        _skipped(report),
        _reading(report, rows),
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
    text = f'<p class="summary">{escape(compared.summary)}</p>\n{_table(shown)}'
    return f'<div class="fairlab">\n<style>{STYLE}</style>\n{text}\n</div>\n'


def _findings(report) -> str:
    rows = list(zip(report.findings, report.corrected_p_values, report.is_significant, strict=True))
    clear, other = [row for row in rows if row[2]], [row for row in rows if not row[2]]
    text = f"<h2>What was found</h2>\n{_table_of(clear, report)}" if clear else ""
    if other:
        summary = f"{wording.count(len(other), 'finding')} that could be chance, or were not tested"
        text += f"<details{' open' * (not clear)}><summary>{summary}</summary>\n{_table_of(other, report)}</details>"
    return text


def _table_of(rows, report) -> str:
    frame = pd.DataFrame(
        {
            "method": [finding.method for finding, *_ in rows],
            "sensitive_features": [finding.sensitive_features for finding, *_ in rows],
            "where": [finding.where for finding, *_ in rows],
            "effect": [finding.effect for finding, *_ in rows],
            "estimate": [wording.number(finding.estimate) for finding, *_ in rows],
            "interval": [wording.interval(finding) for finding, *_ in rows],
            "p": ["no test" if p != p else f"{p:.1g}" if p >= 1e-4 else "< 0.0001" for _, p, _ in rows],
            "n": [f"{finding.n:,}" for finding, *_ in rows],
        }
    )
    return _table(frame, row_class=["significant" if is_significant else "" for *_, is_significant in rows])


def _figure(report) -> str:
    if not report.findings:
        return ""
    return f"<h2>Effects and their intervals</h2>\n{as_html(report.plot(), 'estimates of all findings with intervals')}"


def _evidence(report, rows) -> str:
    parts = []
    for finding in report.significant:
        shown = shown_rows(finding, report.case.table, rows)
        if shown is not None:
            kind = "generated inputs" if finding.evidence.attrs.get("generated") else "people of the table"
            of = f"{len(shown):,} of {len(finding.evidence):,} {kind}"
            head = escape(f"{finding.method}, {finding.sensitive_features}, {finding.where}: {of}")
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
        f"Intervals are {100 * report.confidence_level:.3g}% confidence intervals, not adjusted. p is corrected over "
        f"all {wording.count(report.n_tests, 'tested finding')} of this audit by Holm's method.",
        *(result.description for result in report.results if result.description),
        "A finding is a place to look, not a proof of discrimination; no finding is no proof of fairness.",
        SAID_OF_ROWS[rows],
        f"The same audit comes out again with random_state={report.random_state} and budget={report.budget}.",
    ]
    if any(finding.evidence is not None and finding.evidence.attrs.get("generated") for finding in report.findings):
        said.insert(1, GENERATED)
    return f"<h2>How to read this</h2>\n{_list(said)}\n{_table(frame)}"


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
