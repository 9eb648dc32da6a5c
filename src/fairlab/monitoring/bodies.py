"""JSON from the body of a request, and rows, which are parsed lazily."""

import json
import re
from collections.abc import Iterator

from fairlab.monitoring.registration import RefusedError, refuse

LONGEST_JSON = 2**20  # bytes of JSON other than rows
LONGEST_ROW = 2**18  # bytes of JSON; no valid row has more
# An object without nested ones, so that its length bounds its memory, and the separators of rows.
FLAT = re.compile(rb'\{[^"{}\[\]]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"{}\[\]]*+)*+\}', re.DOTALL)
FIRST, NEXT, LAST = (re.compile(rb"[ \t\n\r]*%b[ \t\n\r]*" % of) for of in (rb"\[", b",", rb"\](?=[ \t\n\r]*\Z)"))
MOST_NAMES = 1_000  # of an object


def _object(pairs: list) -> dict:
    made = dict(pairs)
    refuse(
        not len(made) == len(pairs) <= MOST_NAMES,
        400,
        f"a name occurs twice in an object, or there are more than {MOST_NAMES:,}",
    )
    return made


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=lambda constant: refuse(constant, 400, f"{constant} is not JSON")
)


def read_json(body: bytes):
    """Return the content of JSON in UTF-8; NaN, infinity and duplicate names are refused."""
    refuse(len(body) > LONGEST_JSON, 400, f"expected at most {LONGEST_JSON:,} bytes, found more")
    try:
        return _DECODER.decode(body.decode())
    except (ValueError, RecursionError) as problem:
        what = problem if isinstance(problem, json.JSONDecodeError) else type(problem).__name__
        raise RefusedError(400, f"expected JSON, found something else: {what}") from None


def read_rows(body: bytes) -> Iterator:
    """Yield the elements of a JSON list; a long list is parsed only as far as elements are taken."""
    if len(body) <= LONGEST_ROW:
        found = read_json(body)
        refuse(not isinstance(found, list), 400, f"expected a list of rows, found {type(found).__name__}")
        yield from found
    else:
        before, end = FIRST.match(body), 0
        while before and (row := FLAT.match(body, before.end(), before.end() + LONGEST_ROW)):
            yield read_json(row[0])
            end = row.end()
            before = NEXT.match(body, end)
        is_cut = before or not LAST.match(body, end)
        refuse(is_cut, 400, f"expected a list of rows of plain values, found something else at byte {end:,}")
