import json
import os
import shutil
import signal
import sys
import time

import pandas as pd
import pytest
from toy_project import SPECIFICATION, line

from fairlab.cli import main
from fairlab.suite import redrawing
from fairlab.suite.experiment import Experiment
from fairlab.suite.run import run_folder
from fairlab.suite.site.building import copy_figures
from fairlab.suite.site.figures import pictures

SUFFIXES = ("csv", "png", "svg")


@pytest.fixture
def publish(toy, toy_figures):
    """Return a function that publishes a run which draws a line for each of `parts`, to a height."""

    def draw(parts=(None, "red"), *, height=1, name="toy/mean", profile="quick", source="real", seed=0):
        experiment = Experiment(name, profile=profile, seed=seed)
        experiment.run.note_load({"variant": "berkeley", "source": source}, {})
        experiment.record("table-1", "mean", [0.5, 0.6])
        for part in parts:
            options = {"color": part} if part == "red" else {}
            data = pd.DataFrame({"y": [0, height / 3]})
            experiment.figure("figure-1", line, data=data, caption="A line.", part=part, **options)
        experiment.compare()
        return run_folder(name, profile, seed)

    return draw


@pytest.fixture
def folder(toy):
    """Where the committed figures are."""
    return toy / "figures" / "toy"


def write(*names):
    assert main(["figures", "--write", *names]) == 0


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def index(folder):
    return json.loads((folder / "index.json").read_text())


def test_committed_figures_change_by_a_command_and_not_by_a_run(publish, folder, results, capsys):
    publish()
    assert not folder.exists()
    assert main(["figures"]) == 0
    assert f"2 of 2 figures redrawn in {results / 'figures'}" in capsys.readouterr().out
    assert not folder.exists()
    write()
    assert contents(folder) == contents(results / "figures" / "toy")
    drawn = {f"figure-1{part}.{suffix}" for part in ("", "_red") for suffix in SUFFIXES}
    assert set(contents(folder)) == {"index.json"} | drawn
    run = contents(run_folder("toy/mean", "quick") / "figures")
    assert drawn <= set(run)
    assert all(run[name] == contents(folder)[name] for name in drawn), "drawn anew, the bytes are the same"
    entry = index(folder)["figure-1_red"]
    assert (entry["experiment"], entry["profile"], entry["data"], entry["seed"]) == ("toy/mean", "quick", "real", 0)
    assert entry["draw"].endswith(".figures.line")


def test_figures_are_redrawn_from_committed_data(publish, folder, results, tmp_path):
    publish()
    write()
    before = contents(folder)
    shutil.rmtree(results)
    for picture in folder.glob("*.svg"):
        picture.unlink()
    write()
    assert contents(folder) == before
    (folder / "figure-1_red.csv").write_text("y\n1\n0\n")
    assert main(["figures", "toy/figure-1_red", "--output", str(tmp_path / "out")]) == 0
    assert contents(tmp_path / "out" / "toy")["figure-1_red.svg"] != before["figure-1_red.svg"]
    assert contents(folder)["figure-1_red.svg"] == before["figure-1_red.svg"]


def test_a_better_run_stays(publish, folder):
    kept = []
    for height, (profile, source) in enumerate(
        [("smoke", "real"), ("quick", "surrogate"), ("quick", "real"), ("paper", "surrogate"), ("paper", "real")]
    ):
        publish(height=height, profile=profile, source=source)
        publish(height=9, seed=5)
        write()
        entry = index(folder)["figure-1"]
        kept.append((entry["profile"], entry["data"]))
        shutil.rmtree(run_folder("toy/mean", profile).parent)
    assert kept == [
        ("smoke", "real"),
        ("smoke", "real"),
        ("quick", "real"),
        ("quick", "real"),
        ("paper", "real"),
    ]
    before = contents(folder)
    publish(height=9)
    write()
    assert contents(folder) == before


def test_figures_that_are_no_longer_drawn_go_with_the_next_that_are_all_written(publish, folder):
    publish((None, "old"), profile="paper")
    write()
    shutil.rmtree(run_folder("toy/mean", "paper").parent)
    publish()
    write()
    assert set(index(folder)) == {"figure-1", "figure-1_old", "figure-1_red"}, "of a better run"
    publish(profile="paper")
    write("toy/figure-1")
    assert "figure-1_old" in index(folder)
    write()
    assert set(index(folder)) == {"figure-1", "figure-1_red"}
    assert not list(folder.glob("*old*"))


