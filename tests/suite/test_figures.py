"""Figures: drawn with their numbers beside them, and copied to the project by a command."""

import json
import shutil

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from toy_project import FIGURES_MODULE, fill, line

from fairlab.cli import main
from fairlab.plotting import SURROGATE_MARK
from fairlab.suite import drawing
from fairlab.suite.drawing import function, paint, read_numbers, remarks_of
from fairlab.suite.experiment import Experiment
from fairlab.suite.run import Run, run_folder

TITLE, NONE = "The heights of 3 people.", "The paper has no numbers of what is drawn."


def nothing(frame):
    return None


@pytest.fixture
def experiment(toy, toy_figures):
    experiment = Experiment("toy/mean", profile="smoke")
    experiment.load("berkeley")
    return experiment


def drawn_figure(experiment, stem="figure-1"):
    """Return the entry, the picture and the numbers of a figure of a run."""
    file = experiment.folder / "figures" / f"{stem}.json"
    return json.loads(file.read_text()), file.with_suffix(".svg").read_bytes(), read_numbers(file.with_suffix(".csv"))


def test_figure_is_drawn_from_saved_data_whatever_the_style_of_the_process(experiment, tmp_path):
    numbers = pd.DataFrame(
        {"y": [1 / 3, 2e-7, np.nan], "of": ["None", "NA", "x"]}, index=pd.Index([3, 4, 5], name="id")
    )
    caption = "The *height* of `people`. Look up."
    with mpl.rc_context({"font.size": 14, "axes.grid": True}):
        experiment.figure("figure-1", line, data=numbers, caption=caption, part="a", color="red")
    entry, svg, frame = drawn_figure(experiment, "figure-1_a")
    assert entry == {
        "draw": f"{FIGURES_MODULE}.line",
        "options": {"color": "red"},
        "caption": f"{caption} Profile smoke: smaller than the paper profile. {NONE}",
        "data": "real",
        "sentence": TITLE,
        "alternative": f"The height of people. {TITLE}",
    }
    assert frame["y"].tolist()[:2] == [0.33333, 2e-7]
    assert frame["of"].tolist() == ["None", "NA", "x"]
    assert frame["id"].tolist() == [3, 4, 5]
    stem = experiment.folder / "figures" / "figure-1_a"
    assert paint(entry, stem, tmp_path / "again", salt="toy/mean") == entry
    assert (tmp_path / "again.svg").read_bytes() == svg
    assert (tmp_path / "again.png").read_bytes() == stem.with_suffix(".png").read_bytes()


def test_captions_say_what_the_numbers_rest_on_and_surrogates_also_the_picture(experiment):
    experiment.run.note_load({"variant": "law-school", "source": "surrogate"}, {})
    numbers = pd.DataFrame({"y": [0, 1]})
    experiment.figure("figure-1", line, data=numbers)
    experiment.figure("figure-1", line, data=numbers, part="real", rests_on=["berkeley"])
    experiment.table("table-1", numbers)
    profile = "Profile smoke: smaller than the paper profile."
    entry, svg, frame = drawn_figure(experiment)
    caption = f"{SURROGATE_MARK[0].upper()}{SURROGATE_MARK[1:]}. {profile} {NONE}"
    assert (entry["caption"], entry["data"]) == (caption, "surrogate")
    assert SURROGATE_MARK.encode() in svg
    assert frame.columns.tolist() == ["y"], "the mark is no number"
    entry, svg, _ = drawn_figure(experiment, "figure-1_real")
    assert entry["caption"] == f"{profile} {NONE}"
    assert SURROGATE_MARK.encode() not in svg
    for file in ("figures/figure-1.csv", "tables/table-1.csv"):
        assert SURROGATE_MARK in (experiment.folder / file).read_text()


SMALLER = "Profile quick: smaller than the paper profile."
NOTHING, PRINTED = pd.DataFrame({"y": [0]}), pd.DataFrame({"y": [0], "published": [1.0]})


