"""A report in the forms that other tools read: JUnit and a model card."""

import json
import math
import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import yaml

from fairlab.auditing import wording
from fairlab.cases.finding import free_name
from fairlab.cases.schema import is_missing

XML = '<?xml version="1.0" encoding="UTF-8"?>'  # ElementTree would name the encoding of the machine
SURROGATES = "\ud800-\udfff"  # halves of characters, which UTF-8 cannot write
CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f"  # control characters that XML cannot write: all but tabs and line ends
NONCHARACTERS = "\ufdd0-\ufdef" + "".join(f"{chr(0x10000 * k + 0xFFFE)}{chr(0x10000 * k + 0xFFFF)}" for k in range(17))
MARKUP = re.compile(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])")  # of Markdown; an underscore inside a word is none


def legal(text: str) -> str:
    """Return a page, XML or Markdown with U+FFFD in place of characters that any of them forbids."""
    return re.sub(f"[{CONTROLS}{SURROGATES}{NONCHARACTERS}]", "\ufffd", text)


def as_json(content) -> str:
    """Return content as JSON that keeps every string: a lone surrogate is written as its number."""
    text = json.dumps(_values(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return re.sub(f"[{SURROGATES}]", lambda half: f"\\u{ord(half[0]):04x}", text)


def _values(value):
    """Return nested values in types that JSON has; what is not a finite number becomes None."""
    if isinstance(value, dict):
        return {str(key): _values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_values(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if is_missing(value) or (isinstance(value, float) and math.isinf(value)):
        return None
    return value if isinstance(value, bool | int | float) else str(value)


def junit(report) -> str:
    """Return JUnit XML: a test case for each test that decides the verdict, with its answer; findings fail.

    What was not assessed, and a method that did not finish, is a skipped test case, or an error in a report without any
    test.
    """
    missed = [("not assessed", name, " ".join(reasons)) for name, reasons in report.not_assessed.items()]
    missed += [("not finished", method, reason) for method, reason in report.unfinished.items()]
    n_missed = len(missed)
    counts = {"failures": len(report.significant), "errors": 0 if report.n_tests else n_missed}
    counts |= {"tests": report.n_tests + n_missed, "skipped": n_missed if report.n_tests else 0}
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", name=f"fairlab audit of {report.provenance['model']}")
    for key, value in (counts | {"time": f"{report.seconds:.3f}"}).items():
        suite.set(key, str(value))
    properties = ElementTree.SubElement(suite, "properties")
    answers = ", ".join(f"{n} {answer}" for answer, n in report.answers.items())
    for key, value in ({"verdict": report.verdict, "answers": answers} | report.provenance).items():
        ElementTree.SubElement(properties, "property", name=key, value=str(value))
    for row in report.tested.itertuples():
        case = _test_case(suite, row.method, f"{row.who}, {row.where}: {row.effect}")
        if row.significant:
            text = f"{wording.line(row.finding)}. Next: {wording.next_step(row.measure)}"
            ElementTree.SubElement(
                case, "failure", message=f"p: {wording.p_value(row.p_value)}", type=row.measure
            ).text = text
        answer = (row.answer, wording.settled_by(row.people_needed))
        ElementTree.SubElement(case, "system-out").text = ": ".join(filter(None, answer))
    for what, name, reason in missed:
        kind = "skipped" if report.n_tests else "error"
        ElementTree.SubElement(_test_case(suite, what, name), kind, message=reason)
    ElementTree.indent(root)
    return legal(f"{XML}\n{ElementTree.tostring(root, encoding='unicode')}\n")


def model_card(report) -> str:
    """Return a model card: Markdown, with the verdict and where it comes from as YAML front matter."""
    front = {"model_name": report.provenance["model"], "fairness_verdict": report.verdict} | {
        "fairlab_audit": {key: value for key, value in report.provenance.items() if key != "model"}
    }
    limits = [
        *wording.reasons(report),
        *report.warnings,
        *(f"{method}: {reason}" for method, reason in report.skipped),
        "A finding shows where to look and does not prove discrimination; a lack of findings does not prove fairness.",
    ]
    parts = [
        "---\n" + yaml.safe_dump(front, sort_keys=False, allow_unicode=True) + "---",
        f"# Fairness of {_plain(report.provenance['model'])}",
        _plain(report.summary),
        "## Rates by group",
        *(_markdown(table.reset_index(names=free_name(name, table))) for name, table in report.groups.items()),
        "## Comparisons",
        _markdown(wording.comparisons(report.frame)),
        "## What to do next",
        "\n".join(
            f"- {_plain(finding.sentence or finding.effect)}. {wording.next_step(finding.measure)}"
            for finding in report.significant
        )
        or "This audit suggests no next step.",
        "## Limits",
        "\n".join(f"- {_plain(text)}" for text in limits),
    ]
    return legal("\n\n".join(parts) + "\n")


def _test_case(suite: ElementTree.Element, method: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=f"fairlab.{method}", name=name)


def _plain(text: str) -> str:
    """Return text that Markdown reads as text: no HTML, no markup, no table and no line of its own."""
    text = MARKUP.sub(r"\\\g<0>", text.replace("&", "&amp;").replace("<", "&lt;"))
    return " ".join(text.split())


def _markdown(frame: pd.DataFrame) -> str:
    """Return a table in Markdown."""
    rows = [frame.columns, ["---"] * frame.shape[1], *frame.itertuples(index=False)]
    texts = [[wording.number(each) if isinstance(each, float) else _plain(str(each)) for each in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in texts)
