from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairlab.data.dataset import Dataset, Provenance
from fairlab.fliptest import flipset
from fairlab.papers.fliptest.counterfactual import KnowledgeModel
from fairlab.papers.fliptest.law_students import (
    ATTRIBUTES,
    Cut,
    black_and_white,
    flipset_scores,
    map_table,
    recovered_weights,
    setup_table,
    setups,
    to_white,
    two_sexes,
    white_counterfactual,
)


@pytest.fixture(scope="module")
def students():
    rng = np.random.default_rng(0)
    n = 600
    race = rng.choice(["Asian", "Black", "White"], n)
    knowledge = rng.normal(size=n)
    features = pd.DataFrame(
        {
            "race": pd.Categorical(race),
            "sex": pd.Categorical(rng.choice(["female", "male"], n)),
            "LSAT": rng.poisson(np.exp(3.5 + 0.1 * knowledge - 0.2 * (race == "Black"))).astype(float),
            "UGPA": 3 + 0.3 * knowledge - 0.3 * (race == "Black") + rng.normal(0, 0.2, n),
        }
    )
    return Dataset(
        features=features,
        target=pd.Series(knowledge + rng.normal(0, 0.5, n), name="first_year_average"),
        sensitive_features=features[["race"]],
        positive_label=None,
        privileged_group={"race": "White"},
        encoding={},
        provenance=Provenance(variant="law-school", source="surrogate", data_hash="", rows=n),
    )


@pytest.fixture(scope="module")
def causal(students):
    X = black_and_white(students)
    return KnowledgeModel().fit(X[ATTRIBUTES], gpa=X["GPA"], lsat=X["LSAT"])


def test_race_is_two_indicators_and_nothing_is_scaled(students):
    X = black_and_white(students)
    assert X.columns.tolist() == ["black", "white", "male", "LSAT", "GPA"]
    assert (X["black"] + X["white"] == 1).all()
    kept = students.features.loc[X.index]
    assert (kept["race"] != "Asian").all()
    assert (X["black"] == (kept["race"] == "Black")).all()
    assert (X["male"] == (kept["sex"] == "male")).all()
    assert (X["GPA"] == kept["UGPA"]).all()


def test_a_counterfactual_has_another_race_and_the_scores_of_it(students, causal):
    X = black_and_white(students)
    black, white = X[X["black"] == 1], X[X["white"] == 1]
    image = white_counterfactual(causal, black, noise="keep")
    pd.testing.assert_frame_equal(image.drop(columns=["LSAT", "GPA"]), to_white(black).drop(columns=["LSAT", "GPA"]))
    np.testing.assert_allclose(image["GPA"] - black["GPA"], -causal.weights_.loc["gpa", "black"])
    assert (image["LSAT"] >= black["LSAT"]).all()
    pd.testing.assert_frame_equal(white_counterfactual(causal, white, noise="keep"), white)


def test_known_weights_are_recovered(students, causal):
    X = black_and_white(students)
    table = recovered_weights(causal, X[ATTRIBUTES], np.random.default_rng(1))
    pd.testing.assert_frame_equal(table.loc["fitted to the data"], causal.weights_)
    assert (table.loc["standard errors off"].abs() < 4).all(axis=None)


def test_setups_by_hand(students):
    X = black_and_white(students)
    grade = students.target[X.index]
    found = setups(students, random_state=0)
    assert next(iter(found)) == "black and white, regression cut at the median"
    literal, rows = next(iter(found.values()))
    assert rows.equals(X.index)
    assert literal.threshold == grade.median()
    at_median, _ = found["regression cut at its median prediction"]
    assert at_median.predict(X).mean() == pytest.approx(0.5, abs=0.01)
    everyone, _ = found["models on students of all races"]
    assert set(np.unique(everyone.predict(X))) == {0, 1}
    _, part = found["80% of the rows"]
    assert len(part) == round(0.8 * len(X))


def test_sizes_under_every_setup(students):
    X = black_and_white(students)
    black = X[X["black"] == 1]
    found = setups(students, random_state=0)
    table = setup_table(found, black, {"better": black.assign(LSAT=1000.0), "same": black})
    assert (table["F− same"] == 0).all()
    for name, (classifier, rows) in found.items():
        tested = black.loc[black.index.intersection(rows)]
        assert table.loc[name, "applicants"] == len(tested)
        if "race" not in name:
            assert table.loc[name, "F− better"] == (1 - classifier.predict(tested)).sum()


def test_mean_scores_of_a_flipset():
    applicants = pd.DataFrame({"LSAT": [30.0, 40.0, 50.0], "GPA": [3.0, 2.0, 4.0]})
    flip = flipset(Cut(_Lsat(), 45), applicants, applicants + 10)
    row = flipset_scores({("GAN", 2): flip}, applicants).iloc[0]
    assert row.tolist() == ["GAN", 2, 0, 1, 40, 2]


class _Lsat:
    def predict(self, X):
        return X["LSAT"]


def test_maps_by_hand():
    columns = ["black", "white", "male", "LSAT", "GPA"]
    source = pd.DataFrame([[1, 0, 0, 30, 3.0], [1, 0, 1, 40, 3.5], [1, 0, 1, 50, 2.0]], columns=columns, dtype=float)
    target = source.assign(black=0.0, white=1.0, LSAT=source["LSAT"] + [10.0, 6, 2], GPA=[3.5, 3.0, 2.5], male=1.0)
    above_45 = Cut(SimpleNamespace(predict=lambda X: X["LSAT"]), 45)
    table = map_table(
        above_45, two_sexes(source), two_sexes(target), {3: two_sexes(target), 5: two_sexes(target) * np.nan}
    )
    row = table.loc[3]
    assert row[["F−", "mean LSAT in F−", "mean GPA in F−"]].tolist() == [1, 40, 3.5]  # 40 to 46
    assert row["mean L1"] == pytest.approx(np.mean([2 + 2 + 10 + 0.5, 2 + 6 + 0.5, 2 + 2 + 0.5]))
    assert row[["KS LSAT", "MSE difference LSAT", "change of male"]].tolist() == pytest.approx([0, 0, 0], abs=1e-9)
    assert row["change of LSAT"] == pytest.approx(-6 / np.std([30, 40, 50, 40, 46, 52]))
    assert not row["off target"]
    assert table.loc[5, "off target"]
    assert np.isnan(table.loc[5, "F−"])
