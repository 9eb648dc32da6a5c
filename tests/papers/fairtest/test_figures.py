import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from fairlab.fairtest import Column, Sample
from fairlab.fairtest.report import Subgroup
from fairlab.fairtest.tree import Condition, Node
from fairlab.papers.fairtest.figures import (
    OURS,
    association_table,
    box_plots,
    box_table,
    context_counts,
    difference_table,
    found_by_size,
    found_table,
    group_shares,
    guided_tree,
    intervals,
    label_differences,
    tree_table,
)
from fairlab.plotting import BLACK, BLUE, GREY, PUBLISHED, SKY, VERMILION, check

RNG = np.random.default_rng(0)
SEX = Column("sex", np.array([0] * 40 + [1] * 60), ("f", "m"))
INCOME = Column("income", np.array([0] * 30 + [1] * 70), ("low", "high"))
AGE = Column("age", RNG.uniform(20, 59, 100))
ERROR = Column("error", 0.5 * AGE.values + RNG.normal(size=100))
PEOPLE = Sample(SEX, INCOME)
ROOT = Node(None, 0.1, 9)
OLD = Node(Condition("age", low=40.0), 0.1, 9, parent=ROOT)
POOR = Node(Condition("race", category="White Not Hispanic or Latino"), 0.1, 9, parent=OLD)
FOUND = {"global": Subgroup(ROOT, PEOPLE, ()), "sub1": Subgroup(POOR, PEOPLE.take(slice(0, 50)), ())}
NOTHING = pd.DataFrame({"value": []}, index=pd.Index([], dtype=str))
IDS = {"outputs": {"poor": "low", "rich": "high"}, "groups": {"women": "f", "men": "m"}}
COUNTS = context_counts(FOUND, NOTHING, **IDS)
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
    assert some.get_title() == "age > 40\nrace: White\n(50 patients)"
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
            "of": ["all", "nobody", "some"],
            "size": [100, 0, 100],
            "low": [0.1, np.nan, -0.1],
            "high": [0.3, np.nan, 0.2],
            "p_value": [0.01, 1.0, 0.3],
            "published_low": [0.2, np.nan, np.nan],
            "published_high": [0.6, np.nan, np.nan],
        }
    )
    figure = intervals(kept(table, tmp_path), xlabel="difference of rates", note="nobody is meant")
    [axis] = figure.axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["all", "some"]
    assert texts(axis) == ["p = 0.01, n = 100", "p = 0.3, n = 100"]
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


def printed(**values):
    frame = pd.DataFrame.from_dict(values, orient="index", columns=["value"])
    return frame.rename(index=lambda id: id.replace("__", "."))


def test_people_are_counted_by_context_output_and_group():
    assert COUNTS["people"].tolist() == [100] * 4 + [50] * 4
    assert COUNTS.set_index(["context", "group", "output"])["count"].to_dict() == {
        ("everyone", "f", "low"): 30,
        ("everyone", "f", "high"): 10,
        ("everyone", "m", "low"): 0,
        ("everyone", "m", "high"): 60,
        ("age > 40, race: White", "f", "low"): 30,
        ("age > 40, race: White", "f", "high"): 10,
        ("age > 40, race: White", "m", "low"): 0,
        ("age > 40, race: White", "m", "high"): 10,
    }


def test_published_counts_stand_below_those_of_the_same_context_and_group():
    ids = {"outputs": {"poor": "low", "rich": "high"}, "groups": {"men": "m"}, "prefix": "sex."}
    published = printed(sex__global__size=7, sex__global__poor__men=2, sex__global__rich__men=3)
    table = context_counts(FOUND, published, **ids)
    below = table[table["series"] == PUBLISHED["label"]]
    assert below[["context", "people", "group", "output", "count"]].to_numpy().tolist() == [
        ["everyone", 7, "m", "low", 2],
        ["everyone", 7, "m", "high", 3],
    ]
    assert table["group"].unique().tolist() == ["m"]
    assert context_counts(FOUND, published, **ids, others=True)["group"].unique().tolist() == ["f", "m"]


def test_associations_stand_beside_the_published_intervals_of_their_names(association):
    published = pd.DataFrame({"low": [0.1], "high": [0.3]}, index=["poor women"])
    tests = {"poor women": association(0.2, 0.4, 0.03), "poor men": association(0.0, 0.1, 0.5)}
    first, second = association_table(tests, published).to_dict("records")
    assert first == {
        "of": "poor women",
        "size": 20,
        "low": 0.2,
        "high": 0.4,
        "p_value": 0.03,
        "published_low": 0.1,
        "published_high": 0.3,
    }
    assert np.isnan(second["published_low"])
    assert list(association_table(tests)) == ["of", "size", "low", "high", "p_value"]


