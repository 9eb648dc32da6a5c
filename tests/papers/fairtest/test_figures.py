import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from fairlab.fairtest import Column, Sample
from fairlab.fairtest.report import Subgroup
from fairlab.fairtest.tree import Condition, Node
from fairlab.papers.fairtest import figures
from fairlab.plotting import BLACK, BLUE, GREY, PUBLISHED, SKY, VERMILION

RNG = np.random.default_rng(0)
SEX = Column("sex", np.array([0] * 40 + [1] * 60), ("f", "m"))
AGE = Column("age", RNG.uniform(20, 59, 100))
ERROR = Column("error", 0.5 * AGE.values + RNG.normal(size=100))
PEOPLE = Sample(SEX, Column("income", np.array([0] * 30 + [1] * 70), ("low", "high")))
ROOT = Node(None, 0.1, 9)
OLD = Node(Condition("age", low=40.0), 0.1, 9, parent=ROOT)
POOR = Node(Condition("race", category="White Not Hispanic or Latino"), 0.1, 9, parent=OLD)
FOUND = {"global": Subgroup(ROOT, PEOPLE, ()), "sub1": Subgroup(POOR, PEOPLE.take(slice(0, 50)), ())}
PRINTED = pd.DataFrame(
    {"value": [90, 2, 1, 3, 4]},
    index=["global.size", "global.poor.men", "global.poor.women", "global.rich.men", "global.rich.women"],
)
IDS = {"outputs": {"poor": "low", "rich": "high"}, "groups": {"women": "f", "men": "m"}}


def marks(axis, look):
    """Return the places of the marks of one look."""
    lines = [line for line in axis.lines if line.get_marker() == look["marker"] and len(line.get_xdata())]
    return [list(line.get_xdata()) for line in lines if line.get_color() == look["color"]]


def test_people_are_counted_by_context_output_and_group_and_published_ones_stand_below():
    table = figures.context_counts(FOUND, PRINTED, **IDS)
    counts = table.set_index(["series", "context", "people", "group", "output"])["count"].to_dict()
    ours = {("f", "low"): (30, 30), ("f", "high"): (10, 10), ("m", "low"): (0, 0), ("m", "high"): (60, 10)}
    contexts = {("this run", "everyone", 100): 0, ("this run", "age > 40, race: White", 50): 1}
    expected = {(*context, *cell): both[k] for context, k in contexts.items() for cell, both in ours.items()}
    printed = {("f", "low"): 1, ("f", "high"): 4, ("m", "low"): 2, ("m", "high"): 3}
    assert counts == expected | {(PUBLISHED["label"], "everyone", 90, *cell): n for cell, n in printed.items()}


def test_shares_of_each_group_with_counts_intervals_and_published_marks():
    table = figures.context_counts(FOUND, PRINTED, **IDS)
    everyone, some = figures.group_shares(table, output="low", xlabel="share (%)", ylabel="sex", note="").axes
    assert [text.get_text() for text in some.texts] == ["30 of 40", "0 of 10"]
    assert (marks(everyone, figures.OURS), marks(everyone, PUBLISHED)) == ([[75, 0]], [[20, 40]])
    ends = everyone.collections[-1].get_segments()[0][:, 0]
    assert ends.tolist() == pytest.approx([100 * end for end in proportion_confint(30, 40, method="wilson")])


def test_boxes_count_people_beyond_the_whiskers():
    output = Column("error", np.array([1.0, 2, 3, 4, 100] + [5.0] * 5))
    table = figures.box_table({"all": Sample(Column("sex", np.repeat([0, 1], 5), ("f", "m")), output)})
    columns = ["group", "count", "whishi", "beyond", "least", "most"]
    assert table[columns].to_numpy().tolist() == [["f", 5, 4, 1, 1, 100], ["m", 5, 5, 0, 5, 5]]
    assert table["line"].isna().all()


