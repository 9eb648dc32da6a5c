import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from fairlab.fairtest import Column, Difference, Sample
from fairlab.fairtest.figures import (
    associations,
    box_plots,
    guided_tree,
    intervals,
    label_differences,
    titled_samples,
)
from fairlab.fairtest.finding import Association, Finding
from fairlab.fairtest.metric import Hypothesis
from fairlab.fairtest.tree import Condition, Node
from fairlab.plotting import BLUE, GREY, VERMILION

RNG = np.random.default_rng(0)
SEX = Column("sex", np.array([0] * 40 + [1] * 60), ("f", "m"))
INCOME = Column("income", np.array([0] * 30 + [1] * 70), ("low", "high"))
AGE = Column("age", RNG.uniform(20, 59, 100))
ERROR = Column("error", 0.5 * AGE.values + RNG.normal(size=100))


def texts(axis):
    return [text.get_text() for text in axis.texts]


def test_tables_become_heat_maps_with_counts_and_shares():
    figure = associations({"all": Sample(SEX, INCOME), "some": Sample(SEX, INCOME).take(slice(0, 35))})
    first, second = figure.axes
    assert texts(first) == ["30\n75%", "0\n0%", "10\n25%", "60\n100%"]
    assert texts(second) == ["30\n86%", "0\n0%", "5\n14%", "0\n0%"]
    assert first.get_ylabel() == "income"
    assert first.get_xlabel() == "sex"
    np.testing.assert_allclose(first.images[0].get_array(), [[0.75, 0], [0.25, 1]])


def test_some_groups_may_be_left_out_without_changing_shares():
    figure = associations({"all": Sample(SEX, INCOME)}, groups=["m"])
    assert texts(figure.axes[0]) == ["0\n0%", "60\n100%"]


def test_groups_may_have_other_names_on_the_figure():
    [axis] = associations({"all": Sample(SEX, INCOME)}, groups={"m": "men", "f": "women"}).axes
    assert [label.get_text() for label in axis.get_xticklabels()] == ["men", "women"]
    assert texts(axis) == ["0\n0%", "30\n75%", "60\n100%", "10\n25%"]


def test_titles_have_a_condition_on_each_line_and_the_number_of_people():
    sample = Sample(SEX, INCOME)
    root = Node(None, 0.1, 9)
    young = Node(Condition("age", high=40.0), 0.1, 9, parent=root)
    poor = Node(Condition("state", category="New York"), 0.1, 9, parent=young)
    titles = titled_samples(
        [Finding(root, sample, ()), Finding(poor, sample.take(slice(0, 30)), ())],
        people="shoppers",
        short=lambda words: words.replace("New York", "NY"),
    )
    assert list(titles) == ["everyone\n(100 shoppers)", "age ≤ 40\nstate: NY\n(30 shoppers)"]
    assert [len(part) for part in titles.values()] == [100, 30]


def test_numbers_become_boxes_by_decade_with_a_line():
    [axis] = associations({"all": Sample(AGE, ERROR)}).axes
    assert [label.get_text() for label in axis.get_xticklabels()] == ["20–29", "30–39", "40–49", "50–59"]
    line = next(line for line in axis.lines if line.get_label() == "least squares")
    (x0, x1), (y0, y1) = line.get_data()
    assert (y1 - y0) / (x1 - x0) == pytest.approx(0.5, abs=0.03)


def test_boxes_stand_where_the_line_has_their_people():
    codes = Column("age", np.repeat([10.0, 20.0, 40.0], 5))
    [axis] = box_plots({"all": Sample(codes, Column("error", codes.values))}).axes
    assert axis.get_xticks().tolist() == [10, 20, 40]


def test_numbers_by_group():
    [axis] = associations({"all": Sample(SEX, ERROR)}).axes
    assert [label.get_text() for label in axis.get_xticklabels()] == ["f", "m"]
    assert axis.get_ylabel() == "error"


def test_intervals_from_the_top_down_without_those_of_nobody():
    def association(low, high, p_value, sample):
        return Association(Hypothesis("", Difference(), sample), low, high, p_value, p_value)

    sample = Sample(SEX, INCOME)
    tests = {
        "all": association(0.1, 0.3, 0.01, sample),
        "nobody": association(np.nan, np.nan, 1.0, sample.take(slice(0, 0))),
        "some": association(-0.1, 0.2, 0.3, sample),
    }
    [axis] = intervals(tests, xlabel="difference of rates").axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["all", "some"]
    assert texts(axis) == ["p = 0.01, n = 100", "p = 0.3, n = 100"]
    assert axis.get_ylim()[0] > axis.get_ylim()[1]
    filled = [line.get_markerfacecolor() != "white" for line in axis.lines if line.get_marker() == "o"]
    assert filled == [True, False]


def test_tree_shows_conditions_sizes_and_what_is_reported():
    root = Node(None, 0.1, 100)
    old = Node(Condition("age", low=40.0), 0.2, 60, parent=root)
    young = Node(Condition("age", high=40.0), 0.0, 40, parent=root)
    below = Node(Condition("sex", category="f"), 0.3, 30, parent=old)
    root.children, old.children = [old, young], [below]
    axis = guided_tree(root, max_depth=1, reported=[root, old]).axes[0]
    assert texts(axis) == ["everyone  (100)", "age > 40  (60)", "age ≤ 40  (40)"]
    assert [text.get_weight() for text in axis.texts] == ["bold", "bold", "normal"]
    assert len(guided_tree(root).axes[0].texts) == 4


def test_figures_are_closed():
    before = plt.get_fignums()
    associations({"all": Sample(AGE, ERROR)})
    guided_tree(Node(None, 0.0, 5))
    assert plt.get_fignums() == before


def test_bad_input():
    with pytest.raises(ValueError, match="samples: expected at least one, found none"):
        associations({})
    with pytest.raises(ValueError, match="column 'income' has categories, box plots need a continuous output"):
        box_plots({"all": Sample(AGE, INCOME)})


def test_labels_stand_in_the_order_of_their_lower_ends_coloured_by_the_group_they_lean_to():
    table = pd.DataFrame(
        {"black": [0.1, 0.5, 0.3], "white": [0.3, 0.2, 0.3], "low": [-0.3, 0.2, -0.1], "high": [-0.1, 0.4, 0.1]},
        index=["tree", "cart", "shop"],
    )
    [axis] = label_differences({"half": table}).axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["tree", "shop", "cart"]
    assert axis.get_xlabel() == "share of black minus share of white"
    assert {container.lines[0].get_color(): list(container.lines[0].get_xdata()) for container in axis.containers} == {
        VERMILION: pytest.approx([0.3]),
        BLUE: pytest.approx([-0.2]),
        GREY: pytest.approx([0.0]),
    }