def test_boxes_by_decade_stand_where_the_line_has_their_people():
    table = box_table({"all": Sample(AGE, ERROR)})
    assert table["group"].tolist() == ["20–29", "30–39", "40–49", "50–59"]
    thirties = ERROR.values[(AGE.values >= 30) & (AGE.values < 40)]
    row = table.iloc[1]
    assert row[["q1", "med", "q3"]].tolist() == pytest.approx(np.quantile(thirties, [0.25, 0.5, 0.75]).tolist())
    assert row["mean"] == pytest.approx(thirties.mean())
    slope = np.diff(table["line"]) / np.diff(table["position"])
    assert slope == pytest.approx(np.polyfit(AGE.values, ERROR.values, 1)[0])


def test_people_beyond_the_whiskers_are_counted():
    output = Column("error", np.array([1.0, 2, 3, 4, 100] + [5.0] * 5))
    table = box_table({"all": Sample(Column("sex", np.repeat([0, 1], 5), ("f", "m")), output)})
    assert table[["group", "count", "whishi", "beyond", "least", "most"]].to_numpy().tolist() == [
        ["f", 5, 4, 1, 1, 100],
        ["m", 5, 5, 0, 5, 5],
    ]
    assert table["line"].isna().all()


def test_values_of_an_attribute_may_have_names():
    codes = Column("age", np.repeat([10.0, 20.0, 40.0], 5))
    bands = {10: "under 18", 20: "18–24", 30: "25–34", 40: "35–44"}
    table = box_table({"all": Sample(codes, Column("error", codes.values))}, bands=bands)
    assert table["group"].tolist() == ["under 18", "18–24", "35–44"]
    assert table["position"].tolist() == [10, 20, 40]


def test_a_tree_is_listed_from_the_top_down():
    root = Node(None, 0.1, 100)
    old = Node(Condition("age", low=40.0), 0.2, 60, parent=root)
    young = Node(Condition("age", high=40.0), 0.0, 40, parent=root)
    below = Node(Condition("sex", category="f"), 0.3, 30, parent=old)
    root.children, old.children = [old, young], [below]
    table = tree_table(root, max_depth=1, reported=[root, old])
    assert table["condition"].tolist() == ["everyone", "age > 40", "age ≤ 40"]
    assert table["parent"].tolist() == [-1, 0, 0]
    assert table["reported"].tolist() == [True, True, False]
    assert tree_table(root)["depth"].tolist() == [0, 1, 2, 1]
    assert tree_table(root)["parent"].tolist() == [-1, 0, 1, 0]


def test_label_tables_are_stacked_under_the_names_of_their_groups():
    numbers = {"low": [-0.3], "high": [-0.1], "p_value": [0.01]}
    tables = {
        "by race": pd.DataFrame({"black": [0.1], "white": [0.3]} | numbers, index=["tree"]),
        "by sex": pd.DataFrame({"f": [0.2], "m": [0.4]} | numbers, index=["cart"]),
    }
    table = difference_table(tables)
    columns = ["panel", "label", "first", "second", "share_of_first", "share_of_second", "low"]
    assert table[columns].to_numpy().tolist() == [
        ["by race", "tree", "black", "white", 0.1, 0.3, -0.3],
        ["by sex", "cart", "f", "m", 0.2, 0.4, -0.3],
    ]


def test_found_effects_are_means_beside_the_print():
    planted = pd.DataFrame(
        {"size": [100, 100, 500, 500], "delta": [2.5] * 4, "found": [2, 4, 9, 10], "validated": [0, 1, 8, 8]}
    )
    table = found_table(planted, pd.Series({"delta_2_5.size_100": 1.5, "delta_2_5.size_500": 8.0}))
    figure = found_by_size(table)
    found, validated = figure.axes
    ours, print_ = found.lines[:2]
    assert list(ours.get_ydata()) == [3, 9.5]
    assert list(print_.get_ydata()) == [1.5, 8]
    assert print_.get_markerfacecolor() == "none"
    assert list(validated.lines[0].get_ydata()) == [0.5, 8]
    assert figure.legends[0].get_texts()[0].get_text() == "Δ = 2.5 points"
    check(figure)
