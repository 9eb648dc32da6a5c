import sys

import numpy as np
import pandas as pd
import pytest

from fairlab import Case, audit
from fairlab.models import CommandModel, CommandSoftware, SoftwareError

ECHO = 'printf "%s|" "$@" >> "$0.log"; echo >> "$0.log"; echo 1'


@pytest.fixture
def program(tmp_path):
    """Write a shell script and return it as software, one call at a time."""

    def make(script, **options):
        path = tmp_path / "program.sh"
        path.write_text(script)
        return CommandSoftware(["sh", str(path)], n_jobs=1, **options)

    return make


def test_values_are_written_as_python_writes_them(program, tmp_path):
    table = pd.DataFrame(
        {
            "flag": [True, False],
            "share": [1.0, 0.5],
            "count": [1, 2],
            "nullable": pd.array([7, None], dtype="Int64"),
            "group": pd.Categorical(["b", "a"], categories=["b", "a"]),
            "name": ["Ann Lee", None],
            "mixed": np.array([1, "x"], dtype=object),
        }
    )
    assert program(ECHO)(table).tolist() == [True, True]
    lines = (tmp_path / "program.sh.log").read_text().splitlines()
    assert lines == ["True|1.0|1|7|b|Ann Lee|1|", "False|0.5|2||a||x|"]


def test_missing_values_and_the_text_that_stands_for_them(program):
    table = pd.DataFrame({"name": ["", None]})
    with pytest.raises(SoftwareError, match="column 'name' holds the text '', which stands for missing values"):
        program("echo 1")(table)
    assert program("echo 1", missing="NA")(table).all()


def test_no_row_is_no_call():
    assert CommandSoftware(["no-such-program"])(pd.DataFrame({"a": []})).tolist() == []


SCORE = """
import csv, sys
rows = list(csv.DictReader(sys.stdin))
sys.stderr.write("x" * 100_000)
open(sys.argv[1], "a").write("called once\\n")
for row in rows:
    print(float(row["points"]) / 100 + 0.2 * (row["name"] == "Lee, Ann"))
"""


def test_a_batch_is_given_once_as_csv(tmp_path):
    table = pd.DataFrame({"points": np.arange(5_000) % 80, "name": ["Lee, Ann", None] * 2_500})
    log = tmp_path / "log"
    found = CommandModel([sys.executable, "-c", SCORE, str(log)])(table)
    assert found == pytest.approx(table["points"] / 100 + 0.2 * (table["name"] == "Lee, Ann"))
    assert log.read_text() == "called once\n"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("print(1)", "expected a number for each of 3 rows, found 1"),
        ("print('a\\nb\\nc')", "expected a number for each row; could not convert string to float: 'a'"),
        ("raise SystemExit('no licence')", "status 1: no licence"),
        ("import time; time.sleep(60)", "no answer within 1 s"),
    ],
)
def test_what_a_program_does_wrong_is_said(code, message):
    with pytest.raises(SoftwareError, match=message):
        CommandModel([sys.executable, "-c", code], timeout=1)(pd.DataFrame({"points": [1, 2, 3]}))


def test_a_program_is_audited_like_the_same_rule(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"sex": rng.choice(["f", "m"], 300), "points": rng.integers(0, 50, 300)})
    rule = "for r in csv.DictReader(sys.stdin): print(int(float(r['points']) > 20 + 9 * (r['sex'] == 'f')))"
    code = f"import csv, sys\n{rule}"
    models = (
        CommandModel([sys.executable, "-c", code]),
        lambda rows: 1 * (rows["points"] > 20 + 9 * (rows["sex"] == "f")),
    )
    frames = [
        audit(Case(model, table, sensitive_features="sex"), budget=1_500, progress=False).to_frame() for model in models
    ]
    pd.testing.assert_frame_equal(*frames)
