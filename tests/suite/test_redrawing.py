import json

import pandas as pd
import pytest
from toy_project import line

from fairlab.cli import main
from fairlab.suite import redrawing
from fairlab.suite.artefacts import keep_figures
from fairlab.suite.experiment import Experiment
from fairlab.suite.run import run_folder


@pytest.fixture
def committed(toy, toy_figures, monkeypatch, capsys):
    """The figures of a run; returns their folder."""
    monkeypatch.setattr(redrawing, "FIGURES", toy / "figures")
    experiment = Experiment("toy/mean", profile="quick")
    experiment.load("berkeley")
    experiment.record("table-1", "mean", [0.5, 0.6])
    for part in (None, "red"):
        options = {"color": part} if part else {}
        experiment.figure(
            "figure-1", line, data=pd.DataFrame({"y": [0, 1 / 3]}), caption="A line.", part=part, **options
        )
    experiment.compare()
    keep_figures(run_folder("toy/mean", "quick"))
    capsys.readouterr()
    return toy / "figures" / "toy"


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_figures_are_drawn_anew_with_the_same_bytes(committed, capsys):
    before = contents(committed)
    assert set(before) == {"index.json"} | {
        f"figure-1{part}.{s}" for part in ("", "_red") for s in ("png", "svg", "csv")
    }
    for picture in committed.glob("*.svg"):
        picture.unlink()
    assert main(["figures"]) == 0
    assert "2 of 2 figures drawn anew" in capsys.readouterr().out
    assert contents(committed) == before


def test_figures_are_drawn_from_the_numbers(committed, tmp_path):
    before = contents(committed)
    (committed / "figure-1_red.csv").write_text("y\n1\n0\n")
    assert main(["figures", "toy/figure-1_red", "--output", str(tmp_path / "out")]) == 0
    drawn = contents(tmp_path / "out" / "toy")
    assert set(drawn) == {"figure-1_red.png", "figure-1_red.svg"}
    assert drawn["figure-1_red.svg"] != before["figure-1_red.svg"]
    assert contents(committed)["figure-1_red.svg"] == before["figure-1_red.svg"]


def test_what_cannot_be_drawn_is_named_and_left(committed, capsys):
    index = json.loads((committed / "index.json").read_text())
    del index["figure-1"]["draw"]
    (committed / "index.json").write_text(json.dumps(index))
    (committed / "figure-1_red.csv").write_text("x\n1\n")
    before = contents(committed)
    assert main(["figures", "toy"]) == 1
    captured = capsys.readouterr()
    assert captured.err.splitlines() == [
        "toy/figure-1: left as it is: its run did not keep what draws it; run its experiment",
        "toy/figure-1_red: left as it is: y",
    ]
    assert "0 of 2 figures drawn anew" in captured.out
    assert contents(committed) == before


def test_unknown_names_are_told(committed, capsys):
    assert main(["figures", "toy/figure-2"]) == 2
    assert (
        "no committed figure or paper with figures 'toy/figure-2'; did you mean 'toy/figure-1'"
        in capsys.readouterr().err
    )
