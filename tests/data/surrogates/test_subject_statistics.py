import numpy as np
import pandas as pd
import pytest
from scipy.stats import f_oneway
from statsmodels.api import OLS, add_constant
from statsmodels.stats.outliers_influence import variance_inflation_factor
from subject_statistics import FEATURES, check, fitted, held_out, mean, spread

from fairlab.data.surrogates.subjects import COUNTED, PREDICTORS


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


def test_mean_and_spread_by_hand():
    values = np.array([1.0, 3.0, 8.0])
    among = np.array([True, True, False])
    assert mean(values).value == 4
    assert mean(values).influence.tolist() == [-3, -1, 4]
    assert mean(values, among=among).value == 2
    assert mean(values, among=among).influence.tolist() == [-1.5, 1.5, 0]
    assert spread(values, among=among).value == 1
    assert spread(values, among=among).influence.tolist() == [0, 0, 0]  # both are one deviation from the mean


def test_fitted_statistics_are_those_of_other_programs(people):
    found = {name: statistic.value for name, statistic in fitted(people).items()}
    features = people[list(FEATURES)].assign(age=people["age"] // 10 - 1).astype(float)
    design = add_constant(features)
    least_squares = OLS(people["score"], design).fit()
    assert found["intercept"] == pytest.approx(least_squares.params["const"])
    for j, name in enumerate(features, start=1):
        assert found[f"slope of {name}"] == pytest.approx(least_squares.params[name])
        assert found[f"inflation of {name}"] == pytest.approx(variance_inflation_factor(design.to_numpy(), j))
    assert found["residual of the linear fit"] == pytest.approx(least_squares.resid.std(ddof=0))
    for name in PREDICTORS:
        assert found[f"mean of {name}"] == pytest.approx(people[name].mean())
        assert found[f"deviation of {name}"] == pytest.approx(people[name].std(ddof=0))
    assert found["mean score, gang 1"] == pytest.approx(people.query("gang_affiliation == 1")["score"].mean())
    high = people[people["score"] >= 250]
    expected = (high[list(PREDICTORS)].sum(axis=1) == 0).mean()
    assert found["share without predictors, score 250 up"] == pytest.approx(expected)


def test_influences_are_how_statistics_change_with_weights(people):
    table = pd.concat([people[:400]] * 50, ignore_index=True)
    before = fitted(table)
    for row in (3, 217):
        heavier = pd.concat([table, table.loc[[row] * 4]])
        after = fitted(heavier)
        for name, statistic in before.items():
            assert statistic.influence.mean() == pytest.approx(0, abs=1e-8), name
            first_order = statistic.influence[row] * 4 / len(heavier)
            assert after[name].value - statistic.value == pytest.approx(first_order, rel=0.1, abs=1e-6), name


def test_held_out_statistics_are_those_of_other_programs(people):
    found = held_out(people)
    for name, column in (("race", "race"), ("sex", "sex"), ("gang", "gang_affiliation")):
        groups = [own for _, own in people.groupby(column)["score"]]
        assert found[f"F of score by {name}"] == pytest.approx(f_oneway(*groups).statistic)
    decades = people["age"] // 10 - 1
    assert found["correlation of score and age"] == pytest.approx(people["score"].corr(decades))
    line = np.polynomial.Polynomial.fit(decades, people["score"], 1)
    assert found["residual of the fit on age"] == pytest.approx((people["score"] - line(decades)).std(ddof=0))
    assert found["residual of the cubic fit"] < fitted(people)["residual of the linear fit"].value
    assert found["share with score 345 up"] == pytest.approx((people["score"] >= 345).mean())
    assert found["mean score, race BLK"] == pytest.approx(people.query("race == 'BLK'")["score"].mean())


def test_check_lists_fitted_and_held_out_statistics_beside_the_published_ones(people):
    published = {"fitted": {"mean of weapons_arrests": 0.5}, "held out": {"share with score 345 up": -0.25}}
    frame = check(people, published)
    assert frame["use"].tolist() == ["fitted", "held out"]
    assert frame["surrogate"].tolist() == [people["weapons_arrests"].mean(), (people["score"] >= 345).mean()]
    assert frame["difference"].tolist() == pytest.approx((frame["surrogate"] - frame["published"]).tolist())
    assert frame["relative"].tolist() == pytest.approx((frame["difference"] / [0.5, 0.25]).tolist())
    with pytest.raises(KeyError, match="mean of nothing"):
        check(people, {"fitted": {"mean of nothing": 1.0}})
