import hashlib

import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

from fairlab.data import load

# Of the file that FairTest's study of Adult reads: its header, and the id that git gives to it.
HEADER = (
    "age,Workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,"
    "capital-gain,capital-loss,hours-per-week,native-country,income"
)
BLOB = "cf18946d6fccb8af0aa25a840ba488716b2f2800"


@pytest.fixture
def adult(mirror):
    return load("adult-uci")


def test_is_the_file_of_fairtest(adult):
    rows = adult.features.assign(income=adult.target).to_csv(index=False, header=False, lineterminator="\n")
    content = f"{HEADER}\n{rows.replace(',', ', ')}".encode()
    assert hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest() == BLOB


def test_attributes_of_fairtest(adult):
    attributes = adult.features.drop(columns="fnlwgt")
    assert attributes.shape == (48_842, 13)
    assert {"education", "education-num"} <= set(attributes.columns)
    # "?" sorts first, as a missing value does in FairTest's encoding.
    for column in ("workclass", "occupation", "native-country"):
        assert sorted(adult.encoding[column])[0] == "?"


def test_held_out_half_has_the_published_counts(adult):
    half = train_test_split(adult.target, train_size=0.5, random_state=0)[1]
    counts = pd.crosstab(half, adult.features.loc[half.index, "sex"])
    assert counts.loc["<=50K"].tolist() == [7218, 11_422]
    assert counts.loc[">50K"].tolist() == [876, 4905]
