import json
import shutil

import pandas as pd
from toy_project import fill

from fairlab.benchmarks.figures import line
from fairlab.suite import artefacts
from fairlab.suite.artefacts import keep_figures
from fairlab.suite.experiment import Experiment
from fairlab.suite.run import run_folder


def publish_figures(toy, profile, source="real"):
    experiment = Experiment("toy/mean", profile=profile)
    experiment.run.note_load({"variant": "berkeley", "source": source}, {})
    fill(experiment)
    experiment.compare()
    return keep_figures(run_folder("toy/mean", profile))


def test_figures_are_kept_from_the_best_run(toy):
    index = toy / "figures" / "toy" / "index.json"
    assert publish_figures(toy, "smoke") == []
    assert len(publish_figures(toy, "quick", "surrogate")) == 3
    assert len(publish_figures(toy, "quick")) == 3
    assert publish_figures(toy, "paper", "surrogate") == []
    assert len(publish_figures(toy, "paper")) == 3
    assert publish_figures(toy, "quick") == []
    entry = json.loads(index.read_text())["figure-1"]
    assert (entry["profile"], entry["data"], entry["experiment"]) == ("paper", "real", "toy/mean")


def test_figures_that_can_be_drawn_anew_replace_those_that_cannot(toy):
    index = toy / "figures" / "toy" / "index.json"
    publish_figures(toy, "paper")
    entries = json.loads(index.read_text())
    del entries["figure-1"]["draw"]
    index.write_text(json.dumps(entries))
    assert len(publish_figures(toy, "quick")) == 3
    assert json.loads(index.read_text())["figure-1"]["profile"] == "quick"


def test_the_same_figure_gives_the_same_files(toy):
    publish_figures(toy, "quick")
    first = {path.name: path.read_bytes() for path in (toy / "figures" / "toy").glob("figure-1.*")}
    shutil.rmtree(toy / "figures")
    publish_figures(toy, "quick")
    assert first == {path.name: path.read_bytes() for path in (toy / "figures" / "toy").glob("figure-1.*")}


def test_the_index_forgets_figures_that_are_no_longer_drawn(toy):
    experiment = Experiment("toy/mean", profile="quick")
    experiment.figure("figure-1", line, data=pd.DataFrame({"x": [0], "y": [0]}), part="old")
    fill(experiment)
    experiment.compare()
    keep_figures(run_folder("toy/mean", "quick"))
    folder = toy / "figures" / "toy"
    entry = json.loads((folder / "index.json").read_text())["figure-1_old"]
    (folder / "index.json").write_text(json.dumps({"figure-1_old": entry, "figure-1.png": entry}))
    publish_figures(toy, "quick")
    assert set(json.loads((folder / "index.json").read_text())) == {"figure-1"}
    assert {path.name for path in folder.glob("figure-1*")} == {"figure-1.png", "figure-1.svg", "figure-1.csv"}


def test_another_seed_leaves_the_figures_alone(toy):
    experiment = Experiment("toy/mean", profile="quick", seed=5)
    fill(experiment)
    experiment.compare()
    assert keep_figures(run_folder("toy/mean", "quick", 5)) == []


def test_a_project_that_cannot_be_written_keeps_its_figures(toy, monkeypatch):
    monkeypatch.setattr(artefacts.os, "access", lambda path, mode: False)
    assert publish_figures(toy, "quick") == []
    assert (run_folder("toy/mean", "quick") / "figures" / "figure-1.png").exists()
    assert not artefacts.FIGURES.exists()
