import numpy as np
import pytest

from fairlab.cases import Schema
from fairlab.themis import memory
from fairlab.themis.slots import IS_COMPILED, find


def test_equal_keys_get_the_number_of_the_first_and_new_ones_a_slot():
    rng = np.random.default_rng(0)
    keys, slots = rng.integers(40, size=100), np.full(64, -1, dtype=np.int32)
    places = rng.integers(64, size=40)[keys]  # equal keys are looked for from the same place, others may be, too
    first = {key: number for number, key in reversed(list(enumerate(keys.tolist())))}
    for start in (0, 60):
        stop = start + 60 if not start else 100
        some = places[start:stop].copy()
        assert find(slots, keys, start, some).tolist() == [first[key] for key in keys[start:stop].tolist()]
        assert slots[some].tolist() == [first[key] for key in keys[start:stop].tolist()]
    assert sorted(slots[slots >= 0].tolist()) == sorted(first.values())


@pytest.mark.skipif(not IS_COMPILED, reason="numba is not installed")
def test_a_memory_is_the_same_with_and_without_the_compiled_loop(monkeypatch):
    schema = Schema.from_dict({"a": range(30), "b": range(30), "c": range(30)})
    rng, asked = np.random.default_rng(1), []

    def program(rows):
        asked.append(len(rows))
        return (rows["a"] + rows["b"]) % 2 == 0

    monkeypatch.setattr(memory, "LARGE", 10**9)
    by_arrays = memory.Memory(program, schema)
    by_loop = memory.Memory(program, schema)
    for _ in range(4):
        codes = rng.integers(30, size=(6_000, 3))
        expected = by_arrays.ask(codes)
        with monkeypatch.context() as only_here:
            only_here.setattr(memory, "LARGE", 1)
            found = by_loop.ask(codes)
        assert all((one == other).all() for one, other in zip(expected, found, strict=True))
    assert by_arrays.runs == by_loop.runs == len({tuple(row) for row in by_loop.contents()[0].tolist()})
    assert sum(asked) == 2 * by_loop.runs
