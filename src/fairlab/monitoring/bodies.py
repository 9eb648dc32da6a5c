"""Rows from the body of a request: JSON, JSON lines, Parquet or an Arrow stream."""

import json
import struct
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from fairlab.monitoring.registration import LONGEST_TEXT, RowsError, as_columns, error

MOST_ROWS = 50_000
CODECS = {"UNCOMPRESSED", "SNAPPY"}  # others may inflate a thousandfold
RECORD_BATCH, DICTIONARY_BATCH = 3, 2  # kinds of messages of Arrow


class BodyError(ValueError):
    """A body that cannot be read."""


def read_json(body: bytes):
    """Return what JSON says; a BodyError for NaN and infinity, a name twice in an object, or bad encoding."""
    return _decoded(body, _DECODER.decode)


def _decoded(body: bytes, decode: Callable):
    try:
        return decode(body.decode())
    except (ValueError, RecursionError) as problem:
        what = str(problem) if isinstance(problem, json.JSONDecodeError | BodyError) else type(problem).__name__
        raise BodyError(f"expected JSON in UTF-8, found something else: {what}") from None


def _refuse(constant: str):
    raise BodyError(f"{constant} is no JSON")


def _object(pairs: list) -> dict:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise BodyError("a name occurs twice in an object")
    return made


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse)


def _lines(text: str) -> list:
    return [_DECODER.decode(line) for line in text.split("\n") if line and not line.isspace()]


def from_json(body: bytes, required, optional) -> dict[str, list]:
    """Return the columns of a list of objects."""
    return _columns(read_json(body), required, optional)


def from_json_lines(body: bytes, required, optional) -> dict[str, list]:
    """Return the columns of objects, one a line."""
    return _columns(_decoded(body, _lines), required, optional)


def _columns(rows, required, optional) -> dict[str, list]:
    if not isinstance(rows, list):
        raise BodyError(f"expected a list of rows, found {type(rows).__name__}")
    _check_number(len(rows))
    if strange := [number for number, row in enumerate(rows) if not isinstance(row, dict)]:
        raise RowsError(error(number, "", "expected an object") for number in strange)
    return as_columns(rows, required, optional) if rows else {name: [] for name in [*required, *optional]}


def _check_number(n_rows: int) -> None:
    if n_rows > MOST_ROWS:
        raise BodyError(f"expected at most {MOST_ROWS:,} rows a batch, found {n_rows:,}")


def from_parquet(body: bytes, required, optional) -> dict[str, list]:
    """Return the columns of a Parquet file, uncompressed or with Snappy."""
    try:
        about = pq.read_metadata(pa.BufferReader(body))
        _check_number(about.num_rows)
        groups = [about.row_group(k) for k in range(about.num_row_groups)]
        codecs = {group.column(j).compression for group in groups for j in range(group.num_columns)}
        if not codecs <= CODECS:
            raise BodyError(f"expected columns uncompressed or with Snappy, found {', '.join(sorted(codecs))}")
        leaves = [about.schema.column(k).path for k in range(about.num_columns)]
        file = pq.ParquetFile(pa.BufferReader(body), metadata=about, read_dictionary=leaves)
        return _from_batches(file.iter_batches(), file.schema_arrow.names, required, optional)
    except (pa.ArrowException, OSError) as problem:
        raise BodyError(f"expected a Parquet file, found something else ({type(problem).__name__})") from None


def from_arrow(body: bytes, required, optional) -> dict[str, list]:
    """Return the columns of an Arrow IPC stream, uncompressed."""
    try:
        _check_uncompressed(pa.BufferReader(body))
        with pa.ipc.open_stream(pa.BufferReader(body)) as reader:
            return _from_batches(reader, reader.schema.names, required, optional)
    except (pa.ArrowException, OSError, struct.error, IndexError) as problem:
        raise BodyError(f"expected an Arrow stream, found something else ({type(problem).__name__})") from None


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
            raise BodyError("expected an Arrow stream without compression")


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


def _from_batches(batches, names: Sequence[str], required, optional) -> dict[str, list]:
    if len(set(names)) < len(names):
        raise BodyError("a column occurs twice")
    as_columns([dict.fromkeys(names)], required, optional)  # refuses what is missing or not registered
    columns, n_rows = {name: [] for name in [*required, *optional]}, 0
    for batch in batches:
        n_rows += batch.num_rows
        _check_number(n_rows)
        batch.validate(full=True)
        for name, column in zip(names, batch.columns, strict=True):
            columns[name] += _values(name, column)
    return {name: values if name in names else [None] * n_rows for name, values in columns.items()}


def _values(name: str, column: pa.Array) -> list:
    texts = column.dictionary if pa.types.is_dictionary(column.type) else column
    if pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type):
        # One long text that many rows share must not become many.
        if (pa.compute.max(pa.compute.binary_length(texts)).as_py() or 0) > 4 * LONGEST_TEXT:
            raise RowsError([error(None, name, f"expected texts of at most {LONGEST_TEXT} characters")])
    elif not (pa.types.is_primitive(texts.type) or pa.types.is_null(texts.type)):
        raise RowsError([error(None, name, f"expected texts, numbers or booleans, found {texts.type}")])
    return column.to_pylist()


READERS = {
    "application/json": from_json,
    "application/x-ndjson": from_json_lines,
    "application/vnd.apache.parquet": from_parquet,
    "application/vnd.apache.arrow.stream": from_arrow,
}
