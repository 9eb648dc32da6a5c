import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from toy_project import FIGURES_MODULE, fill, line

from fairlab.plotting import SURROGATE_MARK
from fairlab.suite.drawing import Drawing, first_sentence, function, marks_of, name_of, read_numbers
from fairlab.suite.experiment import Experiment
from fairlab.suite.run import Run


def nothing(frame):
    return None


@pytest.fixture
def experiment(toy, toy_figures):
    experiment = Experiment("toy/mean", profile="smoke")
    experiment.load("berkeley")
    return experiment


def kept(experiment, stem="figure-1"):
    folder = experiment.folder / "figures"
    return json.loads((folder / f"{stem}.json").read_text()), (folder / f"{stem}.svg").read_bytes()


def test_figure_is_drawn_from_saved_data(experiment, tmp_path):
    numbers = pd.DataFrame(
        {"y": [1 / 3, 2e-7, np.nan], "of": ["None", "NA", "x"]}, index=pd.Index([3, 4, 5], name="id")
    )
    caption = "The *height* of `people`. Look up."
    experiment.figure("figure-1", line, data=numbers, caption=caption, part="a", color="red")
    entry, svg = kept(experiment, "figure-1_a")
    assert entry == {
        "draw": f"{FIGURES_MODULE}.line",
        "options": {"color": "red"},
        "caption": caption,
        "alternative": "The height of people.",
        "marks": ["profile smoke: smaller than the paper profile"],
        "data": "real",
    }
    stem = experiment.folder / "figures" / "figure-1_a"
    Drawing.read(entry).paint(stem, tmp_path / "again", salt="toy/mean")
    assert (tmp_path / "again.svg").read_bytes() == svg
    assert (tmp_path / "again.png").read_bytes() == stem.with_suffix(".png").read_bytes()
    frame = read_numbers(stem.with_suffix(".csv"))
    assert frame["y"].tolist()[:2] == [0.33333, 2e-7]
    assert frame["of"].tolist() == ["None", "NA", "x"]
    assert frame["id"].tolist() == [3, 4, 5]


def test_a_style_of_the_process_changes_nothing(experiment):
    import matplotlib as mpl

    drawn = []
    for size in (10, 14):
        with mpl.rc_context({"font.size": size, "axes.grid": size > 10}):
            experiment.figure("figure-1", line, data=pd.DataFrame({"y": [0, 1]}))
        drawn.append(kept(experiment)[1])
    assert drawn[0] == drawn[1]


def test_marks_say_what_the_numbers_rest_on(experiment):
    experiment.run.note_load({"variant": "law-school", "source": "surrogate"}, {})
    numbers = pd.DataFrame({"y": [0, 1]})
    experiment.figure("figure-1", line, data=numbers)
    experiment.figure("figure-1", line, data=numbers, part="real", rests_on=["berkeley"])
    profile = "profile smoke: smaller than the paper profile"
    entry, _ = kept(experiment)
    assert (entry["marks"], entry["data"]) == ([SURROGATE_MARK, profile], "surrogate")
    assert read_numbers(experiment.folder / "figures" / "figure-1.csv").columns.tolist() == ["y"]
    assert kept(experiment, "figure-1_real")[0]["marks"] == [profile]
    with pytest.raises(KeyError, match="not loaded in this run: lipton"):
        experiment.figure("figure-1", line, data=numbers, rests_on=["lipton"])


def test_only_smaller_profiles_are_marked(toy):
    def marks(profile, **parameters):
        expected = {"smoke": (10, 2), "quick": (50, 3), "paper": (50, 5), "custom": (50, 5)}[profile]
        given = dict(zip(("n", "n_trials"), expected, strict=True)) | parameters
        return marks_of(Run("toy/mean", profile, 0, given), "real")

    assert marks("quick") == ["profile quick: smaller than the paper profile"]
    assert marks("quick", n_trials=5) == marks("paper") == marks("custom") == []
    assert marks("custom", n=60) == ["sizes other than published"]
    too_large = SimpleNamespace(parameters=lambda profile: {"n": 5}, protocol={"n": 9})
    assert marks_of(SimpleNamespace(profile="paper", parameters={"n": 5}, specification=too_large), "real") == []


def test_what_cannot_be_drawn_again_is_refused(experiment, toy_figures, monkeypatch):
    monkeypatch.setattr(nothing, "__module__", FIGURES_MODULE)
    toy_figures.nothing = nothing
    numbers = pd.DataFrame({"y": [0, 1]})
    for draw in (lambda frame: line(frame), print, "line", fill, np.mean):
        with pytest.raises(TypeError, match="expected a public function of a module `figures` of fairlab"):
            experiment.figure("figure-1", draw, data=numbers)
    for value in ((1, 2), np.arange(2), numbers, float("nan"), {1: "a"}, np.int64(3), line):
        with pytest.raises(TypeError, match="color: expected a plain value"):
            experiment.figure("figure-1", line, data=numbers, color=value)
    with pytest.raises(TypeError, match="line takes the options color, found colour"):
        experiment.figure("figure-1", line, data=numbers, colour="red")
    with pytest.raises(TypeError, match="caption: expected text, found None"):
        experiment.figure("figure-1", line, data=numbers, caption=None)
    with pytest.raises(TypeError, match="nothing: expected it to return a matplotlib Figure, found None"):
        experiment.figure("figure-1", nothing, data=numbers)


def test_functions_are_found_by_their_full_names(toy_figures):
    assert function(name_of(line)) is line
    for name in (
        "os.system",
        "fairlab.papers.toy.figures._hidden",
        f"{FIGURES_MODULE}.circle",
        "fairlab.figures.no",
        "line",
    ):
        with pytest.raises(ValueError, match="no function"):
            function(name)


def test_entry_without_function_explains_what_to_do():
    with pytest.raises(ValueError, match="run its experiment"):
        Drawing.read({"caption": "A line."})


def test_the_first_sentence_has_no_markdown():
    assert first_sentence("Of 1.5\n *people*! More.") == "Of 1.5 people!"
    assert first_sentence("no end") == "no end"
    assert first_sentence("") == ""
