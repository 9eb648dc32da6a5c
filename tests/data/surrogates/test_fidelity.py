from dataclasses import replace

import pandas as pd
import pytest
from fidelity import compare, label_score

from fairlab.data import Dataset, Provenance

REAL = pd.DataFrame(
    {
        "sex": ["f", "f", "f", "f", "m", "m", "m", "m"],
        "x": [1.0, 2, 3, 4, 5, 6, 7, 8],
        "job": ["a", "a", "b", "b", "a", "b", "b", "b"],
        "y": ["no", "no", "no", "yes", "no", "yes", "yes", "yes"],
    }
)


def dataset(table, **changes):
    parts = {
        "features": table[["sex", "x", "job"]].astype({"sex": "category", "job": "category"}),
        "target": table["y"],
        "sensitive_features": table[["sex"]],
        "positive_label": "yes",
        "privileged_group": {"sex": "m"},
        "encoding": {},
        "provenance": Provenance("toy", "real", "0" * 64, len(table)),
    }
    return Dataset(**parts | changes)


def test_a_copy_is_no_different():
    frame = compare(dataset(REAL), dataset(REAL)).to_frame()
    assert frame["difference"].tolist() == ["marginal", "association", "label by group"]
    assert frame["n"].tolist() == [4, 6, 2]
    assert frame["largest"].tolist() == [0, 0, 0]


def test_differences_by_hand():
    # One woman of job b becomes a man of job a who is hired, and everybody's x grows by 2.
    other = REAL.copy()
    other.loc[2] = ["m", 3, "a", "yes"]
    other["x"] += 2
    fidelity = compare(dataset(REAL), dataset(other))
    assert fidelity.marginals["distance"].to_dict() == pytest.approx(
        {"sex": 0.125, "x": 0.25, "job": 0.125, "y": 0.125}
    )
    assert fidelity.groups.loc[("sex", "f")].to_dict() == pytest.approx(
        {"rows_real": 4, "rows_surrogate": 3, "real": 0.25, "surrogate": 1 / 3}
    )
    assert fidelity.groups.loc[("sex", "m"), "surrogate"] == pytest.approx(0.8)
    frame = fidelity.to_frame().set_index("difference")
    assert frame.loc["marginal", ["largest", "where"]].tolist() == [0.25, "x"]
    assert frame.loc["label by group", "where"] == ("sex", "f")


def test_associations_are_spearmans_with_categories_in_the_order_of_their_mean_label():
    reversed_x = REAL.assign(x=9 - REAL["x"])
    associations = compare(dataset(REAL), dataset(reversed_x)).associations
    # Job a is hired in none of three cases, b in four of five: b counts as the higher one. So does m.
    numbers = REAL.assign(
        **{c: REAL[c].map({"a": 1, "b": 2, "f": 1, "m": 2, "no": 1, "yes": 2}) for c in ("sex", "job", "y")}
    )
    expected = numbers.corr(method="spearman")
    for (first, second), row in associations.iterrows():
        sign = -1 if "x" in (first, second) else 1
        assert row["real"] == pytest.approx(expected.loc[first, second])
        assert row["surrogate"] == pytest.approx(sign * expected.loc[first, second])
        assert row["difference"] == pytest.approx(row["surrogate"] - row["real"])


def test_a_measured_target_is_its_own_score():
    measured = replace(dataset(REAL), target=REAL["x"].rename("grade"), positive_label=None)
    assert label_score(measured).tolist() == REAL["x"].tolist()
    assert label_score(dataset(REAL)).tolist() == [0, 0, 0, 1, 0, 1, 1, 1]
