import numpy as np
import pandas as pd
import pytest

from fairlab.fairtest import Column, Sample
from fairlab.fairtest.figures import OURS
from fairlab.fairtest.finding import Finding
from fairlab.fairtest.tree import Node
from fairlab.papers.fairtest.figures import (
    context_counts,
    contexts_table,
    counts_beside_published,
    found_by_size,
    found_table,
    printed_intervals,
    printed_labels,
    time_shares,
    time_table,
)
from fairlab.plotting import PUBLISHED, check


def texts(axis):
    return [text.get_text() for text in axis.texts]


def printed(**values):
    frame = pd.DataFrame.from_dict(values, orient="index", columns=["value"])
    return frame.rename(index=lambda id: id.replace("__", "."))


def test_printed_counts_stand_below_those_of_the_same_context_and_group():
    race = Column("race", np.array([0, 1, 1]), ("White Not Hispanic or Latino", "Asian"))
    price = Column("price", np.array([0, 0, 1]), ("high", "low"))
    found = {
        "global": Finding(Node(None, 0.1, 9), Sample(race, price), ()),
    }
    published = printed(race__global__size=7, race__global__high__asian=2, race__global__low__asian=3)
    ids = {"outputs": {"high": "high", "low": "low"}, "groups": {"asian": "Asian"}, "prefix": "race."}
    table = context_counts(found, published, **ids)
    columns = ["context", "people", "group", "output", "count", "series"]
    assert table[columns].to_numpy().tolist() == [
        ["everyone", 3, "Asian", "high", 1, OURS["label"]],
        ["everyone", 3, "Asian", "low", 1, OURS["label"]],
        ["everyone", 7, "Asian", "high", 2, PUBLISHED["label"]],
        ["everyone", 7, "Asian", "low", 3, PUBLISHED["label"]],
    ]
    every = context_counts(found, published, **ids, others=True)
    assert every["group"].unique().tolist() == ["White Not Hispanic or Latino", "Asian"]
    assert len(context_counts({"men": found["global"]}, published, **ids)) == 2


def test_printed_intervals_have_size_and_p_value_of_their_prefix():
    published = printed(sub1__size=5, sub1__p=0.01, sub1__nmi=np.nan).assign(low=0.1, high=0.3)
    table = printed_intervals(published, {"sub1.nmi": "poor women", "men.nmi": "poor men"})
    assert table.to_dict("records") == [
        {"of": "poor women", "size": 5, "low": 0.1, "high": 0.3, "p_value": 0.01, "series": PUBLISHED["label"]}
    ]


def test_printed_labels_have_the_names_of_the_labels():
    published = printed(face_powder__diff=np.nan, face_powder__p=0.1).assign(low=-0.2, high=-0.1)
    [row] = printed_labels(published, "caffe", ("Black", "White")).to_dict("records")
    assert row == {
        "low": -0.2,
        "high": -0.1,
        "label": "face powder",
        "panel": "caffe",
        "first": "Black",
        "second": "White",
        "series": PUBLISHED["label"],
    }


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


def test_time_shares_have_their_totals_beside_them():
    ours = pd.DataFrame({"train": [1.0, 30.0], "test": [3.0, 10.0]}, index=["small", "large"])
    published = pd.DataFrame({"train": [50.0, 1.0], "test": [50.0, 9.0]}, index=["large", "small"])
    figure = time_shares(time_table(ours, published))
    [axis] = figure.axes
    assert texts(axis) == ["4 s, published 10 s", "40 s, published 100 s"]
    assert [bar.get_width() for bar in axis.patches] == pytest.approx([25, 75, 75, 25])
    [mark] = [line for line in axis.lines if line.get_marker() == PUBLISHED["marker"]]
    assert mark.get_xdata() == pytest.approx([10, 50])
    check(figure)


def test_counts_stand_beside_the_published_ones_of_the_same_study():
    ours = pd.DataFrame({"discovered": [10, 1], "reported": [0, 1]}, index=["large", "small"])
    published = pd.DataFrame({"discovered": [2, 20], "reported": [1, 3]}, index=["small", "large"])
    figure = counts_beside_published(contexts_table(ours, published))
    discovered, reported = figure.axes
    theirs, own = discovered.lines
    assert own.get_xdata().tolist() == [10, 1]
    assert theirs.get_xdata().tolist() == [20, 2]
    assert [label.get_text() for label in discovered.get_yticklabels()] == ["large", "small"]
    assert reported.get_xlabel() == "reported (number)"
    check(figure)
