import numpy as np
import pandas as pd
import pytest

from fairlab.data import DataError, load


def test_a_wrong_folder_is_an_error(tmp_path):
    with pytest.raises(DataError, match=r"health: folder .*nowhere does not exist"):
        load("health", folder=tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"Members\.csv: not found; expected Members\.csv, Claims\.csv"):
        load("health", folder=tmp_path)
    (tmp_path / "Members.csv").write_text("MemberID,Sex\n")
    with pytest.raises(DataError, match=r"Members\.csv: misses the columns AgeAtFirstClaim; found MemberID, Sex"):
        load("health", folder=tmp_path)


@pytest.fixture(scope="module")
def generated(drawn):
    return drawn("health")


def test_surrogate_has_the_shape_of_the_study(generated):
    table = generated.features
    assert len(table) == 86_358
    assert len(table.columns) == 128 + 2
    assert list(table.columns[-3:]) == ["Gender", "predicted_days", "confidence"]
    assert set(table["Age"]) == {5, 15, 25, 35, 45, 55, 65, 75, 85}
    assert generated.target.name == "days"
    assert generated.target.between(0, 15).all()
    assert table["confidence"].value_counts().tolist() == [43_179, 43_179]


def test_surrogate_predictor_is_right_on_average(generated):
    decile = pd.qcut(generated.features["predicted_days"], 10, labels=False)
    predicted, true = (
        np.log1p(days).groupby(decile).mean() for days in (generated.features["predicted_days"], generated.target)
    )
    np.testing.assert_allclose(predicted, true, atol=0.02)


def test_surrogate_errors_grow_with_age_and_less_where_confidence_is_high(generated):
    table = generated.features
    error = (np.log1p(table["predicted_days"]) - np.log1p(generated.target)).abs()
    high = table["confidence"] == "high"
    correlation = [error[own].corr(table["Age"][own]) for own in (slice(None), high, ~high)]
    assert correlation[1] < correlation[2] < correlation[0]
    assert correlation[1] > 0.02


def test_surrogate_is_near_the_sample(mirror, generated):
    sample = pd.read_csv(mirror / "fairtest" / "medical" / "tiny_predictions_reg.csv")
    for name in ("Age", "Number Of Claims", "Treated at Urgent Care", "Drug Months", "Max Charlson Index"):
        error = 4 * sample[name].std() / np.sqrt(1000)
        assert generated.features[name].mean() == pytest.approx(sample[name].mean(), abs=error)
    assert (generated.target > 0).mean() == pytest.approx((sample["Ground_Truth"] > 0).mean(), abs=0.01)
