import json

from fairlab.cli import main


def test_list_has_tables_and_figures(toy, capsys):
    assert main(["list"]) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert head.startswith("experiment")
    assert line.split()[:3] == ["toy/mean", "table-1,", "figure-1"]


def test_the_list_as_json(toy, capsys):
    assert main(["list", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["artefacts"] == ["table-1", "figure-1"]
    assert set(row["data"]) == {"berkeley"}