def test_boxes_by_decade_stand_where_the_line_has_their_people():
    table = figures.box_table({"all": Sample(AGE, ERROR)})
    assert table["group"].tolist() == ["20–29", "30–39", "40–49", "50–59"]
    thirties = ERROR.values[(AGE.values >= 30) & (AGE.values < 40)]
    assert table.loc[1, ["q1", "med", "q3", "mean"]].tolist() == pytest.approx(
        [*np.quantile(thirties, [0.25, 0.5, 0.75]), thirties.mean()]
    )
    slope = np.diff(table["line"]) / np.diff(table["position"])
    assert slope == pytest.approx(np.polyfit(AGE.values, ERROR.values, 1)[0])


def test_intervals_from_the_top_down_beside_the_published_ones(association):
    published = pd.DataFrame({"low": [0.2], "high": [0.6]}, index=["all"])
    tests = {"all": association(0.1, 0.3), "some": association(-0.1, 0.2, 0.3)}
    table = figures.association_table(tests, published)
    assert table.loc[0].tolist() == ["all", 20, 0.1, 0.3, 0.01, 0.2, 0.6]
    nobody = table.tail(1).assign(of="nobody", size=0)
    [axis] = figures.intervals(pd.concat([table, nobody]), xlabel="difference of rates").axes
    drawn = [line for line in axis.lines if line.get_marker() in "oD" and len(line.get_xdata())]
    looks = [(line.get_markerfacecolor(), line.get_color()) for line in drawn]
    assert looks == [(BLUE, BLUE), ("none", BLACK), ("white", BLUE)]
    assert drawn[1].get_xdata() == pytest.approx([0.4])


def test_a_tree_is_listed_from_the_top_down():
    root = Node(None, 0.1, 100)
    old = Node(Condition("age", low=40.0), 0.2, 60, parent=root)
    young = Node(Condition("age", high=40.0), 0.0, 40, parent=root)
    below = Node(Condition("sex", category="f"), 0.3, 30, parent=old)
    root.children, old.children = [old, young], [below]
    whole = figures.tree_table(root)
    assert whole[["depth", "parent"]].to_numpy().tolist() == [[0, -1], [1, 0], [2, 1], [1, 0]]


def test_labels_stand_in_the_order_of_their_lower_ends_coloured_by_the_group_they_lean_to():
    numbers = {"low": [-0.3, 0.2, -0.1], "high": [-0.1, 0.4, 0.1], "p_value": 0.01}
    shares = pd.DataFrame({"black": 0.1, "white": 0.3} | numbers, index=["tree", "cart", "shop"])
    table = figures.difference_table({"half": shares})
    assert (
        table[["first", "share_of_first", "second", "share_of_second"]].to_numpy().tolist()
        == [["black", 0.1, "white", 0.3]] * 3
    )
    printed = pd.DataFrame({"label": ["cart", "absent"], "low": 0.1, "high": 0.3, "series": PUBLISHED["label"]})
    [axis] = figures.label_differences(pd.concat([table, printed.assign(panel="half")])).axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["tree", "shop", "cart"]
    colors = {bars.lines[0].get_color(): list(bars.lines[0].get_xdata()) for bars in axis.containers}
    assert colors == {VERMILION: pytest.approx([30]), SKY: pytest.approx([-20]), GREY: pytest.approx([0])}
    assert marks(axis, PUBLISHED) == [pytest.approx([20])]


def test_found_effects_are_means_beside_the_print():
    planted = pd.DataFrame(
        {"size": [100, 100, 500, 500], "delta": [2.5] * 4, "found": [2, 4, 9, 10], "validated": [0, 1, 8, 8]}
    )
    printed = pd.Series({"delta_2_5.size_100": 1.5, "delta_2_5.size_500": 8.0})
    found, validated = figures.found_by_size(figures.found_table(planted, printed)).axes
    assert [list(line.get_ydata()) for line in found.lines[:2]] == [[3, 9.5], [1.5, 8]]
    assert list(validated.lines[0].get_ydata()) == [0.5, 8]
