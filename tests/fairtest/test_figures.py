import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from fairlab.fairtest import Column, Sample
from fairlab.fairtest.figures import OURS, box_plots, group_shares, guided_tree, intervals, label_differences
from fairlab.fairtest.plotted import box_table, group_counts
from fairlab.plotting import BLACK, BLUE, GREY, PUBLISHED, SKY, VERMILION, check

RNG = np.random.default_rng(0)
SEX = Column("sex", np.array([0] * 40 + [1] * 60), ("f", "m"))
INCOME = Column("income", np.array([0] * 30 + [1] * 70), ("low", "high"))
AGE = Column("age", RNG.uniform(20, 59, 100))
ERROR = Column("error", 0.5 * AGE.values + RNG.normal(size=100))
COUNTS = group_counts({"everyone": Sample(SEX, INCOME), "age > 40, poor": Sample(SEX, INCOME).take(slice(0, 50))})
SHARES = {"output": "low", "xlabel": "share with low income (%)", "ylabel": "sex"}


def texts(axis):
    return [text.get_text() for text in axis.texts]


def marks(axis, look):
    """Return the places of the marks of one look."""
    lines = [line for line in axis.lines if line.get_marker() == look["marker"] and len(line.get_xdata())]
    return [list(line.get_xdata()) for line in lines if line.get_color() == look["color"]]


def kept(table, tmp_path):
    """Return a table as it is read from its file."""
    table.to_csv(tmp_path / "numbers.csv", index=False)
    return pd.read_csv(tmp_path / "numbers.csv")


def test_shares_of_each_group_with_counts_and_intervals(tmp_path):
    figure = group_shares(kept(COUNTS, tmp_path), people="patients", **SHARES)
    everyone, some = figure.axes
    assert texts(everyone) == ["30 of 40", "0 of 60"]
    assert texts(some) == ["30 of 40", "0 of 10"]
    assert some.get_title() == "age > 40\npoor\n(50 patients)"
    assert marks(everyone, OURS) == [[75, 0]]
    ends = [end * 100 for end in proportion_confint(30, 40, method="wilson")]
    segments = everyone.collections[-1].get_segments()
    assert segments[0][:, 0].tolist() == pytest.approx(ends)
    check(figure)


def test_printed_counts_are_open_marks_of_their_group():
    printed = pd.DataFrame(
        [
            {"context": "everyone", "people": 90, "group": "m", "output": output, "count": count}
            for output, count in (("low", 1), ("high", 3))
        ]
    )
    figure = group_shares(pd.concat([COUNTS, printed.assign(series=PUBLISHED["label"])]), **SHARES)
    everyone, some = figure.axes
    assert marks(everyone, PUBLISHED) == [[25]]
    [mark] = [line for line in everyone.lines if line.get_marker() == PUBLISHED["marker"]]
    assert mark.get_ydata().tolist() == [1]
    assert mark.get_markerfacecolor() == "none"
    assert marks(some, PUBLISHED) == []
    assert "(100 people)" in everyone.get_title()
    with pytest.raises(ValueError, match="output: expected one of low, high, found 'middle'"):
        group_shares(COUNTS, **SHARES | {"output": "middle"})


def test_a_note_stands_below_in_the_picture():
    figure = group_shares(COUNTS, note="generated, so that nobody is meant", **SHARES)
    assert figure.get_supxlabel() == "share with low income (%)\n\ngenerated, so that nobody is meant"


def test_boxes_say_what_they_leave_out(tmp_path):
    values = np.concatenate([RNG.normal(size=99), [50]])
    table = box_table({"all": Sample(SEX, Column("error", values))})
    figure = box_plots(kept(table, tmp_path), labels={"error": "error (days)"}, people="patients")
    [axis] = figure.axes
    beyond = table["beyond"].sum()
    words = f"100 patients, from {values.min():.3g} to 50;\nbeyond the whiskers, not drawn: {beyond / 100:.1%}"
    assert axis.get_title() == f"all\n{words}"
    assert axis.get_ylabel() == "error (days)"
    assert [label.get_text() for label in axis.get_xticklabels()] == ["f", "m"]
    assert axis.get_ylim()[1] < 50
    check(figure)


