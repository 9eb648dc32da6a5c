import pandas as pd
from sklearn.model_selection import train_test_split

from fairlab.data import load


def test_held_out_half_has_the_published_counts():
    dataset = load("berkeley")
    half = train_test_split(dataset.target, train_size=0.5, random_state=0)[1]
    applicants = dataset.features.loc[half.index]
    assert len(half) == 2213
    counts = pd.crosstab(half, applicants["gender"])
    assert counts.loc["No"].tolist() == [615, 680]
    assert counts.loc["Yes"].tolist() == [295, 623]
    by_department = {"A": ([9, 161], [51, 269]), "B": ([3, 93], [7, 176])}
    for department, (rejected, admitted) in by_department.items():
        own = applicants["department"] == department
        counts = pd.crosstab(half[own], applicants.loc[own, "gender"])
        assert (counts.loc["No"].tolist(), counts.loc["Yes"].tolist()) == (rejected, admitted)
