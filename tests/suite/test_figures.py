"""Figures: saved with their numbers beside them, and copied to the project by a command."""

import json
import shutil

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from toy_project import line

from fairlab.cli import main
from fairlab.suite import drawing
from fairlab.suite.drawing import remarks_of
from fairlab.suite.experiment import Experiment
from fairlab.suite.pictures import SURROGATE_MARK
from fairlab.suite.run import Run, run_folder

TITLE, NONE = "The heights of 3 people.", "The paper has no numbers of what is drawn."


@pytest.fixture
def experiment(toy):
    experiment = Experiment("toy/mean", profile="smoke")
    experiment.load("berkeley")
    return experiment


def saved(experiment, stem="figure-1"):
    """Return the entry, the picture and the numbers of a figure of a run."""
    file = experiment.folder / "figures" / f"{stem}.json"
    return json.loads(file.read_text()), file.with_suffix(".svg").read_bytes(), pd.read_csv(file.with_suffix(".csv"))


def test_a_figure_is_saved_with_its_numbers_caption_and_title(experiment):
    numbers = pd.DataFrame({"y": [1 / 3, 2e-7, np.nan], "of": ["a", "b", "x"]}, index=pd.Index([3, 4, 5], name="id"))
    caption = "The *height* of `people`. Look up."
    figures = [line(numbers, color="red") for _ in range(2)]
    for part, figure in zip("ab", figures, strict=True):
        experiment.figure("figure-1", figure, data=numbers, caption=caption, part=part)
    entry, svg, frame = saved(experiment, "figure-1_a")
    assert entry == {
        "caption": f"{caption} Profile smoke: smaller than the paper profile. {NONE}",
        "data": "real",
        "sentence": TITLE,
        "alternative": f"The height of people. {TITLE}",
    }
    assert svg == saved(experiment, "figure-1_b")[1], "drawn again, the bytes are the same"
    assert frame["y"].tolist()[:2] == [0.33333, 2e-7]
    assert frame["of"].tolist() == ["a", "b", "x"]
    assert frame["id"].tolist() == [3, 4, 5]
    assert plt.get_fignums() == [], "a notebook would show what is open a second time"


def test_captions_say_what_the_numbers_rest_on_and_surrogates_also_the_picture(experiment):
    experiment.run.note_load({"variant": "law-school", "source": "surrogate"}, {})
    numbers = pd.DataFrame({"y": [0, 1]})
    experiment.figure("figure-1", line(numbers), data=numbers)
    experiment.figure("figure-1", line(numbers), data=numbers, part="real", rests_on=["berkeley"])
    experiment.table("table-1", numbers)
    profile = "Profile smoke: smaller than the paper profile."
    entry, svg, _ = saved(experiment)
    caption = f"{SURROGATE_MARK[0].upper()}{SURROGATE_MARK[1:]}. {profile} {NONE}"
    assert (entry["caption"], entry["data"]) == (caption, "surrogate")
    assert SURROGATE_MARK.encode() in svg
    entry, svg, _ = saved(experiment, "figure-1_real")
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


@pytest.mark.parametrize(
    ("make", "caption", "error", "message"),
    [
        (lambda frame: line, "", TypeError, "figure: expected a matplotlib Figure, found <function line"),
        (line, None, TypeError, "caption: expected text, found None"),
    ],
)
def test_what_is_no_figure_is_refused(experiment, make, caption, error, message):
    numbers = pd.DataFrame({"y": [0, 1]})
    with pytest.raises(error, match=message):
        experiment.figure("figure-1", make(numbers), data=numbers, caption=caption)


# Committed figures


@pytest.fixture
def publish(toy):
    """Return a function that publishes a run which draws a line for each of `parts`, to a height."""

    def draw(parts=(None, "red"), *, height=1, name="toy/mean", profile="quick", source="real", seed=0):
        experiment = Experiment(name, profile=profile, seed=seed)
        experiment.run.note_load({"variant": "berkeley", "source": source}, {})
        experiment.record("table-1", "mean", [0.5, 0.6])
        for part in parts:
            data = pd.DataFrame({"y": [0, height / 3]})
            experiment.figure("figure-1", line(data), data=data, caption="A line.", part=part)
        experiment.compare()
        return run_folder(name, profile if seed == 0 else "custom")

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
    assert f"figures in {results / 'figures'}: 2" in capsys.readouterr().out
    assert not folder.exists()
    write()
    assert contents(folder) == contents(results / "figures" / "toy")
    drawn = {f"figure-1{part}.{suffix}" for part in ("", "_red") for suffix in drawing.FORMATS}
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
