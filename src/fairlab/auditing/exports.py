"""A report in the forms that other tools read: JUnit and a model card."""

import json
import re
from xml.etree import ElementTree

import pandas as pd
import yaml

from fairlab.auditing import wording

XML = '<?xml version="1.0" encoding="UTF-8"?>'  # ElementTree would name the encoding of the machine
SURROGATES = "\ud800-\udfff"  # halves of characters, which UTF-8 cannot write
CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f"  # which XML cannot, but for tabs and ends of lines
NONCHARACTERS = "\ufdd0-\ufdef" + "".join(f"{chr(0x10000 * k + 0xFFFE)}{chr(0x10000 * k + 0xFFFF)}" for k in range(17))
MEASURES = ["sensitive_features", "where", "effect", "estimate", "low", "high", "p_value", "answer", "people_needed"]


def legal(text: str) -> str:
    """Return a page, XML or Markdown with U+FFFD for all that is no character in each of them."""
    return re.sub(f"[{CONTROLS}{SURROGATES}{NONCHARACTERS}]", "\ufffd", text)


def as_json(content) -> str:
    """Return content as JSON, which keeps every text as it is: half of a character as its number."""
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return re.sub(f"[{SURROGATES}]", lambda half: f"\\u{ord(half[0]):04x}", text)


def junit(report) -> str:
    """Return JUnit XML: a test case for each test that decides the verdict, with its answer; what is found fails.

    What was not assessed is a skipped test case; in a report without any test, an error.
    """
    cases, n_missed = [], len(report.not_assessed)
    counts = {"failures": len(report.significant), "errors": 0 if report.n_tests else n_missed}
    for row in report.tested.itertuples():
        case = _test_case(row.method, f"{row.who}, {row.where}: {row.effect}")
        if row.significant:
            text = f"{wording.line(row.finding)}. Next: {wording.next_step(row.measure)}"
            ElementTree.SubElement(case, "failure", message=f"p = {row.p_value:.2g}", type=row.measure).text = text
        most = wording.people_needed(row.people_needed)
        answer = f"{row.answer}: about {most} people would settle it" if most else row.answer
        ElementTree.SubElement(case, "system-out").text = answer
        cases.append(case)
    for name, reasons in report.not_assessed.items():
        case = _test_case("not assessed", name)
        kind = "skipped" if report.n_tests else "error"
        ElementTree.SubElement(case, kind, message=" ".join(reasons))
        cases.append(case)
    counts |= {"tests": len(cases), "skipped": n_missed if report.n_tests else 0}
    suite = ElementTree.Element("testsuite", name=f"fairlab audit of {report.provenance['model']}")
    for key, value in (counts | {"time": f"{report.seconds:.3f}"}).items():
        suite.set(key, str(value))
    properties = ElementTree.SubElement(suite, "properties")
    answers = ", ".join(f"{n} {answer}" for answer, n in report.answers.items())
    for key, value in ({"verdict": report.verdict, "answers": answers} | report.provenance).items():
        ElementTree.SubElement(properties, "property", name=key, value=str(value))
    suite.extend(cases)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return legal(f"{XML}\n{ElementTree.tostring(root, encoding='unicode')}\n")


def model_card(report) -> str:
    """Return a model card: Markdown, with the verdict and where it comes from as YAML front matter."""
    front = {"model_name": report.provenance["model"], "fairness_verdict": report.verdict} | {
        "fairlab_audit": {key: value for key, value in report.provenance.items() if key != "model"}
    }
    parts = [
        "---\n" + yaml.safe_dump(front, sort_keys=False, allow_unicode=True) + "---",
        f"# Fairness of {_plain(report.provenance['model'])}",
        _plain(report.summary),
        "## Rates by group",
        *(_markdown(table.reset_index(names=name)) for name, table in report.groups.items()),
        "## Comparisons",
        _markdown(report.frame.assign(sensitive_features=report.frame["who"])[MEASURES]),
        "## What to do next",
        "\n".join(
            f"- {_plain(finding.sentence or finding.effect)}. {wording.next_step(finding.measure)}"
            for finding in report.significant
        )
        or "Nothing follows from this audit.",
        "## Limits",
        "\n".join(f"- {_plain(text)}" for text in _limits(report)),
    ]
    return legal("\n\n".join(parts) + "\n")


def _limits(report) -> list[str]:
    return [
        *wording.reasons(report),
        *report.warnings,
        *(f"{method}: {reason}" for method, reason in report.skipped),
        "A finding is a place to look, not a proof of discrimination; no finding is no proof of fairness.",
    ]


def _test_case(method: str, name: str) -> ElementTree.Element:
    return ElementTree.Element("testcase", classname=f"fairlab.{method}", name=name)


def _plain(text: str) -> str:
    """Return text that Markdown does not read as HTML, a table or a line of its own."""
    return " ".join(text.replace("<", "&lt;").replace("|", "\\|").split())


def _markdown(frame: pd.DataFrame) -> str:
    """Return a table in Markdown."""
    rows = [frame.columns, ["---"] * frame.shape[1], *frame.itertuples(index=False)]
    return "\n".join("| " + " | ".join(_cell(value) for value in row) + " |" for row in rows)


def _cell(value) -> str:
    if isinstance(value, float):
        return wording.number(value)
    return _plain(str(value))
