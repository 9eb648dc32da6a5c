import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from fairlab.cases import Case
from fairlab.individual_fairness.slopes import LIMIT, Scorer, log_odds_slopes, rows_per_person

RNG = np.random.default_rng(0)
N = 60
TABLE = pd.DataFrame(
    {
        "group": RNG.choice(["a", "b"], N),
        "age": RNG.integers(20, 60, N),
        "income": RNG.normal(3, 1, N),
        "job": pd.Categorical(RNG.choice(["clerk", "cook", "smith"], N)),
        "home": RNG.random(N) < 0.5,
    }
)
TABLE.loc[::7, "income"] = np.nan
JOBS = {"clerk": 0.0, "cook": 0.5, "smith": -1.0}


class Linear:
    classes_ = np.array([0, 1])

    def predict_proba(self, rows):
        odds = 0.03 * (rows["age"] - 40) + 0.2 * rows["home"] + rows["job"].astype(str).map(JOBS).astype(float)
        odds = np.asarray(odds + (0.4 * (rows["income"] - 3)).fillna(0.7), dtype=float)
        return np.column_stack([expit(-odds), expit(odds)])


def case_of(model, **options):
    features = ["age", "income", "job", "home"]
    return Case(model, TABLE, sensitive="group", features=features, positive=1, **options)


def test_slopes_of_a_linear_model_are_its_weights():
    case = case_of(Linear())
    people = np.array([0, 1, 5, 30])
    slopes = pd.DataFrame(log_odds_slopes(Scorer(case), people), columns=case.encoding.names)
    scale = dict(zip(case.encoding.names, case.encoding.scale, strict=True))
    rows = TABLE.iloc[people]
    np.testing.assert_allclose(slopes["age"], 0.03 * scale["age"])
    np.testing.assert_allclose(slopes["home"], 0.2 * scale["home"])
    missing = rows["income"].isna().to_numpy()
    np.testing.assert_allclose(slopes["income"], np.where(missing, 0, 0.4 * scale["income"]), atol=1e-12)
    filled = np.where(missing, TABLE["income"].sort_values().iloc[len(TABLE["income"].dropna()) // 2], rows["income"])
    np.testing.assert_allclose(slopes["income is missing"], 0.7 - 0.4 * (filled - 3))
    for job, value in JOBS.items():
        np.testing.assert_allclose(slopes[f"job = {job}"], value - rows["job"].astype(str).map(JOBS), atol=1e-12)


def test_no_more_rows_are_asked_than_said():
    case = case_of(Linear())
    before = case.queries.asked
    log_odds_slopes(Scorer(case), np.arange(20))
    assert 0 < case.queries.asked - before <= 20 * rows_per_person(case)


def test_networks_give_gradients():
    import keras

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, "sigmoid")])
    model.set_weights([np.float32([[0.5], [-2.0]]), np.zeros(1, np.float32)])
    numbers = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(5, 3, N), "group": RNG.integers(0, 2, N)})
    case = Case(model, numbers, sensitive="group", features=["a", "b"])
    found = log_odds_slopes(Scorer(case), np.arange(4))
    np.testing.assert_allclose(found, np.tile([0.5, -2.0] * case.encoding.scale, (4, 1)), rtol=1e-5)
    assert rows_per_person(case) == 1


def test_scores_that_are_no_probabilities_go_by_their_spread():
    case = case_of(lambda rows: 600 + 5.0 * rows["age"], threshold=800.0)
    scorer = Scorer(case)
    scores = 600 + 5.0 * TABLE["age"]
    assert scorer.scale == pytest.approx(scores.std(ddof=0))
    assert scorer.threshold == 0
    np.testing.assert_allclose(scorer.log_odds(), (scores - 800) / scores.std(ddof=0))


def test_probabilities_of_0_and_1_are_held_within_limits():
    case = case_of(lambda rows: np.clip((rows["age"] - 30) / 20, 0, 1), threshold=0.9)
    scorer = Scorer(case)
    assert np.abs(case.log_odds()).max() > 30
    assert np.abs(scorer.log_odds()).max() == pytest.approx(LIMIT)
    assert scorer.threshold == pytest.approx(np.log(9))
