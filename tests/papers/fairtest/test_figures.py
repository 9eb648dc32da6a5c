import numpy as np
import pandas as pd
import pytest

from fairlab.fairtest import Column, Sample
from fairlab.papers.fairtest.figures import boxes_by_band, counts_beside_published, found_by_size, time_shares


def texts(axis):
    return [text.get_text() for text in axis.texts]


def test_found_effects_have_a_line_for_each_strength():
    planted = pd.DataFrame(
        {"size": [100, 100, 500, 500], "delta": [5] * 4, "found": [2, 4, 9, 10], "validated": [0, 1, 8, 8]}
    )
    found, validated = found_by_size(planted).axes
    assert list(found.lines[0].get_ydata()) == [3, 9.5]
    assert list(validated.lines[0].get_ydata()) == [0.5, 8]
    assert [text.get_text() for text in found.figure.legends[0].get_texts()] == ["Δ = 5%"]


def test_time_shares_have_their_totals_beside_them():
    times = pd.DataFrame({"train": [1.0, 30.0], "test": [3.0, 10.0]}, index=["small", "large"])
    [axis] = time_shares({"this run": times}).axes
    assert texts(axis) == ["4 s", "40 s"]
    assert [bar.get_width() for bar in axis.patches] == pytest.approx([25, 75, 75, 25])


def test_counts_stand_beside_the_published_ones_of_the_same_study():
    ours = pd.DataFrame({"discovered": [10, 1], "reported": [0, 1]}, index=["large", "small"])
    published = pd.DataFrame({"discovered": [2, 20], "reported": [1, 3]}, index=["small", "large"])
    discovered, reported = counts_beside_published(ours, published).axes
    theirs, own = discovered.collections[-2:]
    np.testing.assert_allclose(own.get_offsets()[:, 0], [10, 1])
    np.testing.assert_allclose(theirs.get_offsets()[:, 0], [20, 2])
    assert reported.get_xlabel() == "reported"


def test_boxes_stand_at_the_names_of_their_age_bands():
    age = Column("age", np.repeat([10.0, 30.0, 60.0], 5))
    sex = Column("gender", np.arange(15) % 2, ("F", "M"))
    rating = Column("rating", np.linspace(1, 5, 15))
    by_age, by_gender = boxes_by_band({"by age": Sample(age, rating), "by gender": Sample(sex, rating)}).axes
    assert [label.get_text() for label in by_age.get_xticklabels()] == ["under 18", "25–34", "56+"]
    assert [label.get_text() for label in by_gender.get_xticklabels()] == ["F", "M"]
