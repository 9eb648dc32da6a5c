import time

import numpy as np
import pandas as pd
import pytest

from fairlab.cases import Schema
from fairlab.themis import CommandSoftware, SoftwareError
from fairlab.themis.software import BATCH, run

SCHEMA = Schema.from_dict({"sex": ["Male", "Female"], "age": {"low": 18, "high": 20}})


@pytest.fixture
def command(tmp_path):
    """Write a shell script and return it as software."""

    def make(script, **options):
        path = tmp_path / "program.sh"
        path.write_text(script)
        return CommandSoftware(["sh", str(path)], **options)

    return make


def test_command_gets_the_values_in_the_order_of_the_schema(command):
    program = command('[ "$1" = Male ] && [ "$2" -ge 19 ] && echo " 1 " || echo 0')
    codes = SCHEMA.assignments((0, 1))
    assert run(program, SCHEMA, codes).tolist() == [False, True, True, False, False, False]


def test_command_that_prints_words(command):
    program = command('[ "$2" = 20 ] && echo yes || echo no', true="yes", false="no")
    assert run(program, SCHEMA, SCHEMA.assignments((0, 1))).tolist() == [False, False, True] * 2
    lenient = command('[ "$2" = 20 ] && echo yes || echo perhaps', true="yes", false=None)
    assert run(lenient, SCHEMA, SCHEMA.assignments((0, 1))).tolist() == [False, False, True] * 2


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ('[ "$2" = 19 ] && { echo broken >&2; exit 3; }; echo 1', "failed on input Male 19: status 3: broken"),
        ('[ "$2" = 19 ] && echo perhaps || echo 0', "failed on input Male 19: printed 'perhaps', expected '1' or '0'"),
        ('[ "$2" = 19 ] && kill -9 $$; echo 1', "failed on input Male 19: status -9"),
    ],
)
def test_command_that_fails_is_reported_with_its_input(command, script, message):
    with pytest.raises(SoftwareError, match=message):
        run(command(script, n_jobs=1), SCHEMA, SCHEMA.assignments((0, 1)))


def test_command_that_hangs_is_ended_with_what_it_started(command, tmp_path):
    alive = tmp_path / "alive"
    program = command(f'[ "$2" = 19 ] && {{ sleep 1; touch {alive}; }}; echo 1', timeout=0.2, n_jobs=1)
    with pytest.raises(SoftwareError, match=r"failed on input Male 19: no answer within 0\.2 s"):
        run(program, SCHEMA, SCHEMA.assignments((0, 1)))
    time.sleep(1.1)
    assert not alive.exists()


def test_command_that_does_not_exist():
    with pytest.raises(SoftwareError, match=r"no-such-program failed on input Male 18: .*No such file"):
        run(CommandSoftware(["no-such-program"]), SCHEMA, SCHEMA.assignments((0, 1)))


def test_large_inputs_come_in_batches():
    sizes = []

    def program(inputs):
        sizes.append(len(inputs))
        return inputs["age"].to_numpy() > 18

    codes = np.resize(SCHEMA.assignments((0, 1)), (BATCH + 5, 2))
    assert (run(program, SCHEMA, codes) == (codes[:, 1] > 0)).all()
    assert sizes == [BATCH, 5]


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda inputs: 1, r"one output for each of 6 inputs, found shape \(\)"),
        (lambda inputs: np.ones(5), r"one output for each of 6 inputs, found shape \(5,\)"),
        (lambda inputs: np.ones((6, 2)), r"found shape \(6, 2\)"),
        (
            lambda inputs: inputs["age"].to_numpy() / 20,
            r"output 0\.9 on input \(sex Male, age 18\): expected 0 or 1",
        ),
        (lambda inputs: np.full(6, np.nan), r"output nan on .*: expected 0 or 1; pass output_distance"),
        (lambda inputs: np.full(6, "1"), r"output '1' on .*: expected 0 or 1"),
    ],
)
def test_outputs_that_are_not_binary(program, message):
    with pytest.raises(SoftwareError, match=message):
        run(program, SCHEMA, SCHEMA.assignments((0, 1)))


