import numpy as np
import pandas as pd
import pytest

from fairlab.fliptest import differences_in_words, flipset, transparency_report

X = pd.DataFrame({"a": [1.0, 2.0, -1.0], "b": [5.0, 1.0, 0.0], "c": [0.0, 0.0, 7.0]})
X_IMAGE = pd.DataFrame({"a": [-1.0, -2.0, -3.0], "b": [0.0, 4.0, 9.0], "c": [1.0, 0.0, 7.0]})


def hire(table):
    return (np.asarray(table)[:, 0] > 0).astype(int)


FLIPS = flipset(hire, X, X_IMAGE)  # F+ is the first two rows, F- is empty


def test_hand_computed():
    report = transparency_report(FLIPS, X, X_IMAGE)
    # x - G(x) is (2, 5, -1) and (4, -3, 0)
    assert report.positive["mean_difference"].tolist() == [3, 1, -0.5]
    assert report.positive["mean_sign"].tolist() == [1, 0, -0.5]
    assert report.positive["difference_rank"].tolist() == [1, 2, 3]
    assert report.positive["sign_rank"].tolist() == [1, 3, 2]


def test_ranks_go_by_absolute_value_and_ties_share_the_better():
    report = transparency_report(FLIPS, X, X_IMAGE.assign(b=X["b"] + [5.0, 7.0, 0.0], c=X["c"] - 3))
    assert report.positive["mean_difference"].tolist() == [3, -6, 3]
    assert report.positive["difference_rank"].tolist() == [2, 1, 2]
    assert report.positive["sign_rank"].tolist() == [1, 1, 1]


def test_an_empty_flipset_gives_missing_rows():
    report = transparency_report(FLIPS, X, X_IMAGE)
    assert report.n_negative == 0
    assert report.negative.isna().all().all()
    assert report.negative.index.tolist() == ["a", "b", "c"]
    frame = report.to_frame()
    assert frame["size"].tolist() == [2, 2, 2, 0, 0, 0]
    assert frame["flipset"].tolist() == ["positive"] * 3 + ["negative"] * 3


def test_scale_is_the_unit_of_differences_and_leaves_signs():
    plain = transparency_report(FLIPS, X, X_IMAGE)
    scaled = transparency_report(FLIPS, X, X_IMAGE, scale=pd.Series({"c": 0.1, "b": 2.0, "a": 10.0, "other": 0.0}))
    assert np.allclose(scaled.positive["mean_difference"], [0.3, 0.5, -5])
    assert scaled.positive["difference_rank"].tolist() == [3, 2, 1]
    assert scaled.positive["mean_sign"].equals(plain.positive["mean_sign"])
    assert transparency_report(FLIPS, X, X_IMAGE, scale=[10, 2, 0.1]).positive.equals(scaled.positive)


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (pd.Series({"a": 1.0, "b": 1.0}), "scale: no value for c"),
        ([1.0, 2.0], "scale has 2 values, X has 3 columns"),
        ([1.0, 0.0, 1.0], "expected positive values, found 0.0 for 'b'"),
        ([1.0, np.nan, 1.0], "scale: column 'x1' holds nan"),
    ],
)
def test_bad_scales(scale, message):
    with pytest.raises(ValueError, match=message):
        transparency_report(FLIPS, X, X_IMAGE, scale=scale)


def test_mixed_columns():
    people = pd.DataFrame({"a": [3, 4], "job": ["cook", None], "b": [np.nan, 1]}, index=FLIPS.index[:2])
    images = pd.DataFrame({"a": [1, 1], "job": ["clerk", None], "b": [2.0, 3]}, index=FLIPS.index[:2])
    flips = flipset(lambda table: (table["a"] > 2).astype(int), people, images)
    report = transparency_report(flips, people, images).positive
    assert report["mean_difference"].tolist() == [2.5, 0.5, -2.0]
    assert report["mean_sign"].tolist() == [1.0, 0.5, -1.0]


def test_differences_in_words():
    people = pd.DataFrame({"age": [30, 40], "job": ["cook", "clerk"], "one": 1, "member": [True, False]})
    images = pd.DataFrame({"age": [33, 42], "job": ["cook", "cook"], "one": 1, "member": [True, False]}, index=[5, 6])
    words = differences_in_words(people, images)
    assert words == "2 people against their counterparts: age is 2.5 less on average; job differs for 50%"
    assert differences_in_words(people, images, n_columns=1).endswith("counterparts: age is 2.5 less on average")
    wide = people.assign(age=[0, 100])
    assert "counterparts: job differs" in differences_in_words(people, images, scale_of=wide)
    with pytest.raises(ValueError, match="scale_of: no column job"):
        differences_in_words(people, images, scale_of=people[["age"]])
    assert differences_in_words(people, people) == "2 people do not differ from their counterparts"
