"""Reading stored networks: checkpoints of TensorFlow, without TensorFlow.

A checkpoint is a file of raw numbers and an index: a sorted table of blocks (as in LevelDB, not compressed) that
gives for each name its type, shape, offset and size in Protocol Buffers.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

FLOAT = 1  # of TensorFlow's types
MAGIC = bytes.fromhex("57fb808b247547db")
FOOTER = 48  # bytes at the end of the table


def read_tensor(index: Path, name: str) -> np.ndarray:
    """Return the tensor of floats that a checkpoint holds under a name.

    Parameters
    ----------
    index : Path
        The file that ends in ``.index``; the numbers lie beside it, in one file.
    name : str

    Raises
    ------
    ValueError
        If the file is no index, or holds no floats under the name.
    """
    entry = _fields(dict(_table(index.read_bytes())).get(name.encode(), b""))
    if entry.get(1) != [FLOAT]:
        raise ValueError(f"{index.name}: expected floats named {name!r}")
    sizes = _fields(entry[2][0]).get(2, []) if 2 in entry else []
    shape = [_fields(size).get(1, [0])[0] for size in sizes]
    numbers = index.with_suffix(".data-00000-of-00001").read_bytes()
    start, size = (entry.get(field, [0])[0] for field in (4, 5))
    return np.frombuffer(numbers[start : start + size], dtype="<f4").reshape(shape)


def _table(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values of a sorted table."""
    if len(content) < FOOTER or content[-len(MAGIC) :] != MAGIC:
        raise ValueError("expected the index of a checkpoint")
    place = len(content) - FOOTER
    for _ in range(2):  # skips the place of the metadata block
        _, place = _number(content, place)
    for _, handle in _block(content, *_handle(content, place)):
        yield from _block(content, *_handle(handle, 0))


def _handle(content, place) -> tuple[int, int]:
    offset, place = _number(content, place)
    return offset, _number(content, place)[0]


def _block(content, offset, size) -> Iterator[tuple[bytes, bytes]]:
    """Yield the entries of a block; each key shares its beginning with the one before."""
    if content[offset + size]:
        raise ValueError("expected an index that is not compressed")
    block = content[offset : offset + size]
    end = size - 4 - 4 * int.from_bytes(block[-4:], "little")
    place, key = 0, b""
    while place < end:
        shared, place = _number(block, place)
        own, place = _number(block, place)
        length, place = _number(block, place)
        key = key[:shared] + block[place : place + own]
        yield key, block[place + own : place + own + length]
        place += own + length


def _fields(message: bytes) -> dict[int, list]:
    """Return the values of a Protocol Buffers message by field number: integers and bytes."""
    found, place = {}, 0
    while place < len(message):
        tag, place = _number(message, place)
        kind = tag & 7
        if kind == 0:
            value, place = _number(message, place)
        else:
            length, place = _number(message, place) if kind == 2 else ({1: 8, 5: 4}[kind], place)
            value, place = message[place : place + length], place + length
        found.setdefault(tag >> 3, []).append(value)
    return found


def _number(content: bytes, place: int) -> tuple[int, int]:
    """Return an integer encoded with seven bits a byte, and the position after it."""
    value = shift = 0
    while True:
        byte = content[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