AS_THEY_ARE = {
    "flag": [False, True],
    "half": [0.0, 1.0],
    "maybe": [None, "yes"],
    "mixed": [1, "1", 2.5],
    "count": [0, 1],
    "text": ["0", "1"],
}


def test_values_reach_the_program_as_they_are():
    """`~flag`, `flag is True`, whole floats, None and mixed types: all are what the schema says."""
    schema, seen = Schema.from_dict(AS_THEY_ARE), []

    def program(inputs):
        seen.append(inputs)
        return ~inputs["flag"]

    outputs = run(program, schema, schema.assignments(range(len(schema.sizes))))
    assert outputs.sum() == len(outputs) / 2
    [inputs] = seen
    for name, values in AS_THEY_ARE.items():
        assert {(type(v), v) for v in inputs[name].tolist()} == {(type(v), v) for v in values}, name
    assert inputs["flag"].dtype == bool
    assert [inputs[name].dtype.kind for name in ("half", "count")] == ["f", "i"]
    assert run(lambda x: [flag is True for flag in x["flag"].tolist()], schema, np.eye(6, dtype=int)).tolist() == [
        True, *[False] * 5,
    ]  # fmt: skip


def test_a_command_gets_the_values_that_a_program_gets(tmp_path):
    echo = tmp_path / "seen"
    command = CommandSoftware(["sh", "-c", f'printf "[%s]" "$@" >> {echo}; echo 1', "sh"], n_jobs=1)
    schema = Schema.from_dict(AS_THEY_ARE)
    run(command, schema, np.array([[1, 1, 0, 1, 1, 1]]))
    assert echo.read_text() == "[True][1.0][][1][1][1]"


def test_outputs_with_an_index_go_by_it():
    codes = SCHEMA.assignments((0, 1))
    expected = codes[:, 1] > 0

    def by_age(inputs):
        return inputs.sort_values("age", ascending=False)["age"] > 18

    assert (run(by_age, SCHEMA, codes) == expected).all()
    assert (run(lambda x: by_age(x).astype("boolean"), SCHEMA, codes) == expected).all()
    for strange in (
        lambda x: by_age(x).set_axis(range(1, 7)),
        lambda x: by_age(x).set_axis([0, 0, 1, 2, 3, 4]),
        lambda x: by_age(x).set_axis(x["sex"]),
    ):
        with pytest.raises(SoftwareError, match=r"output: (has the row label|row labels occur twice)"):
            run(strange, SCHEMA, codes)
    with pytest.raises(SoftwareError, match="output <NA> on input"):
        run(lambda x: pd.Series([True, None] * 3, dtype="boolean"), SCHEMA, codes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"command": "python decide.py"}, r"command: expected a list such as \['python', 'decide.py'\]"),
        ({"command": []}, "command: expected a list of texts"),
        ({"command": ["python", 3]}, "command: expected a list of texts"),
        ({"command": None}, "command: expected a list of texts"),
        ({"timeout": 0}, "timeout: expected a positive number of seconds, found 0"),
        ({"timeout": "1"}, "timeout: expected a positive number of seconds, found '1'"),
        ({"timeout": float("nan")}, "timeout: expected a positive number of seconds, found nan"),
        ({"n_jobs": 0}, "n_jobs: expected a positive integer, found 0"),
        ({"n_jobs": -1}, "n_jobs: expected a positive integer, found -1"),
        ({"n_jobs": 1.5}, "n_jobs: expected a positive integer, found 1.5"),
        ({"true": 1}, "true: expected a text, found 1"),
        ({"true": "yes", "false": "yes"}, "false: expected another text than 'yes', or None"),
    ],
)
def test_commands_that_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        CommandSoftware(**{"command": ["true"]} | options)
