import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlab.cases import Schema
from fairlab.themis import memory as themis_memory
from fairlab.themis.memory import Memory

SCHEMA = Schema.from_dict({"sex": ["Male", "Female"], "age": {"low": 18, "high": 20}})
HUGE = Schema.from_dict({f"x{i}": range(1000) for i in range(8)})  # 10**24 inputs, more than 64 bits can number


@pytest.mark.parametrize("schema", [Schema.from_dict({f"x{i}": range(4) for i in range(3)}), HUGE])
@settings(max_examples=30, deadline=None)
@given(blocks=st.lists(st.integers(1, 60), min_size=1, max_size=60), seed=st.integers(0, 100))
def test_memory_never_runs_an_input_twice(schema, blocks, seed):
    rng, seen = np.random.default_rng(seed), []

    def program(inputs):
        seen.extend(map(tuple, inputs.to_numpy().tolist()))
        return inputs.sum(axis=1).to_numpy() % 2

    memory = Memory(program, schema)
    pool = schema.sample_codes(900, random_state=rng)
    asked = []
    for block in blocks:
        codes = pool[rng.integers(len(pool), size=block)]
        assert (memory(codes) == codes.sum(axis=1) % 2).all()
        asked.append(codes)
    distinct = np.unique(np.concatenate(asked), axis=0)
    assert len(seen) == len(set(seen)) == memory.runs == len(distinct)
    codes, outputs = memory.contents()
    assert (codes == distinct).all()
    assert (outputs == codes.sum(axis=1) % 2).all()


def test_memory_keeps_other_outputs_as_they_are():
    memory = Memory(lambda inputs: inputs["sex"].str.upper().to_numpy(), SCHEMA, binary=False)
    assert memory(np.array([[1, 0], [1, 0]])).tolist() == ["FEMALE", "FEMALE"]
    assert memory(np.array([[0, 0], [1, 0]])).tolist() == ["MALE", "FEMALE"]


def test_empty_memory():
    codes, outputs = Memory(lambda inputs: 0, SCHEMA).contents()
    assert (codes.shape, outputs.shape) == ((0, 2), (0,))


@pytest.mark.parametrize("schema", [Schema.from_dict({f"x{i}": range(50) for i in range(3)}), HUGE])
def test_inputs_that_the_software_failed_on_are_run_again(schema):
    def program(inputs):
        if broken:
            raise RuntimeError("no answer")
        return inputs["x0"].to_numpy() % 2

    memory, codes, broken = Memory(program, schema), schema.sample_codes(5000, random_state=0), False
    memory(codes[:2000])
    known, broken = memory.runs, True
    with pytest.raises(RuntimeError, match="no answer"):
        memory(codes)
    assert memory.runs == known
    assert (memory(codes[:2000]) == codes[:2000, 0] % 2).all(), "what is known needs no software"
    broken = False
    assert (memory(codes) == codes[:, 0] % 2).all()
    assert memory.runs == len(np.unique(codes, axis=0))


@pytest.mark.parametrize("schema", [Schema.from_dict({f"x{i}": range(50) for i in range(3)}), HUGE])
@pytest.mark.parametrize("place", ["_run", "_longer"])
def test_a_memory_that_was_interrupted_is_right_when_it_is_asked_again(schema, place, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    memory = Memory(lambda inputs: inputs["x0"].to_numpy() % 2, schema)
    codes = schema.sample_codes(30_000, random_state=0)
    memory(codes[:9_000])
    for n in (300, 20_000):  # by arrays, and by the compiled loop
        with monkeypatch.context() as only_here, pytest.raises(KeyboardInterrupt):
            only_here.setattr(Memory if place == "_run" else themis_memory, place, interrupt)
            memory(codes[9_000 : 9_000 + n])
            memory(codes[29_000:])
    assert (memory(codes[::-1]) == codes[::-1, 0] % 2).all()
    assert memory.runs == len(np.unique(codes, axis=0))
    assert memory.contents()[0].shape == (memory.runs, len(schema.sizes))


def test_it_says_for_which_inputs_the_software_was_run():
    memory = Memory(lambda inputs: inputs["age"].to_numpy() == 19, SCHEMA)
    memory(np.array([[1, 1]]))
    outputs, is_new = memory.ask(np.array([[0, 0], [1, 1], [0, 1], [0, 0]]))
    assert outputs.tolist() == [False, True, True, False]
    assert is_new.tolist() == [True, False, True, False]


def test_memory_grows_also_where_many_inputs_want_the_last_slots(monkeypatch):
    schema = Schema.from_dict({f"x{i}": range(50) for i in range(3)})
    monkeypatch.setattr(Memory, "_places", lambda self, keys: np.maximum(len(self._slots) - 1 - keys % 3, 0))
    memory, codes = Memory(lambda inputs: inputs["x0"].to_numpy() % 2, schema), schema.sample_codes(500)
    distinct = len(np.unique(codes, axis=0))
    for known in (400, 500, 500):  # makes room before it runs the last hundred
        assert (memory(codes[:known]) == codes[:known, 0] % 2).all()
    assert memory.runs == distinct
