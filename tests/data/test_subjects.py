import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from statsmodels.api import OLS, add_constant
from statsmodels.stats.outliers_influence import variance_inflation_factor
from subject_statistics import FEATURES, check, fitted

from fairlab.data.documents import read_yaml
from fairlab.data.surrogates.copula import Copula, Counts, Stratum
from fairlab.data.surrogates.patients import SMALLEST_RISK, PatientModel
from fairlab.data.surrogates.subjects import (
    COLUMNS,
    COUNTED,
    MORE_TERMS,
    PAIRS,
    PREDICTORS,
    PRESENCE_TERMS,
    Cohort,
    SubjectModel,
)
from fairlab.paths import project


def model(**changes):
    values = {
        "groups": (
            Cohort("Black", "M", 20, Counts(values=(250, 300, 400), counts=(60, 30, 10))),
            Cohort("White", "F", 40, Counts(values=(200, 210), counts=(50, 50))),
        ),
        "races": {"Black": {"BLK": 1.0}, "White": {"WHI": 1.0}},
        "presence": np.zeros((len(PREDICTORS), len(PRESENCE_TERMS))),
        "pairs": np.zeros(len(PAIRS)),
        "more": np.full((len(COUNTED), len(MORE_TERMS)), -9.0),
        "largest": (4, 10, 12, 29, 4),
        "trend": Counts(values=(-1.0, 0.5), counts=(1, 1)),
        "level": (0.0,) * 7,
        "effects": ((-40.0, ("age",)), (15.0, ("violent_arrests",)), (2.0, ("violent_arrests", "gang_affiliation"))),
        "noise": (1.0,) * 7,
    }
    return SubjectModel(**values | changes)


def test_groups_have_their_sizes_and_scores():
    table = model().sample(1000, random_state=1)
    assert list(table.columns) == list(COLUMNS)
    counts = {("BLK", 250): 300, ("BLK", 300): 150, ("BLK", 400): 50, ("WHI", 200): 250, ("WHI", 210): 250}
    assert table.groupby("race")["score"].value_counts().to_dict() == counts
    assert table["score"].is_monotonic_decreasing
    assert table.groupby("race")[["sex", "age"]].agg(set).to_numpy().tolist() == [[{"M"}, {20}], [{"F"}, {40}]]


def test_predictors_are_as_likely_as_their_log_odds():
    presence = np.zeros((len(PREDICTORS), len(PRESENCE_TERMS)))
    presence[2, PRESENCE_TERMS.index("one")] = -1.0
    presence[2, PRESENCE_TERMS.index("black")] = 0.7
    table = model(presence=presence).sample(40_000, random_state=2)
    shares = (table[["violent_arrests", "gang_affiliation"]] > 0).groupby(table["race"]).mean()
    np.testing.assert_allclose(shares, [[expit(-0.3), 0.5], [expit(-1.0), 0.5]], atol=0.015)


def test_numbers_beyond_the_first_are_geometric_up_to_the_largest():
    more = np.zeros((len(COUNTED), len(MORE_TERMS)))
    more[:, MORE_TERMS.index("one")] = 0.4
    numbers = model(more=more).sample(40_000, random_state=3)["shooting_victim"]
    p = expit(0.4)
    found = numbers[numbers > 0].value_counts(normalize=True).sort_index().to_numpy()
    np.testing.assert_allclose(found, [1 - p, p * (1 - p), p**2 * (1 - p), p**3], atol=0.015)


def test_expected_score_adds_up_products_with_age_in_decades():
    table = pd.DataFrame(0.0, index=[0, 1], columns=list(COLUMNS[1:9])).assign(
        age=[10, 40], violent_arrests=[2, 3], gang_affiliation=[0, 1]
    )
    found = model(level=(1.0, 0, 0, 7.0, 0, 0, 0)).expected_score(table)
    np.testing.assert_allclose(found, [1 + 30, 7 - 120 + 45 + 6])


ROWS = 60_000  # enough for errors of a few percent


