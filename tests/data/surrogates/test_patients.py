import numpy as np
import pytest
from scipy.special import expit

from fairlab.data.surrogates.copula import Copula, Counts, Stratum
from fairlab.data.surrogates.patients import SMALLEST_RISK, PatientModel

AGE, RISK = Counts(values=[25, 75], counts=[20, 20]), Counts(values=[0.0, 0.5], counts=[20, 20])
STRATUM = Stratum(groups=[["f", 20], ["m", 20]], marginals={"Age": AGE, "risk": RISK})
COPULA = Copula(
    columns=["Age", "Gender", "risk"], sensitive=["Gender"], derived={}, correlation=[[], [0.8]], strata=[STRATUM]
)


def model(**changes):
    values = {
        "copula": COPULA,
        "intercept": 0.4,
        "slope": 1.0,
        "days": Counts(values=[1, 3], counts=[30, 10]),
        "disagreement": 0.5,
    }
    return PatientModel(**values | changes)


@pytest.fixture(scope="module")
def patients():
    return model().sample(40_000, random_state=0)


def test_columns(patients):
    assert list(patients.columns) == ["Age", "Gender", "predicted_days", "confidence", "days"]
    assert set(patients["days"]) == {0, 1, 3}
    assert patients["days"].dtype == np.int64


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
    # Without noise everybody's width is that of the prediction.
    certain = model(disagreement=0.0).sample(1000, random_state=1)
    high = certain["predicted_days"] == certain["predicted_days"].max()
    assert (certain["confidence"][high] == "low").all()