def test_what_cannot_be_drawn_is_named_and_left(publish, folder, results, capsys):
    publish()
    write()
    shutil.rmtree(results)
    entries = index(folder)
    del entries["figure-1"]["draw"]
    (folder / "index.json").write_text(json.dumps(entries))
    (folder / "figure-1_red.csv").write_text("x\n1\n")
    before = contents(folder)
    capsys.readouterr()
    assert main(["figures", "toy", "--write"]) == 1
    captured = capsys.readouterr()
    assert captured.err.splitlines() == [
        "toy/figure-1: not redrawn: its run did not store the drawing function; run its experiment again",
        "toy/figure-1_red: not redrawn: y",
    ]
    assert "0 of 2 figures redrawn" in captured.out
    assert contents(folder) == before


def test_unknown_names_raise(publish, capsys):
    publish()
    assert main(["figures", "toy/figure-2"]) == 2
    assert "no figure or paper with figures 'toy/figure-2'; did you mean 'toy/figure-1'" in capsys.readouterr().err


def test_the_site_shows_the_figures_of_runs_and_else_the_committed_ones(publish, folder, results, tmp_path):
    publish(height=1)
    write()
    publish([None], height=2, profile="smoke")
    shutil.rmtree(run_folder("toy/mean", "quick").parent)
    for place in (run_folder("toy/mean", "smoke") / "figures", folder):
        shown = pictures("toy")
        assert {picture.stem for picture in shown} == {file.stem for file in place.glob("*.png")}
        assert {picture.folder for picture in shown} == {place}
        copy_figures(tmp_path / "site" / place.name)
        copied = contents(tmp_path / "site" / place.name / "toy")
        assert copied == {name: text for name, text in contents(place).items() if not name.endswith(".json")}
        shutil.rmtree(results, ignore_errors=True)


def fork(function, *arguments):
    """Call a function in a process of its own and return its number."""
    child = os.fork()
    if not child:
        status = 1
        try:
            status = function(*arguments)
        finally:
            os._exit(status)
    return child


def killed_at(step, folder):
    """Write the figures, and kill the process before it changes a file below a folder for the `step`-th time."""
    left = iter(range(step, -1, -1))

    def look(event, arguments):
        changes = event in ("os.rename", "os.remove") or (event == "open" and arguments[1] in ("w", "wb"))
        if changes and str(folder) in str(arguments) and next(left) == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(look)
    return main(["figures", "--write"])


def test_killed_at_any_step_it_loses_no_figure_and_the_next_one_goes_on(publish, folder, toy, tmp_path):
    publish((None, "old"), height=1)
    write()
    committed = shutil.copytree(folder, tmp_path / "committed")
    publish([None], height=2)
    write()
    before, after = contents(committed), contents(folder)
    for step in range(1000):
        shutil.rmtree(toy / "figures")
        shutil.copytree(committed, folder)
        status = os.waitstatus_to_exitcode(os.waitpid(fork(killed_at, step, toy / "figures"), 0)[1])
        if status == 0:
            break
        assert status == -signal.SIGKILL
        found = contents(folder)
        for name in after:
            assert found[name] in (before[name], after[name]) or name == "index.json"
        assert index(folder)["figure-1"]["experiment"] == "toy/mean"
        assert set(found) <= set(before)
        write()
        assert contents(folder) == after
        assert [file.name for file in (toy / "figures" / ".partial").iterdir()] == ["lock"]
    assert step > 10
    assert contents(folder) == after


def test_of_two_that_write_at_once_none_loses_an_entry(publish, folder, toy, monkeypatch):
    read = redrawing.read_index

    def read_and_wait(place):
        entries = read(place)
        time.sleep(0.2)
        return entries

    monkeypatch.setattr(redrawing, "read_index", read_and_wait)
    (toy / "experiments" / "toy" / "second.yaml").write_text(SPECIFICATION)
    publish([None, "one"])
    publish(["two", "three"], name="toy/second")
    names = ["figure-1", "figure-1_one", "figure-1_three", "figure-1_two"]
    for child in [fork(main, ["figures", f"toy/{name}", "--write"]) for name in names]:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert sorted(index(folder)) == names
    assert set(contents(folder)) == {"index.json", *(f"{name}.{suffix}" for name in names for suffix in SUFFIXES)}
