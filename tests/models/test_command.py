import numpy as np
import pandas as pd
import pytest

from fairlab.models import CommandSoftware, SoftwareError

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