def test_boxes_of_a_continuous_attribute_have_a_line():
    [axis] = box_plots(box_table({"all": Sample(AGE, ERROR)})).axes
    assert [label.get_text() for label in axis.get_xticklabels()] == ["20–29", "30–39", "40–49", "50–59"]
    line = next(line for line in axis.lines if line.get_label() == "least squares")
    (x0, *_, x1), (y0, *_, y1) = line.get_data()
    assert (y1 - y0) / (x1 - x0) == pytest.approx(0.5, abs=0.03)


def test_intervals_from_the_top_down_without_those_of_nobody(tmp_path):
    table = pd.DataFrame(
        {
            "of": ["all", "nobody", "some", "all"],
            "size": [100, 0, 100, 90],
            "low": [0.1, np.nan, -0.1, 0.2],
            "high": [0.3, np.nan, 0.2, 0.6],
            "p_value": [0.01, 1.0, 0.3, 0.002],
            "series": [np.nan, np.nan, np.nan, PUBLISHED["label"]],
        }
    )
    figure = intervals(kept(table, tmp_path), xlabel="difference of rates", note="nobody is meant")
    [axis] = figure.axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["all", "some"]
    assert texts(axis) == ["p = 0.01, n = 100", "p = 0.002, n = 90", "p = 0.3, n = 100"]
    assert axis.get_ylim()[0] > axis.get_ylim()[1]
    drawn = [line for line in axis.lines if line.get_marker() in "oD" and len(line.get_xdata())]
    assert [line.get_markerfacecolor() for line in drawn] == [BLUE, "none", "white"]
    assert [line.get_color() for line in drawn] == [BLUE, BLACK, BLUE]
    assert drawn[1].get_xdata() == pytest.approx([0.4])
    assert figure.get_supxlabel().endswith("nobody is meant")
    check(figure)


def test_tree_shows_conditions_sizes_and_what_is_reported(tmp_path):
    table = pd.DataFrame(
        {
            "condition": ["everyone", "age > 40", "age ≤ 40"],
            "depth": [0, 1, 1],
            "parent": [-1, 0, 0],
            "size": [100, 60, 40],
            "effect": [0.1, 0.2, 0.0],
            "reported": [True, True, False],
        }
    )
    figure = guided_tree(kept(table, tmp_path))
    axis = figure.axes[0]
    assert texts(axis) == ["everyone  (100)", "age > 40  (60)", "age ≤ 40  (40)"]
    assert [text.get_weight() for text in axis.texts] == ["bold", "bold", "normal"]
    assert [list(line.get_ydata()) for line in axis.lines] == [[0, -1, -1], [0, -2, -2]]
    check(figure)


def test_labels_stand_in_the_order_of_their_lower_ends_coloured_by_the_group_they_lean_to(tmp_path):
    table = pd.DataFrame(
        {
            "panel": "half",
            "label": ["tree", "cart", "shop", "cart", "absent"],
            "first": "black",
            "second": "white",
            "low": [-0.3, 0.2, -0.1, 0.1, 0.1],
            "high": [-0.1, 0.4, 0.1, 0.3, 0.3],
            "series": [np.nan] * 3 + [PUBLISHED["label"]] * 2,
        }
    )
    figure = label_differences(kept(table, tmp_path))
    [axis] = figure.axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["tree", "shop", "cart"]
    assert axis.get_xlabel() == "share of black\nminus share of white (% points)"
    assert {container.lines[0].get_color(): list(container.lines[0].get_xdata()) for container in axis.containers} == {
        VERMILION: pytest.approx([30]),
        SKY: pytest.approx([-20]),
        GREY: pytest.approx([0]),
    }
    assert marks(axis, PUBLISHED) == [pytest.approx([20])]
    check(figure)


def test_figures_are_closed_and_ask_for_their_columns():
    assert plt.get_fignums() == []
    with pytest.raises(ValueError, match="table: no column beyond, least, line, most"):
        box_plots(pd.DataFrame({"context": [], "group": [], "position": [], "count": []}))
