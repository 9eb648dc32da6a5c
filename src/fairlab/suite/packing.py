"""Serialisation of plain data, which a trial may return, as text and arrays without code.

Plain data are numbers, strings, arrays and tables, also in dictionaries, lists and tuples. A value becomes a JSON tree,
in which everything except numbers, strings and lists is ``{kind: content}``, and the bytes of its arrays.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

KINDS = "biufcSUMm"  # of NumPy's types: all whose bytes are the value
PLAIN = (bool, int, float, str, type(None))


def pack(value, where: str = "result") -> tuple[object, list[bytes]]:
    """Return the tree of a value and the bytes of its arrays.

    Raises
    ------
    TypeError
        If something in it is not plain data; the message says where.
    """
    buffers = []
    return _pack(value, where, buffers), buffers


def unpack(tree, buffers: list) -> object:
    """Return the value of a tree and of the bytes of its arrays, which stay where they are."""
    if isinstance(tree, PLAIN):
        return tree
    if isinstance(tree, list):
        return [unpack(part, buffers) for part in tree]
    [(kind, content)] = tree.items()
    return _UNPACK[kind](content, buffers)


def _pack(value, where, buffers):
    if type(value) in PLAIN:
        return value
    if type(value) is list:
        return [_pack(part, f"{where}[{k}]", buffers) for k, part in enumerate(value)]
    if type(value) is tuple:
        return {"tuple": _pack(list(value), where, buffers)}
    if isinstance(value, Mapping):
        parts = [_pack(part, f"{where}[{key!r}]", buffers) for key, part in value.items()]
        return {"dict": [_pack(list(value), f"keys of {where}", buffers), parts]}
    for kind, form in _PACK.items():
        if isinstance(value, kind):
            return form(value, where, buffers)
    raise TypeError(f"{where}, a {type(value).__name__}")


def _keep(content: bytes, buffers) -> int:
    """Store the bytes of an array and return their index."""
    buffers.append(content)
    return len(buffers) - 1


def _pack_array(value, where, buffers):
    if type(value) is not np.ndarray or value.dtype.kind not in KINDS:
        raise TypeError(f"{where}, a {type(value).__name__} of {value.dtype}")
    order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
    return {"array": [value.dtype.str, list(value.shape), order, _keep(value.tobytes(order), buffers)]}


def _unpack_array(content, buffers):
    dtype, shape, order, number = content
    return np.frombuffer(buffers[number], np.dtype(dtype)).reshape(shape, order=order)


def _pack_scalar(value, where, buffers):
    if value.dtype.kind not in KINDS:
        raise TypeError(f"{where}, a {type(value).__name__}")
    return {"scalar": _pack_array(np.array(value), where, buffers)}


def _pack_timestamp(value, where, buffers):
    return {"timestamp": [value.isoformat(), value.unit, None if value.tz is None else str(value.tz)]}


def _unpack_timestamp(content, buffers):
    text, unit, zone = content
    stamp = pd.Timestamp(text).as_unit(unit)
    return stamp if zone is None else stamp.tz_convert(zone)


def _pack_values(values, where, buffers):
    """Pack the values of a column or an index."""
    if isinstance(values, np.ndarray) and values.dtype.kind in KINDS:
        return _pack_array(values, where, buffers)
    if isinstance(values, pd.Categorical):
        categories = _pack(values.categories, where, buffers)
        return {"categories": [_pack_array(values.codes, where, buffers), categories, bool(values.ordered)]}
    return {"values": [str(values.dtype), _pack(list(values), where, buffers)]}


def _unpack_values(content, buffers):
    dtype, parts = content
    parts = unpack(parts, buffers)
    if dtype != "object":
        return pd.array(parts, dtype=dtype)
    values = np.empty(len(parts), dtype=object)
    for k, part in enumerate(parts):  # one by one: lists and tuples are not to become rows
        values[k] = part
    return values


def _unpack_categories(content, buffers):
    codes, categories, ordered = content
    return pd.Categorical.from_codes(unpack(codes, buffers), unpack(categories, buffers), ordered=ordered)


def _pack_index(index, where, buffers):
    names = _pack(list(index.names), where, buffers)
    if isinstance(index, pd.RangeIndex):
        return {"range": [index.start, index.stop, index.step, names]}
    if isinstance(index, pd.MultiIndex):
        levels = [_pack(level, where, buffers) for level in index.levels]
        return {"levels": [levels, [_pack_array(np.asarray(codes), where, buffers) for codes in index.codes], names]}
    return {"index": [_pack_values(index.array if _is_extended(index) else index.to_numpy(), where, buffers), names]}


def _is_extended(column) -> bool:
    return isinstance(column.dtype, pd.api.extensions.ExtensionDtype)


def _unpack_range(content, buffers):
    start, stop, step, names = content
    return pd.RangeIndex(start, stop, step, name=unpack(names, buffers)[0])


def _unpack_levels(content, buffers):
    levels, codes, names = (unpack(part, buffers) for part in content)
    return pd.MultiIndex(levels, codes, names=names)


def _unpack_index(content, buffers):
    values, names = (unpack(part, buffers) for part in content)
    return pd.Index(values, dtype=values.dtype, name=names[0], tupleize_cols=False)


def _pack_column(column, where, buffers):
    return _pack_values(column.array if _is_extended(column) else column.to_numpy(), where, buffers)


def _pack_series(value, where, buffers):
    name = _pack(value.name, where, buffers)
    return {"series": [_pack(value.index, where, buffers), _pack_column(value, where, buffers), name]}


def _unpack_series(content, buffers):
    index, values, name = (unpack(part, buffers) for part in content)
    return pd.Series(values, index=index, dtype=values.dtype, name=name)


def _pack_table(value, where, buffers):
    labels = [_pack(value.index, where, buffers), _pack(value.columns, where, buffers)]
    [dtype, *others] = set(value.dtypes) or {None}
    if not others and isinstance(dtype, np.dtype) and dtype.kind in KINDS:
        return {"matrix": [*labels, _pack_array(value.to_numpy().T, where, buffers)]}  # a column's numbers in a row
    return {"table": [*labels, [_pack_column(column, f"{where}[{name!r}]", buffers) for name, column in value.items()]]}


def _unpack_matrix(content, buffers):
    index, columns, values = (unpack(part, buffers) for part in content)
    return pd.DataFrame(values.T, index=index, columns=columns, copy=False)


def _unpack_table(content, buffers):
    index, columns, parts = (unpack(part, buffers) for part in content)
    # Text among objects would become another type.
    series = {
        k: pd.Series(part, index=index, dtype=object) if part.dtype == object else part for k, part in enumerate(parts)
    }
    return pd.DataFrame(series, index=index).set_axis(columns, axis=1)


_PACK = {
    bytes: lambda value, where, buffers: {"bytes": _keep(value, buffers)},
    np.ndarray: _pack_array,
    np.generic: _pack_scalar,
    complex: lambda value, where, buffers: {"complex": [value.real, value.imag]},
    pd.Timestamp: _pack_timestamp,
    type(pd.NA): lambda value, where, buffers: {"missing": None},
    type(pd.NaT): lambda value, where, buffers: {"no time": None},
    pd.Index: _pack_index,
    pd.Series: _pack_series,
    pd.DataFrame: _pack_table,
}
_UNPACK = {
    "tuple": lambda content, buffers: tuple(unpack(content, buffers)),
    "dict": lambda content, buffers: dict(zip(*(unpack(part, buffers) for part in content), strict=True)),
    "bytes": lambda content, buffers: bytes(buffers[content]),
    "array": _unpack_array,
    "scalar": lambda content, buffers: unpack(content, buffers)[()],
    "complex": lambda content, buffers: complex(*content),
    "timestamp": _unpack_timestamp,
    "missing": lambda content, buffers: pd.NA,
    "no time": lambda content, buffers: pd.NaT,
    "values": _unpack_values,
    "categories": _unpack_categories,
    "range": _unpack_range,
    "levels": _unpack_levels,
    "index": _unpack_index,
    "series": _unpack_series,
    "matrix": _unpack_matrix,
    "table": _unpack_table,
}
