"""List the numbers of a paper's text that no row of its published.yaml holds.

python data_scripts/list_numbers.py PAPER TEXT [--all]

TEXT is a plain-text copy of the paper, which is no part of the project. Each line of the output has a number, the row
that holds it or the reason why none does (``unlisted_numbers.yaml`` beside this file), and the text around it. A row
holds a number if it has the same value, or a hundred times or a hundredth of it, up to the sign; whole numbers below
ten, which occur in any table, need a reason of their own. The program ends with the number of open ones, without row or
reason.

--all   also show the numbers that have a row or a reason
"""

import re
import sys
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import yaml

from fairlab.suite.published import Paper, load_paper

NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]\d+)?(?!\w*\d)")
REASONS = Path(__file__).with_name("unlisted_numbers.yaml")
SMALL = 10  # whole numbers below are not looked up among the rows
CONTEXT = 50  # characters on either side


class Mention(NamedTuple):
    """A number of a text: as written, its row or reason (empty if it has neither), and the text around it."""

    number: str
    row: str
    reason: str
    context: str


def list_numbers(text: str, paper: Paper, reasons: Iterable[dict]) -> list[Mention]:
    """Return every number of a text in its order.

    Parameters
    ----------
    text : str
    paper : Paper
    reasons : iterable of dict
        Each with ``reason`` and ``patterns``, regular expressions: numbers within a match need no row.
    """
    rows = rows_by_number(paper)
    explained = [
        (match.span(), group["reason"])
        for group in reasons
        for pattern in group["patterns"]
        for match in re.finditer(pattern, text, re.MULTILINE)
    ]
    found = []
    for match in NUMBER.finditer(text):
        start, end = match.span()
        number = Decimal(match[0].replace(",", ""))
        is_small = number < SMALL and "." not in match[0]
        row = "" if is_small else rows.get(number, "")
        reason = next((why for (first, last), why in explained if first <= start and end <= last), "")
        context = " ".join(text[max(start - CONTEXT, 0) : end + CONTEXT].split())
        found.append(Mention(match[0], row, reason, context))
    return found


def rows_by_number(paper: Paper) -> dict[Decimal, str]:
    """Return a row for each published number, for a hundred times and for a hundredth of it, without signs."""
    rows = {}
    for artefact in paper.artefacts.values():
        for value in artefact.values.values():
            for part in (value.printed_value, value.printed_low, value.printed_high, value.printed_std, value.n):
                if part is not None:
                    size = abs(Decimal(part))
                    for number in (size, 100 * size, size / 100):
                        rows.setdefault(number, f"{artefact.id}:{value.id}")
    return rows


def main(arguments: list[str]) -> int:
    """Print the list; return 1 if a number is open, else 0."""
    key, path = (argument for argument in arguments if not argument.startswith("--"))
    reasons = yaml.safe_load(REASONS.read_text(encoding="utf-8"))
    mentions = list_numbers(Path(path).read_text(encoding="utf-8"), load_paper(key), reasons[key] + reasons["all"])
    open_ones = [mention for mention in mentions if not mention.row and not mention.reason]
    for mention in mentions if "--all" in arguments else open_ones:
        print(f"{mention.number:>12}  {mention.row or mention.reason or 'OPEN'}: {mention.context}")
    print(f"{key}: {len(mentions)} numbers, {len(open_ones)} open")
    return int(bool(open_ones))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
