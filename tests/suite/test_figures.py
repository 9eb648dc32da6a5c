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
from fairlab.suite.drawing import FORMATS, SURROGATE_MARK, TITLE_MARK, remarks_of, save
from fairlab.suite.experiment import Experiment
from fairlab.suite.run import Run, run_folder

TITLE, NONE = "The heights of 3 people.", "The paper has no numbers of what is drawn."
SMALL = f"Profile smoke: smaller than the paper profile. {TITLE_MARK.capitalize()}."


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
    for part in "ab":
        experiment.figure("figure-1", line(numbers, color="red"), data=numbers, caption=caption, part=part)
    entry, svg, frame = saved(experiment, "figure-1_a")
    assert entry == {
        "caption": f"{caption} {SMALL} {NONE}",
        "data": "real",
        "alternative": f"The height of people. {TITLE}",
    }
    assert svg == saved(experiment, "figure-1_b")[1], "drawn again, the bytes are the same"
    assert len({(experiment.folder / "figures" / f"figure-1_{part}.png").read_bytes() for part in "ab"}) == 1
    rounded = pd.DataFrame({"id": [3, 4, 5], "y": [0.33333, 2e-7, np.nan], "of": ["a", "b", "x"]})
    pd.testing.assert_frame_equal(frame, rounded, check_dtype=False)
    assert plt.get_fignums() == [], "a notebook would show what is open a second time"


def test_captions_say_what_the_numbers_rest_on_and_surrogates_also_the_picture(experiment):
    experiment.run.note_load({"variant": "law-school", "source": "surrogate"}, {})
    numbers = pd.DataFrame({"y": [0, 1]})
    experiment.figure("figure-1", line(numbers), data=numbers)
    experiment.figure("figure-1", line(numbers), data=numbers, part="real", rests_on=["berkeley"])
    experiment.table("table-1", numbers)
    entry, real = (saved(experiment, stem)[0] for stem in ("figure-1", "figure-1_real"))
    caption = f"{SURROGATE_MARK[0].upper()}{SURROGATE_MARK[1:]}. {SMALL} {NONE}"
    assert [entry["caption"], entry["data"], real["caption"], real["data"]] == [
        caption,
        "surrogate",
        f"{SMALL} {NONE}",
        "real",
    ]
    files = ("figures/figure-1.svg", "figures/figure-1.csv", "tables/table-1.csv", "figures/figure-1_real.svg")
    marked = [file for file in files if SURROGATE_MARK in (experiment.folder / file).read_text()]
    assert marked == [*files[:3]]
    experiment.figure("figure-1", line(numbers), data=numbers.assign(data=["real", "surrogate"]), part="both")
    entry, svg, content = saved(experiment, "figure-1_both")
    assert (entry["caption"], entry["data"]) == (f"In part {SURROGATE_MARK}. {SMALL} {NONE}", "surrogate")
    assert f"in part {SURROGATE_MARK}" in svg.decode() and content["data"].tolist() == ["real", "surrogate"]


@pytest.mark.parametrize(("given", "is_marked"), [({}, False), ({"seed": 1}, True), ({"profile": "smoke"}, True)])
def test_a_picture_of_another_size_or_seed_says_that_its_title_may_not_hold(toy, given, is_marked):
    experiment = Experiment("toy/mean", **given)
    experiment.figure("figure-1", line(NOTHING), data=NOTHING)
    entry, svg, _ = saved(experiment)
    assert [TITLE_MARK in svg.decode(), TITLE_MARK.capitalize() in entry["caption"]] == [is_marked] * 2


NOTHING, PRINTED = pd.DataFrame({"y": [0]}), pd.DataFrame({"y": [0], "published": [1.0]})


@pytest.mark.parametrize(
    ("profile", "n", "n_trials", "numbers", "remarks"),
    [
        ("quick", 50, 3, PRINTED, ["Profile quick: smaller than the paper profile."]),
        ("quick", 50, 5, PRINTED, []),
        ("paper", 50, 5, PRINTED.assign(published=np.nan), [NONE]),
        ("custom", 50, 5, pd.DataFrame({"series": ["published", "ours"]}), [f"{TITLE_MARK.capitalize()}."]),
        ("custom", 60, 5, NOTHING, ["Sizes other than published.", f"{TITLE_MARK.capitalize()}.", NONE]),
    ],
)
def test_captions_say_which_sizes_are_smaller_and_what_was_not_published(toy, profile, n, n_trials, numbers, remarks):
    assert remarks_of(Run("toy/mean", profile, 0, {"n": n, "n_trials": n_trials}), "real", numbers) == remarks


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


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.glob("*")}


PLAIN, RED = ({f"figure-1{part}.{suffix}" for suffix in FORMATS} for part in ("", "_red"))


def test_committed_figures_change_by_a_command_where_a_run_renews_them(
    publish, toy, results, tmp_path, monkeypatch, capsys
):
    folder, before = toy / "figures" / "toy", {}
    for run, arguments, changed in (
        ({"profile": "smoke"}, [], set()),
        ({"profile": "smoke"}, ["--write"], {"index.json"} | PLAIN | RED),
        ({"height": 9}, ["--write", "toy/figure-1"], {"index.json"} | PLAIN),
        ({"profile": "paper", "source": "surrogate"}, ["--write"], {"index.json"} | RED),  # those at quick
        ({"height": 2, "seed": 5}, ["--write"], set()),
        ({"height": 2, "parts": [None]}, ["--write"], PLAIN),
    ):
        publish(**run)
        assert main(["figures", *arguments]) == 0
        after = contents(folder)
        assert {name for name in after if after[name] != before.get(name)} == changed
        before = after
    # Between them stand the figures that runs show.
    said = [line.rpartition(": ") for line in capsys.readouterr().out.splitlines() if line.startswith("figures in ")]
    assert said[0][0] == f"figures in {results / 'figures'}"
    assert [number for *_, number in said] == ["2", "2", "1", "2", "2", "1"]
    entry = json.loads((folder / "index.json").read_text())["figure-1_red"]
    assert (entry["experiment"], entry["profile"], entry["data"], entry["seed"]) == ("toy/mean", "quick", "real", 0)
    # The rule holds however the folder is named.
    (toy / "figures" / "runs.json").write_text(json.dumps({"toy/mean": {"profile": "paper"}}))
    publish(height=3)
    assert main(["figures"]) == 0
    assert contents(results / "figures" / "toy")["figure-1.png"] != before["figure-1.png"]
    monkeypatch.chdir(toy)
    (tmp_path / "link").symlink_to(toy / "figures")
    for name in ("figures", "./figures/../figures/", str(tmp_path / "link")):
        assert main(["figures", "--output", name]) == 0
    assert contents(folder) == before
    # Without a run the committed ones are copied.
    shutil.rmtree(results)
    assert main(["figures", "--output", str(tmp_path / "out")]) == 0
    assert contents(tmp_path / "out" / "toy") == before


# Pictures: what every saved figure is held to, and what figures are drawn with.


@pytest.fixture
def figure():
    figure, axes = plotting.panels(2, 3, width=2, height=1.5, sharey=True)
    for k, axis in enumerate(axes):
        axis.plot([0, k], label=f"line {k}", **plotting.LINES[k % len(plotting.LINES)])
        axis.set_xlabel("time (s)")
    figure.supylabel("way (m)")
    return figure


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
