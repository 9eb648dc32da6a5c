import json

import pytest

from fairlab.cli import main


def test_list_says_what_there_is(toy, capsys):
    assert main(["list", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["experiment"] == "toy/mean"
    assert row["artefacts"] == ["table-1", "figure-1"]
    assert set(row["data"]) == {"berkeley"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "toy/meen"], "did you mean 'toy/mean'"),
        (["run", "toy/mean", "--profile", "fast"], "unknown profile 'fast'"),
        (["run", "toy/mean", "-p", "m", "3"], "no parameter 'm'"),
        (["run"], "name experiments or give --all"),
        (["run", "--all", "-p", "n", "3"], "for one experiment at a time"),
        (["run", "--all", "--scheduler", "pbs"], "unknown scheduler 'pbs'"),
    ],
)
def test_wrong_calls_say_what_exists(toy, capsys, arguments, message):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_unknown_data_is_named(toy, capsys):
    assert main(["data", "fetch", "adult-ucl"]) == 1
    assert "unknown data set or file 'adult-ucl'" in capsys.readouterr().err


def test_data_status_and_verify(toy, capsys):
    assert main(["data", "status"]) == 0
    assert "adult/adult.data" in capsys.readouterr().out
    assert main(["data", "verify"]) == 0


def test_a_data_set_is_described(toy, capsys):
    assert main(["data", "describe", "lipton"]) == 0
    assert "Hiring data of Lipton" in capsys.readouterr().out
    assert main(["data", "describe", "lypton"]) == 1
    assert "did you mean 'lipton'" in capsys.readouterr().err


def test_notebooks_must_be_without_outputs(toy, capsys):
    assert main(["notebooks"]) == 0
    notebook = toy / "notebooks" / "toy" / "mean.ipynb"
    content = json.loads(notebook.read_text())
    content["cells"][0]["execution_count"] = 1
    notebook.write_text(json.dumps(content))
    assert main(["notebooks"]) == 1
    assert "cell 0 has outputs" in capsys.readouterr().err
    assert main(["notebooks", "--clear"]) == 0
