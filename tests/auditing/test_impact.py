import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

import fairlab
from fairlab.auditing.impact import UNKNOWN


def counts(people, selected, names=None, **more):
    return pd.DataFrame({"people": people, "selected": selected, **more}, index=names or list("abcdef")[: len(people)])


def test_rates_and_ratios_by_hand():
    table = fairlab.impact_table(counts([400, 500, 10], [120, 200, 9]))
    assert table["selection rate"].tolist() == [0.3, 0.4, 0.9]
    assert table["small"].tolist() == [False, False, True], "10 are less than 2% of 910"
    assert table["impact ratio"].tolist() == pytest.approx([0.75, 1, 2.25]), "none is compared with a small group"
    interval = binomtest(120, 400).proportion_ci(0.95)
    assert table.loc["a", ["rate low", "rate high"]].tolist() == pytest.approx([interval.low, interval.high])
    assert table.loc["a", "ratio low"] < 0.75 < table.loc["a", "ratio high"] < 1
    assert table.loc["b", ["ratio low", "ratio high"]].isna().all(), "the group that others are compared with"
    assert fairlab.impact_table(counts([400, 10], [120, 9]), smallest_share=0, smallest_size=11)["small"].tolist() == [
        False,
        True,
    ]


def test_people_of_unknown_group_are_counted_and_not_compared():
    given_names = fairlab.impact_table(
        counts([100, 100, 50], [40, 50, 50], ["f", "m", "(missing)"]), unknown=["(missing)"]
    )
    no_name = fairlab.impact_table(counts([100, 100, 50], [40, 50, 50], ["f", "m", None]))
    assert given_names["impact ratio"].tolist()[:2] == no_name["impact ratio"].tolist()[:2] == [0.8, 1]
    assert no_name.loc[UNKNOWN, "share"] == 0.2
    assert np.isnan(no_name.loc[UNKNOWN, "impact ratio"])


def test_errors_and_missing_labels_where_they_are_known():
    more = {"labelled": [60, 80], "positives": [20, 40], "true positives": [10, 30]}
    more |= {"negatives": [40, 40], "false positives": [10, 0]}
    table = fairlab.impact_table(counts([100, 100], [40, 50], **more))
    assert table["true positive rate"].tolist() == [0.5, 0.75]
    assert table["false positive rate"].tolist() == [0.25, 0]
    assert table["missing labels"].tolist() == [40, 20]
    assert "true positive rate" not in fairlab.impact_table(counts([100], [40]))


def test_nobody_selected_and_groups_of_nobody_have_no_ratio():
    table = fairlab.impact_table(counts([100, 100, 0], [0, 0, 0]))
    assert table["impact ratio"].isna().all()
    assert table["selection rate"].tolist() == [0, 0, pytest.approx(np.nan, nan_ok=True)]


@given(st.lists(st.tuples(st.integers(1, 400), st.integers(0, 400)), min_size=2, max_size=6), st.floats(0, 0.2))
def test_the_highest_ratio_of_large_groups_is_one_and_intervals_hold_the_estimate(groups, smallest_share):
    people = [n for n, _ in groups]
    table = fairlab.impact_table(counts(people, [min(k, n) for n, k in groups]), smallest_share=smallest_share)
    large = table[~table["small"]]
    if len(large) and large["selected"].any():
        assert large["impact ratio"].max() == pytest.approx(1)
    known = table.dropna(subset=["ratio low"])
    assert (known["ratio low"] <= known["impact ratio"] + 1e-9).all()
    assert (known["impact ratio"] <= known["ratio high"] + 1e-9).all()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (counts([], []), "expected one row for each group"),
        (counts([10, 10], [5, 5], ["a", "a"]), "expected each group once, found 'a' twice"),
        (counts([10], [11]), "expected at most as many selected as people, found 11 of 10 in 'a'"),
        (counts([10], [-1]), "expected numbers of at least 0 in column 'selected'"),
        (counts([10], [np.nan]), "expected numbers of at least 0 in column 'selected'"),
        (counts([10], ["5"]), "expected numbers of at least 0 in column 'selected'"),
        (counts([0], [0]), "expected some people"),
        (counts([10], [5], labelled=[11]), "expected at most as many labelled as people"),
        (pd.DataFrame({"people": [1]}), "expected a column 'selected'"),
    ],
)
def test_what_is_no_table_of_counts_is_refused(table, message):
    with pytest.raises(ValueError, match=message):
        fairlab.impact_table(table)


def test_the_table_of_an_audit_is_that_of_its_counts():
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {"sex": rng.choice(["f", "m", None], 900, p=[0.45, 0.5, 0.05]), "points": rng.integers(0, 9, 900)}
    )
    case = fairlab.Case(lambda rows: rows["points"] > 3 + (rows["sex"] == "f"), people, sensitive_features="sex")
    report = fairlab.audit(case, methods=["rates"], progress=False)
    table = report.groups["sex"]
    rates = pd.Series(case.decide()).groupby(people["sex"]).mean()
    assert table.loc["f", "impact ratio"] == pytest.approx(rates["f"] / rates["m"])
    assert np.isnan(table.loc["(missing)", "impact ratio"])
    assert f"{rates['f']:.1%}" in report.to_html()


def test_a_report_names_no_group_of_fewer_than_five_people():
    rng = np.random.default_rng(0)
    names = [f"person {k}" for k in range(200)]
    people = pd.DataFrame({"name": names, "sex": rng.choice(["f", "m"], 200), "points": rng.integers(0, 9, 200)})
    people["town"] = ["a"] * 150 + ["b"] * 47 + ["tiny"] * 3
    case = fairlab.Case(
        lambda rows: rows["points"] > 3, people, sensitive_features=["name", "sex", "town"], features=["points"]
    )
    report = fairlab.audit(case, methods=["rates"], progress=False)
    assert report.groups["name"].index.tolist() == ["(200 of fewer than 5 people)"]
    assert report.groups["town"].index.tolist() == ["a", "b", "(1 of fewer than 5 people)"]
    assert report.groups["town"]["people"].tolist() == [150, 47, 3]
    for text in (report.to_html(rows="none"), report.to_json(rows="none")):
        assert sum(name in text for name in names) <= 3, "in what was not assessed"
