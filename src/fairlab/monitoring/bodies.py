"""Rows from the body of a request: JSON, JSON lines, Parquet or an Arrow stream."""

import json
import struct
from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from fairlab.monitoring.registration import LONGEST_TEXT, MISFIT, RefusedError, error

MOST_ROWS = 30_000  # a query of SQLite takes 32,766 values
MOST_NAMES = 1_000  # of an object, or columns of a table
CODECS = {"UNCOMPRESSED", "SNAPPY"}  # others may inflate a thousandfold
JSON = "application/json"


def _refuse(constant: str):
    raise RefusedError(400, f"{constant} is no JSON")


def _object(pairs: list) -> dict:
    made = dict(pairs)
    if not len(made) == len(pairs) <= MOST_NAMES:
        raise RefusedError(400, f"a name occurs twice in an object, or there are more than {MOST_NAMES:,}")
    return made


def _read_json(body: bytes):
    """Return what JSON in UTF-8 says; NaN and infinity, and a name twice in an object, are refused."""
    return json.loads(body.decode(), object_pairs_hook=_object, parse_constant=_refuse)


def _read_lines(body: bytes) -> list:
    return [_read_json(line) for line in body.split(b"\n") if line and not line.isspace()]


def _read_parquet(body: bytes) -> list[dict]:
    """Return the rows of a Parquet file, uncompressed or with Snappy."""
    about = pq.read_metadata(pa.BufferReader(body))
    parts = [about.row_group(k).column(j) for k in range(about.num_row_groups) for j in range(about.num_columns)]
    codecs = {part.compression for part in parts}
    if not codecs <= CODECS:
        raise RefusedError(400, f"expected columns uncompressed or with Snappy, found {', '.join(sorted(codecs))}")
    leaves = [about.schema.column(k).path for k in range(about.num_columns)]
    file = pq.ParquetFile(pa.BufferReader(body), metadata=about, read_dictionary=leaves)
    return _from_batches(file.iter_batches(), file.schema_arrow.names)


def _read_arrow(body: bytes) -> list[dict]:
    """Return the rows of an Arrow IPC stream, uncompressed."""
    for message in pa.ipc.MessageReader.open_stream(pa.BufferReader(body)):
        if message.type != "schema" and _is_compressed(message):
            raise RefusedError(400, "expected an Arrow stream without compression")
    with pa.ipc.open_stream(pa.BufferReader(body)) as reader:
        return _from_batches(reader, reader.schema.names)


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


def _from_batches(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> list[dict]:
    if not len(set(names)) == len(names) <= MOST_NAMES:
        raise RefusedError(400, f"a column occurs twice, or there are more than {MOST_NAMES:,}")
    rows = []
    for batch in batches:
        batch.validate(full=True)
        for name, column in zip(names, batch.columns, strict=True):
            _check_values(name, column)
        rows += batch.slice(0, MOST_ROWS + 1 - len(rows)).to_pylist()  # one too many is enough to refuse them
    return rows


def _check_values(name: str, column: pa.Array) -> None:
    """Refuse nested values, and a long text: one that many rows share must not become many."""
    values = column.dictionary if pa.types.is_dictionary(column.type) else column
    is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    longest = (pa.compute.max(pa.compute.binary_length(values)).as_py() or 0) if is_text else 0
    is_plain = is_text or pa.types.is_primitive(values.type) or pa.types.is_null(values.type)
    if longest > 4 * LONGEST_TEXT or not is_plain:
        expected = f"expected numbers, booleans or texts of at most {LONGEST_TEXT} characters"
        raise RefusedError(422, MISFIT, [error(None, name, f"{expected}, found {values.type}")])


READERS = {
    JSON: _read_json,
    "application/x-ndjson": _read_lines,
    "application/vnd.apache.parquet": _read_parquet,
    "application/vnd.apache.arrow.stream": _read_arrow,
}


def read(kind: str, body: bytes):
    """Return what a body of some type holds; a RefusedError if it is none."""
    try:
        return READERS[kind](body)
    except (ValueError, RecursionError, pa.ArrowException, OSError, struct.error, IndexError) as problem:
        what = problem if isinstance(problem, json.JSONDecodeError) else type(problem).__name__
        raise RefusedError(400, f"expected {kind}, found something else: {what}") from None


def read_rows(kind: str, body: bytes) -> list:
    """Return the rows of a body of some type; a RefusedError if it is none."""
    rows = read(kind, body)
    if not isinstance(rows, list):
        raise RefusedError(400, f"expected a list of rows, found {type(rows).__name__}")
    if len(rows) > MOST_ROWS:
        raise RefusedError(400, f"expected at most {MOST_ROWS:,} rows a batch, found more")
    return rows
