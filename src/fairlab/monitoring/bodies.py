"""Rows from the body of a request: JSON, JSON lines, Parquet or an Arrow stream."""

import json
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq

from fairlab.monitoring.registration import LONGEST_TEXT, MISFIT, RefusedError, error, refuse

LONGEST_JSON = 2**20  # bytes of what is no rows
LONGEST_ROW = 2**18  # bytes of JSON; more than any row that fits has
# An object without others in it, whose memory its length bounds, and what is between rows.
FLAT = re.compile(rb'\{[^"{}\[\]]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"{}\[\]]*+)*+\}', re.DOTALL)
FIRST, NEXT, LAST = (re.compile(rb"[ \t\n\r]*%b[ \t\n\r]*" % of) for of in (rb"\[", b",", rb"\](?=[ \t\n\r]*\Z)"))
MOST_NAMES = 1_000  # of an object, or columns of a table
AT_ONCE = 100  # rows that are made of a table
JSON = "application/json"


def _refuse(constant: str):
    raise RefusedError(400, f"{constant} is no JSON")


def _object(pairs: list) -> dict:
    made = dict(pairs)
    refuse(
        not len(made) == len(pairs) <= MOST_NAMES,
        400,
        f"a name occurs twice in an object, or there are more than {MOST_NAMES:,}",
    )
    return made


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse)


def _json_rows(body: bytes) -> Iterator:
    """Yield the elements of a list; a long one is read no further than somebody asks for them."""
    if len(body) <= LONGEST_ROW:
        found = _DECODER.decode(body.decode())
        refuse(not isinstance(found, list), 400, f"expected a list of rows, found {type(found).__name__}")
        yield from found
    else:
        before, end = FIRST.match(body), 0
        while before and (row := FLAT.match(body, before.end(), before.end() + LONGEST_ROW)):
            yield _DECODER.decode(row[0].decode())
            end = row.end()
            before = NEXT.match(body, end)
        is_cut = before or not LAST.match(body, end)
        refuse(is_cut, 400, f"expected a list of rows of plain values, found something else at byte {end:,}")


def _line_rows(body: bytes) -> Iterator:
    for line in re.finditer(rb"[^\s][^\n]*", body):
        refuse(line.end() - line.start() > LONGEST_ROW, 400, f"expected lines of at most {LONGEST_ROW:,} bytes")
        yield _DECODER.decode(line[0].decode())


def _parquet_rows(body: bytes) -> Iterator[dict]:
    """Yield the rows of a Parquet file, uncompressed or with Snappy."""
    about = pq.read_metadata(pa.BufferReader(body))
    columns, groups = range(about.num_columns), range(about.num_row_groups)
    # Others may inflate a thousandfold.
    others = {about.row_group(k).column(j).compression for k in groups for j in columns} - {"UNCOMPRESSED", "SNAPPY"}
    refuse(others, 400, f"expected columns uncompressed or with Snappy, found {', '.join(sorted(others))}")
    leaves = [about.schema.column(k).path for k in columns]
    file = pq.ParquetFile(pa.BufferReader(body), metadata=about, read_dictionary=leaves)
    yield from _from_batches(file.iter_batches(), file.schema_arrow.names)


def _arrow_rows(body: bytes) -> Iterator[dict]:
    """Yield the rows of an Arrow IPC stream, uncompressed."""
    for message in pa.ipc.MessageReader.open_stream(pa.BufferReader(body)):
        refuse(
            message.type != "schema" and _is_compressed(message), 400, "expected an Arrow stream without compression"
        )
    with pa.ipc.open_stream(pa.BufferReader(body)) as reader:
        yield from _from_batches(reader, reader.schema.names)


def _is_compressed(message: pa.ipc.Message) -> bool:
    """Whether the buffers of a message would inflate; what is read of it is laid down in Arrow's Message.fbs."""
    data = message.metadata.to_pybytes()
    batch = _follow(data, _field(data, _follow(data, 0), 2))
    if message.type == "dictionary":
        batch = _follow(data, _field(data, batch, 1))
    return bool(_field(data, batch, 3))


def _field(data: bytes, table: int, number: int) -> int:
    """Return where a field of a table of FlatBuffers is; 0 if it is left out."""
    fields = table - struct.unpack_from("<i", data, table)[0]
    places = struct.unpack_from(f"<{struct.unpack_from('<H', data, fields)[0] // 2}H", data, fields)[2:]
    return table + places[number] if number < len(places) and places[number] else 0


def _follow(data: bytes, place: int) -> int:
    return place + struct.unpack_from("<I", data, place)[0]


def _from_batches(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> Iterator[dict]:
    """Yield rows; refused are nested values, and a long text: one that many rows share must not become many."""
    refuse(
        not len(set(names)) == len(names) <= MOST_NAMES,
        400,
        f"a column occurs twice, or there are more than {MOST_NAMES:,}",
    )
    for batch in batches:
        batch.validate(full=True)
        for name, column in zip(names, batch.columns, strict=True):
            values = column.dictionary if pa.types.is_dictionary(column.type) else column
            is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
            longest = (pa.compute.max(pa.compute.binary_length(values)).as_py() or 0) if is_text else 0
            is_plain = is_text or pa.types.is_primitive(values.type) or pa.types.is_null(values.type)
            if longest > 4 * LONGEST_TEXT or not is_plain:
                expected = f"expected numbers, booleans or texts of at most {LONGEST_TEXT} characters"
                raise RefusedError(422, MISFIT, [error(None, name, f"{expected}, found {values.type}")])
        for start in range(0, batch.num_rows, AT_ONCE):
            yield from batch.slice(start, AT_ONCE).to_pylist()


READERS = {
    JSON: _json_rows,
    "application/x-ndjson": _line_rows,
    "application/vnd.apache.parquet": _parquet_rows,
    "application/vnd.apache.arrow.stream": _arrow_rows,
}


@contextmanager
def _refusing(kind: str) -> Iterator[None]:
    """Refuse a body of some type that cannot be read."""
    try:
        yield
    except (ValueError, RecursionError, pa.ArrowException, OSError, struct.error, IndexError) as problem:
        what = problem if isinstance(problem, json.JSONDecodeError) else type(problem).__name__
        raise RefusedError(400, f"expected {kind}, found something else: {what}") from None


def read_json(kind: str, body: bytes):
    """Return what JSON in UTF-8 says; NaN, infinity and a name twice are none, and refused."""
    with _refusing(kind):
        refuse(len(body) > LONGEST_JSON, 413, f"expected at most {LONGEST_JSON:,} bytes, found more")
        return _DECODER.decode(body.decode())


def read_rows(kind: str, body: bytes) -> Iterator:
    """Yield the rows of a body of some type, read no further than they are wanted; a RefusedError if it is none."""
    with _refusing(kind):
        yield from READERS[kind](body)
