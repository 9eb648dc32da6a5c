"""Rows from the body of a request: JSON, JSON lines, Parquet or an Arrow stream."""

import json
import struct
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from fairlab.monitoring.registration import LONGEST_TEXT, MISFIT, RefusedError, error

MOST_ROWS = 50_000
MOST_NAMES = 1_000  # of an object, or columns of a table
CODECS = {"UNCOMPRESSED", "SNAPPY"}  # others may inflate a thousandfold
RECORD_BATCH, DICTIONARY_BATCH = 3, 2  # kinds of messages of Arrow


def read_json(body: bytes):
    """Return what JSON says; a RefusedError for NaN and infinity, a name twice in an object, or bad encoding."""
    return _decoded(body, _DECODER.decode)


def _decoded(body: bytes, decode: Callable):
    try:
        return decode(body.decode())
    except (ValueError, RecursionError) as problem:
        what = problem if isinstance(problem, json.JSONDecodeError) else type(problem).__name__
        raise RefusedError(400, f"expected JSON in UTF-8, found something else: {what}") from None


def _refuse(constant: str):
    raise RefusedError(400, f"{constant} is no JSON")


def _object(pairs: list) -> dict:
    made = dict(pairs)
    if not len(made) == len(pairs) <= MOST_NAMES:
        raise RefusedError(400, f"a name occurs twice in an object, or there are more than {MOST_NAMES:,}")
    return made


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse)


def _read_lines(body: bytes) -> list:
    return _decoded(
        body, lambda text: [_DECODER.decode(line) for line in text.split("\n") if line and not line.isspace()]
    )


def _read_parquet(body: bytes) -> list[dict]:
    """Return the rows of a Parquet file, uncompressed or with Snappy."""
    about = pq.read_metadata(pa.BufferReader(body))
    _check_number(about.num_rows)
    groups = [about.row_group(k) for k in range(about.num_row_groups)]
    codecs = {group.column(j).compression for group in groups for j in range(group.num_columns)}
    if not codecs <= CODECS:
        raise RefusedError(400, f"expected columns uncompressed or with Snappy, found {', '.join(sorted(codecs))}")
    leaves = [about.schema.column(k).path for k in range(about.num_columns)]
    file = pq.ParquetFile(pa.BufferReader(body), metadata=about, read_dictionary=leaves)
    return _from_batches(file.iter_batches(), file.schema_arrow.names)


def _read_arrow(body: bytes) -> list[dict]:
    """Return the rows of an Arrow IPC stream, uncompressed."""
    _check_uncompressed(pa.BufferReader(body))
    with pa.ipc.open_stream(pa.BufferReader(body)) as reader:
        return _from_batches(reader, reader.schema.names)


def _check_uncompressed(stream: pa.BufferReader) -> None:
    """Refuse buffers that would inflate; what is read of a message is laid down in Arrow's Message.fbs."""
    for message in pa.ipc.MessageReader.open_stream(stream):
        data = message.metadata.to_pybytes()
        table = struct.unpack_from("<I", data)[0]
        kind = _field(data, table, 1)
        kind = data[kind] if kind else 0
        if kind not in (RECORD_BATCH, DICTIONARY_BATCH):
            continue
        batch = _follow(data, _field(data, table, 2))
        if kind == DICTIONARY_BATCH:
            batch = _follow(data, _field(data, batch, 1))
        if _field(data, batch, 3):
            raise RefusedError(400, "expected an Arrow stream without compression")


def _field(data: bytes, table: int, number: int) -> int:
    """Return where a field of a table of FlatBuffers is; 0 if it is left out."""
    fields = table - struct.unpack_from("<i", data, table)[0]
    place = 4 + 2 * number
    offset = (
        struct.unpack_from("<H", data, fields + place)[0] if place < struct.unpack_from("<H", data, fields)[0] else 0
    )
    return table + offset if offset else 0


def _follow(data: bytes, place: int) -> int:
    return place + struct.unpack_from("<I", data, place)[0]


def _from_batches(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> list[dict]:
    if not len(set(names)) == len(names) <= MOST_NAMES:
        raise RefusedError(400, f"a column occurs twice, or there are more than {MOST_NAMES:,}")
    rows = []
    for batch in batches:
        _check_number(len(rows) + batch.num_rows)
        batch.validate(full=True)
        for name, column in zip(names, batch.columns, strict=True):
            _check_values(name, column)
        rows += batch.to_pylist()
    return rows


def _check_values(name: str, column: pa.Array) -> None:
    texts = column.dictionary if pa.types.is_dictionary(column.type) else column
    if pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type):
        # One long text that many rows share must not become many.
        if (pa.compute.max(pa.compute.binary_length(texts)).as_py() or 0) > 4 * LONGEST_TEXT:
            raise RefusedError(422, MISFIT, [error(None, name, f"expected texts of at most {LONGEST_TEXT} characters")])
    elif not (pa.types.is_primitive(texts.type) or pa.types.is_null(texts.type)):
        reason = f"expected texts, numbers or booleans, found {texts.type}"
        raise RefusedError(422, MISFIT, [error(None, name, reason)])


def _check_number(n_rows: int) -> None:
    if n_rows > MOST_ROWS:
        raise RefusedError(400, f"expected at most {MOST_ROWS:,} rows a batch, found {n_rows:,}")


READERS = {
    "application/json": read_json,
    "application/x-ndjson": _read_lines,
    "application/vnd.apache.parquet": _read_parquet,
    "application/vnd.apache.arrow.stream": _read_arrow,
}


def read_rows(kind: str, body: bytes) -> list:
    """Return the rows of a body of some type; a RefusedError if it is none."""
    try:
        rows = READERS[kind](body)
    except (pa.ArrowException, OSError, struct.error, IndexError) as problem:
        raise RefusedError(400, f"expected {kind}, found something else ({type(problem).__name__})") from None
    if not isinstance(rows, list):
        raise RefusedError(400, f"expected a list of rows, found {type(rows).__name__}")
    _check_number(len(rows))
    return rows