def test_surrogate_is_like_the_list():
    content = read_yaml(project().data_scripts / "surrogates" / "ssl.yaml")
    table = SubjectModel.model_validate(content["subjects"]).sample(ROWS, random_state=0)
    published = content["published"]
    for name in published["held out"]:
        if name.startswith("F of"):  # grows as the number of rows
            published["held out"][name] *= ROWS / content["rows"]
    checked = check(table, published).set_index("statistic")
    relative = checked["relative"].abs()
    assert relative[checked["use"] == "fitted"].median() < 0.03
    near = ["mean of narcotics_arrests", "mean of gang_affiliation", "slope of age", "F of score by race"]
    assert (relative[near] < 0.05).all()
    assert relative["share with score 345 up"] < 0.01


@pytest.fixture(scope="module")
def people():
    """Columns of the list, drawn by a recipe of this test's own, where everything goes with the score."""
    rng = np.random.default_rng(0)
    n = 3000
    risk = rng.normal(size=n)
    table = pd.DataFrame({name: rng.poisson(np.exp(0.5 * risk - 1)) for name in COUNTED})
    table["gang_affiliation"] = (risk + rng.normal(size=n) > 0.5).astype(int)
    table["age"] = rng.choice([10, 20, 30, 40, 50, 60, 70], n)
    table["crime_trend"] = rng.normal(size=n).round(2)
    table["sex"], table["race"] = rng.choice(["M", "F", "X"], n), rng.choice(["BLK", "WHI", "WWH"], n)
    score = 300 + 30 * risk - table["age"] + 10 * (table["race"] == "BLK") + rng.normal(0, 20, n)
    return table.assign(score=score.round().clip(0, 500).astype(int))


def test_fitted_statistics_are_those_of_other_programs(people):
    found = {name: statistic.value for name, statistic in fitted(people).items()}
    features = people[list(FEATURES)].assign(age=people["age"] // 10 - 1).astype(float)
    design = add_constant(features)
    least_squares = OLS(people["score"], design).fit()
    expected = {
        "intercept": least_squares.params["const"],
        "residual of the linear fit": least_squares.resid.std(ddof=0),
        "mean score, gang 1": people.query("gang_affiliation == 1")["score"].mean(),
        "share without predictors, score 250 up": (
            (people[people["score"] >= 250][list(PREDICTORS)].sum(axis=1) == 0).mean()
        ),
    }
    for j, name in enumerate(features, start=1):
        expected[f"slope of {name}"] = least_squares.params[name]
        expected[f"inflation of {name}"] = variance_inflation_factor(design.to_numpy(), j)
    for name in PREDICTORS:
        expected |= {f"mean of {name}": people[name].mean(), f"deviation of {name}": people[name].std(ddof=0)}
    assert {name: found[name] for name in expected} == pytest.approx(expected)


AGE, RISK = Counts(values=[25, 75], counts=[20, 20]), Counts(values=[0.0, 0.5], counts=[20, 20])
STRATUM = Stratum(groups=[["f", 20], ["m", 20]], marginals={"Age": AGE, "risk": RISK})
COPULA = Copula(
    columns=["Age", "Gender", "risk"], sensitive=["Gender"], derived={}, correlation=[[], [0.8]], strata=[STRATUM]
)


@pytest.fixture(scope="module")
def patients():
    days = Counts(values=[1, 3], counts=[30, 10])
    model = PatientModel(copula=COPULA, intercept=0.4, slope=1.0, days=days, disagreement=0.5)
    return model.sample(40_000, random_state=0)


def test_a_stay_is_as_likely_as_its_log_odds(patients):
    stays = (patients["days"] > 0).groupby(patients["predicted_days"]).mean()
    expected = [expit(0.4 + np.log(risk)) for risk in (SMALLEST_RISK, 0.5)]
    np.testing.assert_allclose(stays, expected, atol=0.01)
    assert (patients["days"][patients["days"] > 0] == 3).mean() == pytest.approx(0.25, abs=0.015)


def test_the_prediction_is_right_on_average_of_logarithms(patients):
    for predicted, own in patients.groupby("predicted_days"):
        assert np.log1p(own["days"]).mean() == pytest.approx(np.log1p(predicted), abs=0.01)


def test_trees_disagree_more_on_high_predictions(patients):
    assert patients["confidence"].value_counts().tolist() == [20_000, 20_000]
    low = (patients["confidence"] == "low").groupby(patients["predicted_days"]).mean()
    assert low.iloc[0] < 0.01 < 0.99 < low.iloc[1]