@pytest.mark.parametrize(
    ("profile", "n", "n_trials", "numbers", "remarks"),
    [
        ("quick", 50, 3, PRINTED, [SMALLER]),
        ("quick", 50, 5, PRINTED, []),
        ("paper", 50, 5, PRINTED.assign(published=np.nan), [NONE]),
        ("custom", 50, 5, pd.DataFrame({"series": ["published", "ours"]}), []),
        ("custom", 60, 5, NOTHING, ["Sizes other than published.", NONE]),
    ],
)
def test_captions_say_which_sizes_are_smaller_and_what_was_not_published(toy, profile, n, n_trials, numbers, remarks):
    run = Run("toy/mean", profile, 0, {"n": n, "n_trials": n_trials})
    assert remarks_of(run, "real", numbers) == remarks


NUMBERS_OF_LINE = pd.DataFrame({"y": [0, 1]})
PLAIN, PUBLIC = "options: expected numbers, text", "expected a public function of a module `figures` of fairlab"


@pytest.mark.parametrize(
    ("draw", "options", "message"),
    [
        *((draw, {}, PUBLIC) for draw in (lambda frame: line(frame), print, "line", fill, np.mean)),
        *((line, {"color": odd}, PLAIN) for odd in (np.arange(2), NUMBERS_OF_LINE, float("nan"))),
        *((line, {"color": odd}, PLAIN) for odd in (np.int64(3), line)),
        (line, {"colour": "red"}, "unexpected keyword argument 'colour'"),
        (line, {"caption": None}, "caption: expected text, found None"),
        (nothing, {}, "nothing: expected it to return a matplotlib Figure, found None"),
    ],
)
def test_what_cannot_be_drawn_again_is_refused(experiment, toy_figures, monkeypatch, draw, options, message):
    monkeypatch.setattr(nothing, "__module__", FIGURES_MODULE)
    toy_figures.nothing = nothing
    with pytest.raises(TypeError, match=message):
        experiment.figure("figure-1", draw, data=NUMBERS_OF_LINE, **options)


@pytest.mark.parametrize(
    "name",
    ["os.system", "fairlab.papers.toy.figures._hidden", f"{FIGURES_MODULE}.circle", "fairlab.figures.no", "line"],
)
def test_functions_are_found_by_their_full_names_and_no_others(toy_figures, name):
    assert function(f"{FIGURES_MODULE}.line") is line
    with pytest.raises(TypeError, match=PUBLIC):
        function(name)


# Committed figures


SUFFIXES = drawing.FORMATS


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
    assert main(["figures"]) == 0
    assert f"2 figures in {results / 'figures'}" in capsys.readouterr().out
    assert not folder.exists()
    write()
    assert contents(folder) == contents(results / "figures" / "toy")
    drawn = {f"figure-1{part}.{suffix}" for part in ("", "_red") for suffix in SUFFIXES}
    assert set(contents(folder)) == {"index.json"} | drawn
    run = contents(run_folder("toy/mean", "quick") / "figures")
    assert all(run[name] == contents(folder)[name] for name in drawn)
    entry = index(folder)["figure-1_red"]
    assert (entry["experiment"], entry["profile"], entry["data"], entry["seed"]) == ("toy/mean", "quick", "real", 0)


def test_one_figure_is_copied_and_committed_ones_without_a_run(publish, folder, results, tmp_path):
    publish()
    write()
    before = contents(folder)
    publish(height=9)
    write("toy/figure-1")
    assert {name for name, content in contents(folder).items() if content != before[name]} == {
        "figure-1.csv",
        "figure-1.png",
        "figure-1.svg",
    }
    after = contents(folder)
    shutil.rmtree(results)
    assert main(["figures", "--output", str(tmp_path / "out")]) == 0
    assert contents(tmp_path / "out" / "toy") == after


def test_figures_of_a_finished_batch_replace_the_committed_ones(publish, folder):
    publish((None, "old"), profile="smoke")
    write()
    publish([None], height=2)
    publish(height=9, profile="paper", source="surrogate")
    publish(height=9, seed=5)
    write()
    assert {stem: entry["profile"] for stem, entry in index(folder).items()} == {
        "figure-1": "quick",
        "figure-1_old": "smoke",
    }
