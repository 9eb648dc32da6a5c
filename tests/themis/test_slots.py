import numpy as np
import pytest

from fairlab.cases import Schema
from fairlab.themis import memory
from fairlab.themis.slots import IS_COMPILED, find


def test_equal_keys_get_one_number_and_new_ones_the_next_and_a_slot():
    rng = np.random.default_rng(0)
    asked, slots = rng.integers(40, size=100), np.full(64, -1, dtype=np.int32)
    places = rng.integers(64, size=40)[asked]  # equal keys are looked for from the same place, others may be, too
    keys, expected = np.full(100, -1), {}
    for start, stop in ((0, 30), (30, 100)):
        is_first = [key not in {*expected, *asked[start:row]} for row, key in enumerate(asked[:stop]) if row >= start]
        for key in asked[start:stop].tolist():
            expected.setdefault(key, len(expected))
        before = len(set(asked[:start].tolist()))
        numbers, is_new = find(slots, keys, before, asked[start:stop], places[start:stop])
        assert numbers.tolist() == [expected[key] for key in asked[start:stop].tolist()]
        assert is_new.tolist() == is_first
    assert keys[: len(expected)].tolist() == list(expected) and (keys[len(expected) :] == -1).all()
    assert sorted(slots[slots >= 0].tolist()) == list(range(len(expected)))


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
