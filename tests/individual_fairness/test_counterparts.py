import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

from fairlab.cases import Case
from fairlab.individual_fairness.counterparts import (
    CERTAIN,
    LIMIT,
    Scorer,
    Sums,
    by_chance,
    changes,
    log_odds_slopes,
    loss,
    loss_ratios,
    permuted,
    rows_per_person,
)

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


def people(rng, n, shift):
    group = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 3)) + np.outer(group, shift)
    return (X - X.mean(axis=0)) / X.std(axis=0), group[:, None].astype(float)


def test_moves_go_along_the_discriminant_as_far_as_the_means_are_apart():
    X, member = people(np.random.default_rng(0), 5_000, [1.0, -0.5, 0.0])
    found = Sums.of(X, member).moves()[:, 0]
    inside = member[:, 0] == 1
    apart = X[inside].mean(axis=0) - X[~inside].mean(axis=0)
    within = sum(np.cov(X[rows].T, bias=True) * rows.mean() for rows in (inside, ~inside))
    discriminant = np.linalg.solve(within, apart)
    unit = discriminant / np.linalg.norm(discriminant)
    np.testing.assert_allclose(found, unit * (unit @ apart), rtol=2e-3, atol=1e-6)
    ordinary = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), member, rcond=None)[0][:-1, 0]
    np.testing.assert_allclose(found / np.linalg.norm(found), ordinary / np.linalg.norm(ordinary), rtol=1e-3, atol=1e-6)


def test_what_chance_adds_is_the_mean_over_permutations():
    rng = np.random.default_rng(5)
    X, member = people(rng, 40, [1.0, 0, 0])
    slopes = rng.normal(size=(7, 3))
    gram, inverse = slopes.T @ slopes / 7, np.linalg.inv(X.T @ X + np.eye(3))
    drawn = np.mean([changes(inverse @ X.T @ member[rng.permutation(40)], gram) for _ in range(20_000)], axis=0)
    found = by_chance(inverse, X.T @ X, gram, member.sum(axis=0), 40)
    np.testing.assert_allclose(found, drawn, rtol=0.03)
    share = Sums.of(X, member).moves(gram) / Sums.of(X, member).moves()
    np.testing.assert_allclose(share[:, 0] ** 2, (1 - found / changes(inverse @ X.T @ member, gram))[0])


def test_ratios_by_hand():
    moves = np.array([[1.0, 0.0], [0.0, 3.0]])
    slopes = np.array([[0.5, 0.1], [0.0, 0.0], [-2.0, 0.0]])
    margin, direct = np.array([1.0, 2.0, 0.0]), np.array([0.0, 0.5, 1.0])
    ell = lambda m: np.log1p(np.exp(-m))  # noqa: E731
    expected = [ell(0.5) / ell(1), ell(1.5) / ell(2), ell(-3) / ell(0)]
    np.testing.assert_allclose(loss_ratios(margin, slopes, moves, direct), expected)


def test_no_loss_is_zero_or_infinite():
    np.testing.assert_allclose(loss(np.array([1e6, -1e6])), [-np.log(CERTAIN), -np.log(1 - CERTAIN)])
    np.testing.assert_allclose(loss(np.array([0.3])), np.logaddexp(0, -0.3))
    assert logit(CERTAIN) > 5


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_chance_alone_is_rarely_taken_for_unfair(shift):
    rng = np.random.default_rng(2)
    p_values = []
    for _ in range(200):
        X, member = people(rng, 150, [shift, 0.0, 0.0])
        margin, slopes = rng.normal(size=60), np.tile([0.0, 1.0, -1.0], (60, 1))  # blind to what shows the group
        p_value, _ = permuted(X, member, margin, slopes, n_permutations=39, random_state=rng, n_ratios=1)
        p_values.append(p_value)
    assert (np.array(p_values) <= 0.05).mean() < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
    assert (np.array(p_values) <= 0.05).mean() > 0


def test_what_shows_the_group_is_found():
    rng = np.random.default_rng(3)
    X, member = people(rng, 400, [1.0, 0, 0])
    slopes = np.tile([1.0, 0, 0], (60, 1))
    p_value, ratio = permuted(X, member, rng.normal(size=60), slopes, n_permutations=199, random_state=0)
    assert p_value == 1 / 200
    assert 1 < ratio < 1.1


class Linear:
    classes_ = np.array([0, 1])

    def predict_proba(self, rows):
        odds = 0.03 * (rows["age"] - 40) + 0.2 * rows["home"] + rows["job"].astype(str).map(JOBS).astype(float)
        odds = np.asarray(odds + (0.4 * (rows["income"] - 3)).fillna(0.7), dtype=float)
        return np.column_stack([expit(-odds), expit(odds)])


def case_of(model, **options):
    features = ["age", "income", "job", "home"]
    return Case(model, TABLE, sensitive_features="group", features=features, pos_label=1, **options)


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
    before = case.queries.n_queries
    log_odds_slopes(Scorer(case), np.arange(20))
    assert 0 < case.queries.n_queries - before <= 20 * rows_per_person(case)


def test_networks_give_gradients():
    import keras

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, "sigmoid")])
    model.set_weights([np.float32([[0.5], [-2.0]]), np.zeros(1, np.float32)])
    numbers = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(5, 3, N), "group": RNG.integers(0, 2, N)})
    case = Case(model, numbers, sensitive_features="group", features=["a", "b"])
    found = log_odds_slopes(Scorer(case), np.arange(4))
    np.testing.assert_allclose(found, np.tile([0.5, -2.0] * case.encoding.scale, (4, 1)), rtol=1e-5)
    assert rows_per_person(case) == 1


def test_scores_that_are_no_probabilities_go_by_their_spread():
    case = case_of(lambda rows: 600 + 5.0 * rows["age"], decision_threshold=800.0)
    scorer = Scorer(case)
    scores = 600 + 5.0 * TABLE["age"]
    assert scorer.scale == pytest.approx(scores.std(ddof=0))
    assert scorer.decision_threshold == 0
    np.testing.assert_allclose(scorer.log_odds(), (scores - 800) / scores.std(ddof=0))


def test_probabilities_of_0_and_1_are_held_within_limits():
    case = case_of(lambda rows: np.clip((rows["age"] - 30) / 20, 0, 1), decision_threshold=0.9)
    scorer = Scorer(case)
    assert np.abs(case.log_odds()).max() > 30
    assert np.abs(scorer.log_odds()).max() == pytest.approx(LIMIT)
    assert scorer.decision_threshold == pytest.approx(np.log(9))
