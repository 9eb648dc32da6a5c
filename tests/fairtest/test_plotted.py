import numpy as np
import pandas as pd
import pytest

from fairlab.fairtest import Column, Sample
from fairlab.fairtest.finding import Finding
from fairlab.fairtest.plotted import box_table, difference_table, group_counts, titled_samples, tree_table
from fairlab.fairtest.tree import Condition, Node

RNG = np.random.default_rng(0)
SEX = Column("sex", np.array([0] * 40 + [1] * 60), ("f", "m"))
INCOME = Column("income", np.array([0] * 30 + [1] * 70), ("low", "high"))
AGE = Column("age", RNG.uniform(20, 59, 100))
ERROR = Column("error", 0.5 * AGE.values + RNG.normal(size=100))


def test_titles_have_the_conditions_of_each_context():
    sample = Sample(SEX, INCOME)
    root = Node(None, 0.1, 9)
    young = Node(Condition("age", high=40.0), 0.1, 9, parent=root)
    poor = Node(Condition("state", category="New York"), 0.1, 9, parent=young)
    titles = titled_samples(
        [Finding(root, sample, ()), Finding(poor, sample.take(slice(0, 30)), ())],
        short=lambda words: words.replace("New York", "NY"),
    )
    assert list(titles) == ["everyone", "age ≤ 40, state: NY"]
    assert [len(part) for part in titles.values()] == [100, 30]


def test_people_are_counted_by_output_and_group():
    table = group_counts({"all": Sample(SEX, INCOME), "some": Sample(SEX, INCOME).take(slice(0, 35))})
    assert table["people"].tolist() == [100] * 4 + [35] * 4
    assert table.set_index(["context", "group", "output"])["count"].to_dict() == {
        ("all", "f", "low"): 30,
        ("all", "f", "high"): 10,
        ("all", "m", "low"): 0,
        ("all", "m", "high"): 60,
        ("some", "f", "low"): 30,
        ("some", "f", "high"): 5,
        ("some", "m", "low"): 0,
        ("some", "m", "high"): 0,
    }


def test_some_groups_may_be_left_out_and_have_other_names():
    assert set(group_counts({"all": Sample(SEX, INCOME)}, groups=["m"])["group"]) == {"m"}
    table = group_counts({"all": Sample(SEX, INCOME)}, groups={"m": "men", "f": "women"})
    assert table["group"].tolist() == ["men", "men", "women", "women"]
    assert table["people"].unique().tolist() == [100]
    with pytest.raises(ValueError, match="samples: expected at least one, found none"):
        group_counts({})


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
    with pytest.raises(ValueError, match="bands: found the value 40, expected one of 10, 20"):
        box_table({"all": Sample(codes, Column("error", codes.values))}, bands={10: "", 20: ""})
    with pytest.raises(ValueError, match="column 'income' has categories, box plots need a continuous output"):
        box_table({"all": Sample(AGE, INCOME)})


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
