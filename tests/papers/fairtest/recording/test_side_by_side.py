from types import SimpleNamespace

import pandas as pd
import pytest

from fairlab.papers.fairtest import recording
from fairlab.papers.fairtest.recording.side_by_side import STUDY_OF
from fairlab.papers.fairtest.sentences import Answer
from fairlab.papers.fairtest.studies import STUDIES

SIZES = {"staples": 1000, "healthcare": 80, "image_tagger": 26, "movielens": 60, "adult": 48, "berkeley": 44}
DATA = {name: SimpleNamespace(name=name, features=pd.DataFrame(index=range(n))) for name, n in SIZES.items()}


@pytest.fixture
def table_2():
    row = {"users": 9, "attributes": 2, "discovered": 7, "validated": 3, "reported": 4, "smallest_reported": 5}
    return pd.DataFrame(dict.fromkeys(STUDIES, row)).T


def record_overview(notes, table, holds=True):
    exp = notes("fairtest/overview")
    answers = {id: Answer(holds, "numbers") for id in STUDY_OF}
    shoppers = pd.DataFrame({name: [6, 8] for name in ("discovered", "validated", "reported", "smallest_reported")})
    recording.overview(exp, table, answers, data=DATA, n_trees=dict.fromkeys(STUDIES, 1), shoppers=shoppers)
    return exp


def test_overview(notes, table_2):
    exp = record_overview(notes, table_2)
    assert exp.silent() == []
    assert all(exp.claims.values())
    assert exp.records["table-2", "adult.validated", "as_published"] == 3
    assert exp.records["table-2", "staples.validated", "as_published"].tolist() == [6, 8]
    assert exp.records["table-2", "microbenchmark.users", "as_published"] == 9


def test_more_reported_than_significant_and_the_whole_population(notes, table_2):
    table_2.loc["movielens", "reported"] = 5
    exp = record_overview(notes, table_2, holds=False)
    assert not exp.claims["table-2", "reported-le-validated-plus-root"]
    assert exp.claims["table-2", "always-a-report"]
    assert not any(holds for (artefact, _), holds in exp.claims.items() if artefact == "section-6.3")
    table_2.loc["movielens", "reported"] = 0
    assert not record_overview(notes, table_2).claims["table-2", "always-a-report"]


@pytest.fixture
def seconds():
    train = {"staples": 40, "healthcare": 12, "image_tagger": 3, "movielens": 1, "adult": 4, "berkeley": 0.1}
    test = {"staples": 60, "healthcare": 12, "image_tagger": 1, "movielens": 4, "adult": 30, "berkeley": 0.9}
    return pd.DataFrame({"train": train, "test": test})


def limits(*resampled):
    return pd.DataFrame(
        {"metric": ["difference"] * 2 + ["correlation"] * 2, "people": [1000, 1001] * 2, "resampled": resampled}
    )


def test_performance(notes, seconds):
    exp = notes("fairtest/performance")
    recording.performance(exp, seconds, limits(True, False, True, False), data=DATA)
    assert exp.silent() == []
    assert all(exp.claims.values())
    assert exp.records["figure-6", "staples.train_share", "as_published"] == 40
    assert exp.records["section-6.2", "smallest_datasets.total", "as_published"] == (1, 5)


def test_performance_with_nothing_as_in_the_paper(notes, seconds):
    swapped = seconds.rename(columns={"train": "test", "test": "train"})[["train", "test"]]
    swapped.loc["healthcare"] = [10, 200]
    exp = notes("fairtest/performance")
    recording.performance(exp, swapped, limits(True, False, True, True), data=DATA)
    assert not any(exp.claims.values())
