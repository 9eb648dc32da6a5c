"""Figures: saved with their numbers beside them, and copied to the project by a command."""

import json
import shutil

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from toy_project import line

from fairlab import plotting
from fairlab.cli import main
from fairlab.suite import drawing
from fairlab.suite.drawing import SURROGATE_MARK, remarks_of, save
from fairlab.suite.experiment import Experiment
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
    plt.close("all")  # what another test of this process left open
    figures = [line(numbers, color="red") for _ in range(2)]
    for part, figure in zip("ab", figures, strict=True):
        experiment.figure("figure-1", figure, data=numbers, caption=caption, part=part)
    entry, svg, frame = saved(experiment, "figure-1_a")
    assert entry == {
        "caption": f"{caption} Profile smoke: smaller than the paper profile. {NONE}",
        "data": "real",
        "alternative": f"The height of people. {TITLE}",
    }
    assert svg == saved(experiment, "figure-1_b")[1], "drawn again, the bytes are the same"
    assert len({(experiment.folder / "figures" / f"figure-1_{part}.png").read_bytes() for part in "ab"}) == 1
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


NOTHING, PRINTED = pd.DataFrame({"y": [0]}), pd.DataFrame({"y": [0], "published": [1.0]})


@pytest.mark.parametrize(
    ("profile", "n", "n_trials", "numbers", "remarks"),
    [
        ("quick", 50, 3, PRINTED, ["Profile quick: smaller than the paper profile."]),
        ("quick", 50, 5, PRINTED, []),
        ("paper", 50, 5, PRINTED.assign(published=np.nan), [NONE]),
        ("custom", 50, 5, pd.DataFrame({"series": ["published", "ours"]}), []),
        ("custom", 60, 5, NOTHING, ["Sizes other than published.", NONE]),
    ],
)
def test_captions_say_which_sizes_are_smaller_and_what_was_not_published(toy, profile, n, n_trials, numbers, remarks):
    run = Run("toy/mean", profile, 0, {"n": n, "n_trials": n_trials})
    assert remarks_of(run, "real", numbers) == remarks


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


# Pictures: what every saved figure is held to, and what figures are drawn with.


def draw():
    figure, axes = plotting.panels(2, 3, width=2, height=1.5, sharey=True)
    for k, axis in enumerate(axes):
        axis.plot([0, k], label=f"line {k}", **plotting.LINES[k % len(plotting.LINES)])
        axis.set_xlabel("time (s)")
    figure.supylabel("way (m)")
    return figure


@pytest.fixture
def figure():
    return draw()


def test_marks_stand_below_a_legend_that_is_below(tmp_path):
    figure, [axis] = plotting.panels(1, 1, width=4, height=2)
    axis.plot([0, 1], color="black", label="a line")
    axis.set(xlabel="x", ylabel="y")
    plotting.legend_below(figure)
    save(figure, tmp_path / "a", marks=[SURROGATE_MARK])
    red, _, blue = np.moveaxis(plt.imread(tmp_path / "a.png")[..., :3], 2, 0)
    of_mark, of_legend = ((red - blue > 0.5).any(axis=1), (np.maximum(red, blue) < 0.2).any(axis=1))  # rows of pixels
    assert of_mark.any()
    assert not (of_mark & of_legend).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda figure: figure.set_size_inches(7.3, 3), r"at most 7 inches wide, found 7\.\d\d"),
        (lambda figure: figure.axes[1].set_title("tiny", fontsize=6.5), r"at least 7 points, found 'tiny' with 6\.5"),
        (lambda figure: figure.axes[2].tick_params(labelsize="x-small"), "at least 7 points"),
        (lambda figure: figure.supylabel(""), "the y axis has no label"),
        (
            lambda figure: [axis.set(xlabel="", title="A") for axis in figure.axes[::3]],
            "the x axis of 'A' has no label",
        ),
    ],
)
def test_a_figure_that_breaks_a_rule_is_refused(figure, tmp_path, change, message):
    save(figure, tmp_path / "b")
    change(figure)
    with pytest.raises(ValueError, match=message):
        save(figure, tmp_path / "a")
    assert not list(tmp_path.glob("a*"))


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ((0.4, 9), ["0.5", "1", "2", "5"]),
        ((0.4, 40), ["1", "3", "10", "30"]),
        ((900, 2e6), ["1k", "10k", "100k", "1M"]),
    ],
)
def test_a_logarithmic_axis_has_few_numbers_in_full(figure, limits, expected):
    axis = figure.axes[0]
    axis.set(xscale="log", xlim=limits)
    plotting.log_ticks(axis.xaxis)
    figure.draw_without_rendering()
    seen = [tick for tick in axis.get_xticks() if limits[0] <= tick <= limits[1]]
    assert [axis.xaxis.get_major_formatter()(tick) for tick in seen] == expected


def _seen_without_green(colour):
    """Return a colour as seen by people without the pigment for green (Viénot, Brettel and Mollon 1999)."""
    linear = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]) ** 2.2
    return np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]]) @ linear


def test_lines_can_be_distinguished_without_colour():
    marks = [tuple(value for name, value in kind.items() if name != "color") for kind in plotting.LINES]
    assert len(set(marks)) == len(plotting.LINES)
    seen = [_seen_without_green(kind["color"]) for kind in plotting.LINES]
    assert min(np.abs(a - b).max() for k, a in enumerate(seen) for b in seen[:k]) > 0.1
