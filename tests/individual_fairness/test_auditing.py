import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.special import expit
from scipy.stats import norm

from fairlab.cases import Case
from fairlab.fair_metric import FairMetric, chance_p_values, sensitive_directions, subspace_basis
from fairlab.individual_fairness import (
    IndividualFairness,
    StepSizeWarning,
    audit,
    error_rate_ratio_test,
    gradient_flow_attack,
    linearised,
    loss_ratio_test,
)
from fairlab.individual_fairness.linearised import (
    MAX_LOG_ODDS,
    MAX_PROBABILITY,
    MeanRatio,
    Scorer,
    Sums,
    attacked_ratio,
    by_chance,
    changes,
    linearised_ratio,
    log_odds_slopes,
    loss,
    loss_ratios,
    permuted,
    rows_per_person,
)
from fairlab.models import LinearClassifier
from fairlab.papers.individual_fairness.learners import SOLVERS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
Y = (X[:, 1] + 0.5 * RNG.normal(size=200) > 0).astype(int)
METRIC = FairMetric.from_directions([[1.0, 0.0]])  # the first feature is free to move
ATTACK = {"regularizer": 50.0, "step_size": 0.01, "n_steps": 100}


def test_loss_ratio_by_hand():
    # Ratios of 2, 1, 3 and one that is infinite.
    result = loss_ratio_test([1.0, 2.0, 4.0, 0.0], [2.0, 2.0, 12.0, 1.0], variant="published")
    assert (result.statistic, result.n, result.n_dropped, result.rejected) == (2.0, 3, 1, False)
    error = np.sqrt(2 / 3 / 3)  # the variance has n in its denominator
    bounds = 2 - np.array([1.6448536, 1.9599640, -1.9599640]) * error
    found = result.standard_error, result.lower_bound, *result.interval, result.p_value
    assert found == pytest.approx((error, *bounds, norm.sf(0.75 / error)))
    still = loss_ratio_test([0.0, 1.0], [0.0, 1.0])
    assert (still.statistic, still.n_dropped, result.to_frame()["n_dropped"].tolist()) == (1, 0, [1])


QUANTILE = 2.0930241  # of Student's t with 19 degrees of freedom


def below(low, n, alpha=0.05):
    """Return a lower limit that reckons with a share of people at 1 that a sample misses with half this chance."""
    return 1 + (low - 1) * (alpha / 2) ** (1 / n)


@pytest.mark.parametrize(
    ("ratio", "least", "low", "high"),
    [
        (
            MeanRatio(np.full(4, 1.5), np.ones(4), 0.1, 19, 0.01, 1.6, 0.2),
            1.5,
            below(1.5 * np.exp(-QUANTILE * 0.1), 4),
            1.6 * np.exp(QUANTILE * 0.2),
        ),
        (  # an attack rises with the square of a slope, and counts as less from below
            MeanRatio(np.full(4, 3.0), np.ones(4), 0.3, 19, 0.01, 3.2, 0.2, lowest=2.0, power=0.5),
            2.0,
            below(2.0 * np.exp(-QUANTILE * 0.3), 4),
            np.exp((np.sqrt(np.log(3.2)) + QUANTILE * 0.2) ** 2),
        ),
    ],
)
def test_the_interval_and_p_value_of_a_mean_ratio_by_hand(ratio, least, low, high):
    assert ratio.bounds(0.95) == pytest.approx((low, high))
    assert ratio.bounds(0.995)[0] == 1  # at this level, chance may have made all of it
    p_values = max(0.01, 2 * stats.t.sf(np.log(least) / ratio.error, 19)), 0.05, 1
    assert [ratio.p_value(limit) for limit in (1.0, low, least)] == pytest.approx(p_values)


@pytest.mark.parametrize(("error", "error_of_highest", "power"), [(0.1, 0.05, 1.0), (0.0, 0.1, 1.0), (0.0, 0.1, 0.5)])
def test_the_smallest_mean_ratio_is_found_in_about_four_of_five_cases(error, error_of_highest, power):
    # No error from below is no certainty: chance may have made all of the ratio.
    some = np.full(4_000, 1.5), np.ones(4_000)
    ratio = MeanRatio(*some, error, 19, 0.01, 1.6, error_of_highest, power=power)
    for alpha in (0.05, 0.001):
        smallest, power_of_error = ratio.smallest(alpha, 1.25), 1.0 if error else power
        away = np.log(smallest) ** power_of_error - np.log(1.25) ** power_of_error
        away /= error or error_of_highest
        assert stats.nct.sf(stats.t.ppf(1 - alpha / 2, 19), 19, away) == pytest.approx(0.8, abs=0.03)


def test_what_the_sensitive_feature_changes_makes_chance_no_more_certain():
    # Ratios of 1.25 to 1.75 where the feature alone is changed; the limit is 1.25.
    direct = np.array([1.25, 1.25, 1.5, 1.75, 1.75])
    by_both, by_chance = (MeanRatio(np.full(5, 9.0), some, 0.1, 19, 0.5, 9.0, 0.1) for some in (direct, direct**1e-9))
    error = direct.std(ddof=1) / np.sqrt(5)
    low = below(1.5 * np.exp(-2.7764451 * error / 1.5), 5)
    assert (by_both.bounds(0.95)[0], by_both.p_value(low)) == pytest.approx((low, 0.05))
    assert (by_chance.bounds(0.95)[0], by_chance.p_value(1.25)) == (pytest.approx(1), 0.5)


def test_people_unlike_all_others_are_reckoned_with_where_a_sample_misses_them():
    # 2% have a ratio of 1, the others one so that the mean is the limit. Nearly all samples of 50 hold at most 4.
    ratios = [np.repeat([1.0, 1.23 / 0.98], [n_odd, 50 - n_odd]) for n_odd in range(5)]
    found = [MeanRatio(some, some, 0.0, 19, 0.001, some.mean(), 0.1).p_value(1.25) <= 0.05 for some in ratios]
    assert stats.binom(50, 0.02).pmf(np.flatnonzero(found)).sum() <= 0.05
    assert MeanRatio(ratios[0], ratios[0], 0.0, 19, 0.001, 1.23, 0.1).p_value(1.1) < 0.05


def test_rates_of_an_attack_by_hand():
    # Two columns at right angles with deviations of 1 and 2; the first one shows the group.
    X = np.tile([[1.0, 2.0], [1.0, -2.0], [-1.0, 2.0], [-1.0, -2.0]], (100, 1))
    group = np.tile([1.0, 1.0, 0.0, 0.0], 100)[:, None]
    slopes = np.array([[1.0, 0.0], [0.0, 1.0], [3.0, 1.0]])
    rate, least, most, anywhere = Sums.of(X, group).rates(slopes, 1)
    noise = 400 / 401**2  # of a regression coefficient per unit deviation of the group, with a ridge of 1
    length = (200 / 401) ** 2 / (200 * 200 / (400 * 399))
    added = noise * ((1 + 0 + 9) + (0 + 4 + 4)) / 3 / length / (10 / 3)
    assert rate == pytest.approx([1, 0, 9])
    assert least == pytest.approx(rate * (1 - added))
    assert most == pytest.approx(rate / (1 - 2 * noise / length))
    assert anywhere == pytest.approx([1, 4, 9 + 4])


def three_groups(rng, of_second):
    """Return rows of three groups that differ in the first column, and the second group, by so much, in another."""
    group, X = rng.integers(0, 3, 3_000), rng.normal(size=(3_000, 4))
    X[:, 0] += group
    X[:, 1] += of_second * (group == 1)
    return X, np.eye(3)[group]


def test_rates_of_an_attack_are_those_in_its_subspace(rng):
    X, membership = three_groups(rng, 1.0)
    X, slopes = (X - X.mean(axis=0)) / X.std(axis=0), rng.normal(size=(5, 4))
    basis = subspace_basis(X, membership, sensitive_directions(X, membership, scaled=False), alpha=0.05)
    assert basis.shape == (4, 2)
    expected = np.square(slopes @ basis).sum(axis=1)
    assert Sums.of(X, membership).rates(slopes, 2)[0] == pytest.approx(expected, rel=0.1, abs=0.03)


def test_from_above_an_attack_goes_along_directions_that_are_not_shown_too():
    X, membership = three_groups(np.random.default_rng(0), 0.2)
    slopes = np.array([[0.0, 1.0, 0.0, 0.0]])
    shown = np.array([True, False, False])
    few, all_of_them = (Sums.of(X, membership).rates(slopes, k)[:, 0] for k in (1, 2))
    assert (few[0] < 0.1, few[2] > 0.9 * all_of_them[0] > 0.5) == (True, True)
    by_shown = Sums.of(X, membership).rates(slopes, 1, shown)
    assert by_shown[:2] == pytest.approx(Sums.of(X, membership[:, shown]).rates(slopes, 1)[:2]) and by_shown[2, 0] > 0.5


def flow(margin, rate):
    for _ in range(40):
        margin = margin - 0.05 * rate * expit(-margin)
    return margin


def attacked(rng, n, of_first, of_others=0.4):
    """Return an attacked mean ratio and the truth: a linear model of 8 columns, the first of which shows the group."""

    def people(n):
        group = rng.random(n) < 0.4
        X = rng.normal(size=(n, 8))
        X[:, 0] += group
        margin = np.where(rng.random(n) < expit(X @ weights), 1, -1) * (X @ weights)
        return X, group[:, None] * 1.0, margin

    weights = np.array([of_first, *np.full(7, of_others)])
    (X, group, margin), (_, _, of_all) = people(n), people(20_000)
    scale = X.std(axis=0)
    X = (X - X.mean(axis=0)) / scale
    slopes = np.tile(weights * scale, (n, 1))
    basis = subspace_basis(X, group, sensitive_directions(X, group, scaled=False), alpha=0.05)
    ratios = loss(flow(margin, np.square(slopes @ basis).sum(axis=1))) / loss(margin)
    options = {"n_dimensions": 1, "stopping_time": 2.0, "n_steps": 40, "p_of_chance": 0.0002, "random_state": 0}
    found = attacked_ratio(X, group, margin, slopes, np.zeros(n), ratios, **options)
    return found, (loss(flow(of_all, of_first**2 * 1.24)) / loss(of_all)).mean()


@pytest.mark.parametrize("of_first", [0.0, 0.6])
def test_the_interval_of_an_attack_counts_that_the_subspace_is_learned(of_first, rng):
    found = [attacked(rng, 150, of_first) for _ in range(60)]
    held = [low <= truth <= high for (low, high), truth in ((each.bounds(0.95), truth) for each, truth in found)]
    # By the spread of the ratios alone it holds 1 and 3 of them.
    assert sum(held) >= 54
    assert np.mean([each.p_value(truth) > 0.05 for each, truth in found]) >= 0.9


def test_the_interval_of_an_attack_holds_it_from_above_where_the_model_takes_what_shows_the_group(rng):
    found = [attacked(rng, 100, 1.0, 0.0) for _ in range(80)]
    assert sum(each.bounds(0.95)[1] < truth for each, truth in found) <= stats.binom.ppf(0.99, 80, 0.025)


def test_where_columns_do_not_show_the_groups_an_attack_may_go_anywhere(rng):
    X, group, margin = rng.normal(size=(200, 3)), rng.integers(0, 2, (200, 1)), rng.normal(size=200)
    options = {"stopping_time": 2.0, "n_steps": 40, "p_of_chance": 0.5, "random_state": 0}
    args = X, group, margin, np.tile([0.0, 0.0, 1.0], (200, 1)), np.zeros(200), np.ones(200)
    found = attacked_ratio(*args, n_dimensions=0, **options)
    along = (loss(flow(margin, X[:, 2].var())) / loss(margin)).mean()
    assert (found.estimate, found.bounds(0.95)[0], found.p_value(1.01), found.error) == (1, 1, 1, 0)
    assert found.bounds(0.95)[1] > along > 1.25


def test_error_rate_ratio_by_hand():
    wrong, attacked = (np.repeat(answers, [15, 5, 20, 60]) for answers in ([1, 1, 0, 0], [1, 0, 1, 0]))
    result = error_rate_ratio_test(wrong, attacked, variant="published")
    a, b, both = 0.35, 0.2, 0.15
    error = np.sqrt((0.35 * 0.65 / b**2 + a**2 * 0.2 * 0.8 / b**4 - 2 * a * (both - a * b) / b**3) / 100)
    found = result.statistic, result.standard_error, result.rejected
    assert found == (pytest.approx(1.75), pytest.approx(error), 1.75 - norm.ppf(0.95) * error > 1.25)


def test_an_attack_that_changes_no_prediction_leaves_room_for_chance():
    wrong = np.arange(200) < 30
    result = error_rate_ratio_test(wrong, wrong)
    assert result.interval[0] < result.lower_bound < 1 < result.interval[1]
    assert error_rate_ratio_test(wrong, wrong, variant="published").interval.tolist() == [1, 1]
    assert error_rate_ratio_test(np.zeros(9), np.ones(9), variant="published").rejected == False  # noqa: E712


losses = arrays(float, (3, 8), elements=st.floats(0.01, 10))


@given(losses, losses, st.floats(0.1, 10))
def test_rows_are_tests_of_their_own_and_the_unit_of_loss_does_not_matter(before, after, unit):
    together = loss_ratio_test(before, after)
    alone = [loss_ratio_test(unit * one, unit * other).lower_bound for one, other in zip(before, after, strict=True)]
    assert alone == pytest.approx(together.lower_bound, rel=1e-9, abs=1e-9) and len(together.to_frame()) == 3


# Under the hypothesis an error is new with a chance of 5/9 at most, and (5/9)^6 = 0.029, (5/9)^5 = 0.053.
@pytest.mark.parametrize(("k", "rejected"), [(5, False), (6, True), (100, True)])
def test_a_model_that_errs_only_after_the_attack(k, rejected):
    result = error_rate_ratio_test(np.zeros(100), np.arange(100) < k)
    assert (result.statistic, result.interval[1], result.rejected) == (np.inf, np.inf, rejected)
    bound = 0.05 ** (1 / k) / (1 - 0.05 ** (1 / k))
    assert (result.p_value, result.lower_bound) == pytest.approx(((5 / 9) ** k, bound), rel=1e-6, abs=0)
    assert result.to_frame()["rejected"].tolist() == [rejected]


MANY = [0.0] * 98 + [1.0, 1.0], [1e6] * 98 + [1.0, 1.0]


@pytest.mark.parametrize(
    ("losses", "options", "message"),
    [
        (MANY, {}, "98 of 100 points have no finite ratio of losses, 98 of them since there is no"),
        (([1.0, 1.0], [1.0, np.inf]), {}, "1 of 2 points have no finite ratio"),
        (
            ([0.0, 0.0, 1.0], [1.0, 1.0, 1.0]),
            {"variant": "published"},
            "1 finite ratios among 3 points, expected at least 2",
        ),
        (([1.0, 1.0], [1.0, np.nan]), {}, "attacked_loss: 1 of 2 are not a number"),
        (([1.0, 1.0], [1.0]), {}, r"loss has shape \(2,\), attacked_loss \(1,\)"),
        (([1.0, 1.0], [1.0, 2.0]), {"max_loss_ratio": np.inf}, "max_loss_ratio: expected a finite number above 0"),
    ],
)
def test_losses_without_ratios_are_refused_and_the_most_unfair_model_is_not_passed(losses, options, message):
    with pytest.raises(ValueError, match=message):
        loss_ratio_test(*losses, **options)


def test_series_are_matched_by_their_index():
    loss = pd.Series([1.0, 2.0, 4.0], index=["a", "b", "c"])
    shuffled = (loss * pd.Series({"a": 1.0, "b": 3.0, "c": 2.0}))[["c", "a", "b"]]
    assert loss_ratio_test(loss, shuffled).statistic == 2.0 != loss_ratio_test(loss, shuffled.to_numpy()).statistic
    wrong, attacked = pd.Series([1, 1, 0, 0]), pd.Series([1, 1, 1, 0])
    assert len({error_rate_ratio_test(wrong, each).standard_error for each in (attacked[::-1], attacked)}) == 1


def test_whoever_looks_at_the_free_feature_is_found_unfair():
    given = LinearClassifier([[0.0, 2.0], [3.0, 2.0]], [0.0, 0.0]), METRIC, np.stack([X, X]), Y
    attack, frame = gradient_flow_attack(*given, **ATTACK), audit(*given, **ATTACK).to_frame()
    by_loss = loss_ratio_test(attack.loss, attack.attacked_loss).lower_bound
    by_errors = error_rate_ratio_test(attack.wrong, attack.attacked_wrong).lower_bound
    expected = pd.DataFrame(
        {
            "lower_bound": [*by_loss, *by_errors],
            "rejected": [False, True] * 2,
            "n_diverged": 0,
            "max_loss_ratio": 1.25,
        },
        index=["loss ratio"] * 2 + ["error-rate ratio"] * 2,
    )
    pd.testing.assert_frame_equal(frame[list(expected)], expected, check_dtype=False, check_names=False)


def test_an_attack_that_diverges_is_counted_as_published():
    given = LinearClassifier([1.0, 2.0], 0.0), METRIC, X, Y
    with pytest.warns(StepSizeWarning):
        found = audit(*given, variant="published", regularizer=1e30, step_size=1e20, n_steps=1)
    assert found.to_frame()["n_diverged"].tolist() == [200, 200]


# counterparts

RNG = np.random.default_rng(0)
N = 60
MIXED = pd.DataFrame(
    {
        "group": RNG.choice(["a", "b"], N),
        "age": RNG.integers(20, 60, N),
        "income": RNG.normal(3, 1, N),
        "job": pd.Categorical(RNG.choice(["clerk", "cook", "smith"], N)),
        "home": RNG.random(N) < 0.5,
    }
)
MIXED.loc[::7, "income"] = np.nan
JOBS = {"clerk": 0.0, "cook": 0.5, "smith": -1.0}


def people(rng, n, shift):
    group = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 3)) + np.outer(group, shift)
    return (X - X.mean(axis=0)) / X.std(axis=0), group[:, None].astype(float)


def test_moves_go_along_the_discriminant_as_far_as_the_means_are_apart():
    X, member = people(np.random.default_rng(0), 5_000, [1.0, -0.5, 0.0])
    inside = member[:, 0] == 1
    apart = X[inside].mean(axis=0) - X[~inside].mean(axis=0)
    within = sum(np.cov(X[rows].T, bias=True) * rows.mean() for rows in (inside, ~inside))
    discriminant = np.linalg.solve(within, apart)
    unit = discriminant / np.linalg.norm(discriminant)
    np.testing.assert_allclose(Sums.of(X, member).moves()[:, 0], unit * (unit @ apart), rtol=2e-3, atol=1e-6)


def test_moves_are_in_standard_deviations_of_their_own_rows():
    X, member = people(np.random.default_rng(0), 300, [1.0, -0.5, 0.0])
    some, slopes = slice(0, 60), np.array([[0.5, 1.0, -0.3], [1.0, 0.2, 0.1]])
    deviation = X[some].std(axis=0)
    for gram in (None, slopes.T @ slopes / 2):
        own = None if gram is None else gram * np.outer(deviation, deviation)
        expected = Sums.of(X[some] / deviation, member[some]).moves(own) * deviation[:, None]
        rest = Sums.of(X, member) - Sums.of(X[60:], member[60:])
        np.testing.assert_allclose(rest.moves(gram), expected)


def linearised_people(rng, n, p, model):
    """Return a linearised mean ratio and the truth: the first of some columns shows the group.

    A steep model takes twice that column, a shy one a tenth, and others as much as the steep one takes of it.
    """
    weights = np.full(p, 0.0 if model == "steep" else 1 / np.sqrt(p))
    weights[0] = {"steep": 2.0, "shy": 0.1}[model]

    def drawn(n):
        group = rng.random(n) < 0.5
        X = rng.normal(size=(n, p))
        X[:, 0] += group
        odds = X @ weights
        return X, group[:, None] * 1.0, np.where(rng.random(n) < expit(odds), 1, -1) * odds

    (X, group, margin), (_, _, of_all) = drawn(n), drawn(20_000)
    scale = X.std(axis=0)
    args = (X - X.mean(axis=0)) / scale, group, margin, np.tile(weights * scale, (n, 1)), np.zeros(n)
    return linearised_ratio(*args, random_state=0)[0], (loss(of_all - weights[0]) / loss(of_all)).mean()


@pytest.mark.parametrize(("model", "p"), [("steep", 20), ("shy", 8)])
def test_the_interval_of_a_linearised_ratio_holds_it_from_above(model, p, monkeypatch, rng):
    monkeypatch.setattr(linearised, "N_FURTHER", 0)
    monkeypatch.setattr(linearised, "N_PERMUTATIONS", 99)
    found = [linearised_people(rng, 80, p, model) for _ in range(150)]
    above = [each.bounds(0.95)[1] < truth for each, truth in found]
    assert sum(above) <= stats.binom.ppf(0.99, 150, 0.025)
    assert np.mean([each.p_value(truth) > 0.05 for each, truth in found]) >= 0.95


def test_what_chance_adds_is_the_mean_over_permutations():
    rng = np.random.default_rng(5)
    X, member = people(rng, 40, [1.0, 0, 0])
    slopes = rng.normal(size=(7, 3))
    gram, inverse = slopes.T @ slopes / 7, np.linalg.inv(X.T @ X + np.eye(3))
    drawn = [changes(inverse @ X.T @ member[rng.permutation(40)], gram) for _ in range(20_000)]
    found = by_chance(inverse, X.T @ X, gram, member.sum(axis=0), 40)
    np.testing.assert_allclose(found, np.mean(drawn, axis=0), rtol=0.03)
    share = Sums.of(X, member).moves(gram) / Sums.of(X, member).moves()
    np.testing.assert_allclose(share[:, 0] ** 2, (1 - found / changes(inverse @ X.T @ member, gram))[0])


def test_ratios_and_limits_of_losses_by_hand():
    moves, slopes = np.array([[1.0, 0.0], [0.0, 3.0]]), np.array([[0.5, 0.1], [0.0, 0.0], [-2.0, 0.0]])
    found = loss_ratios(np.array([1.0, 2.0, 0.0]), slopes, moves, np.array([0.0, 0.5, 1.0]))
    after, before = np.log1p(np.exp(-np.array([[0.5, 1.5, -3], [1, 2, 0]])))
    np.testing.assert_allclose(found, after / before)
    np.testing.assert_allclose(
        loss(np.array([1e6, -1e6, 0.3])),
        [-np.log(MAX_PROBABILITY), -np.log(1 - MAX_PROBABILITY), np.logaddexp(0, -0.3)],
    )


def case_of(model, **options):
    return Case(model, MIXED, sensitive_features="group", features=["age", "income", "job", "home"], **options)


def linear(rows):
    """Return probabilities whose log odds are linear."""
    odds = 0.03 * (rows["age"] - 40) + 0.2 * rows["home"] + rows["job"].astype(str).map(JOBS).astype(float)
    return expit(np.asarray(odds + (0.4 * (rows["income"] - 3)).fillna(0.7), dtype=float))


def test_slopes_of_a_linear_model_are_its_weights():
    case, people = case_of(linear, decision_threshold=0.5), np.array([0, 1, 5, 30])
    slopes = pd.DataFrame(log_odds_slopes(Scorer(case), people), columns=case.encoding.names)
    scale, rows = dict(zip(case.encoding.names, case.encoding.scale, strict=True)), MIXED.iloc[people]
    missing = rows["income"].isna().to_numpy()
    middle = MIXED["income"].sort_values().iloc[MIXED["income"].count() // 2]
    expected = {
        "age": 0.03 * scale["age"],
        "home": 0.2 * scale["home"],
        "income": np.where(missing, 0, 0.4 * scale["income"]),
        "income is missing": 0.7 - 0.4 * (np.where(missing, middle, rows["income"]) - 3),
    } | {f"job = {job}": value - rows["job"].astype(str).map(JOBS).to_numpy() for job, value in JOBS.items()}
    np.testing.assert_allclose(slopes[list(expected)], pd.DataFrame(expected, index=range(4)), rtol=1e-6, atol=1e-12)


def test_scores_that_are_no_probabilities_go_by_their_spread():
    scorer = Scorer(case_of(lambda rows: 600 + 5.0 * rows["age"], decision_threshold=800.0))
    spread = 5.0 * MIXED["age"].std(ddof=0)
    assert (scorer.scale, scorer.decision_threshold) == (pytest.approx(spread), 0)
    np.testing.assert_allclose(scorer.log_odds(), (5.0 * MIXED["age"] - 200) / spread)


def test_probabilities_of_0_and_1_are_held_within_limits():
    case = case_of(lambda rows: np.clip((rows["age"] - 30) / 20, 0, 1), decision_threshold=0.9)
    scorer = Scorer(case)
    assert np.abs(case.log_odds()).max() > 30 > np.abs(scorer.log_odds()).max() == pytest.approx(MAX_LOG_ODDS)
    assert scorer.decision_threshold == pytest.approx(np.log(9))


# the fair metric


@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_distance_ignores_the_subspace_and_only_that(seed, k):
    rng = np.random.default_rng(seed)
    directions, x, move = rng.normal(size=(k, 5)), rng.normal(size=(4, 5)), rng.normal(size=(4, k))
    metric = FairMetric.from_directions(np.vstack([directions, directions[0] * 3]))
    assert metric.n_sensitive == k
    np.testing.assert_allclose(metric.squared_distance(x + move @ directions, x), 0, atol=1e-10)
    residual = [row - directions.T @ np.linalg.lstsq(directions.T, row)[0] for row in x]
    np.testing.assert_allclose(metric.squared_distance(x, 0 * x), np.square(residual).sum(axis=1), atol=1e-10)


def test_rotation_turns_the_subspace():
    metric, fair = FairMetric.from_directions([[1.0, 0.0]]), np.array([-0.5, np.sqrt(0.75)])  # (0, 1) turned by 30°
    np.testing.assert_allclose(metric.rotated(30).projection, np.outer(fair, fair), atol=1e-12)
    np.testing.assert_allclose(metric.rotated(30).rotated(-30).projection, metric.projection, atol=1e-12)
    in_plane = FairMetric.from_directions([[1.0, 0.0, 0.0, 0.0]]).rotated(90)
    np.testing.assert_allclose(in_plane.projection, np.diag([1, 0, 1, 1]), atol=1e-12)


RNG = np.random.default_rng(1)
TABLE = pd.DataFrame(RNG.normal(size=(3000, 3)), columns=list("abc"))
# By the directions (1, -2, 0) and (0, 0, 1).
ODDS = pd.DataFrame({"sex": TABLE["a"] - 2 * TABLE["b"], "race": TABLE["c"] + 1})
ATTRIBUTES = (ODDS + RNG.logistic(size=(2, 3000)).T > 0).astype(int)


def test_learned_directions_are_those_of_the_attributes():
    converged = sensitive_directions(TABLE, ATTRIBUTES, scaled=False)
    np.testing.assert_allclose(converged, [[1, -2, 0], [0, 0, 1]], atol=0.25)
    by_authors, by_liblinear = (
        sensitive_directions(TABLE, ATTRIBUTES, solver=SOLVERS[name], scaled=False)
        for name in ("published", "liblinear")
    )
    np.testing.assert_allclose(by_authors, converged, atol=1e-4)
    np.testing.assert_allclose(by_liblinear, converged, atol=0.02)
    assert FairMetric.learned(TABLE, ATTRIBUTES).n_sensitive == 2


def test_what_is_learned_does_not_depend_on_units():
    units = np.array([1000.0, 1.0, 0.01])
    first, second = FairMetric.learned(TABLE, ATTRIBUTES), FairMetric.learned(TABLE * units + 5, ATTRIBUTES)
    np.testing.assert_allclose(second.scale, TABLE.std(ddof=0) * units)
    moved = TABLE.to_numpy() + np.array([1.0, 2.0, 3.0])
    found = second.squared_distance(moved * units, TABLE * units)
    np.testing.assert_allclose(found, first.squared_distance(moved, TABLE), rtol=1e-5)
    # A solver may penalise the intercept: what it gets is centred.
    options = {"solver": lambda own, _: own.mean(axis=0).round(9), "confidence_level": None}
    assert not sensitive_directions(TABLE + 5, ATTRIBUTES, **options).any()
    constants = [FairMetric.learned(TABLE.assign(a=constant), ATTRIBUTES) for constant in (7.0, 0.1)]
    assert [metric.scale[0] for metric in constants] == [1, 1], "the mean of 0.1 is rounded"


SWAPPED = TABLE[["b", "a", "c"]]


@pytest.mark.parametrize(
    ("is_learned", "tables"),
    [(True, (TABLE, SWAPPED)), (True, (SWAPPED, TABLE.to_numpy())), (False, (TABLE, SWAPPED))],
)
def test_columns_in_another_order_than_those_that_were_learned_are_refused(is_learned, tables):
    by_axis = FairMetric.from_directions([[1.0, 0.0, 0.0]])
    metric = FairMetric.learned(TABLE, ATTRIBUTES) if is_learned else by_axis
    with pytest.raises(ValueError, match="differ in columns: their order differs"):
        metric.squared_distance(*tables)


def test_an_attribute_that_does_not_show_has_no_direction():
    some, rng = TABLE[:300], np.random.default_rng(3)
    chance = [pd.DataFrame({"group": rng.integers(0, 2, 300)}) for _ in range(200)]
    kept = [sensitive_directions(some, group).any() for group in chance]
    assert 0.02 < np.mean(kept) < 0.09  # 5% promised
    quiet = chance[kept.index(False)]
    assert [FairMetric.learned(some, quiet, confidence_level=level).n_sensitive for level in (0.95, None)] == [0, 1]


def many_columns(rng):
    """Return as many columns as a third of the rows, and two groups of equal size."""
    return rng.normal(size=(150, 50)), rng.permutation(np.repeat([0.0, 1.0], 75))


def rare_categories(rng):
    """Return two columns of categories, some of them rare, and a group of 30."""
    codes = (rng.choice(20, 1_500, p=rng.dirichlet(np.full(20, 0.5))) for _ in range(2))
    return np.hstack([np.eye(20)[each] for each in codes]), rng.permutation(np.arange(1_500.0) < 30)


@pytest.mark.parametrize("drawn", [many_columns, rare_categories])
def test_what_shows_by_chance_shows_as_seldom_as_stated(drawn):
    p_values = []
    for seed in range(60):
        X, group = drawn(np.random.default_rng(seed))
        p_values.append(chance_p_values(X, np.column_stack([group, 1 - group]), n_permutations=99, random_state=seed))
    assert (np.array(p_values) <= 0.05).mean() <= 0.12  # a likelihood-ratio test has half of many columns
    assert np.ptp(p_values, axis=1).max() == pytest.approx(0)  # of two groups, which show alike
    shown = np.column_stack([3 * group + np.random.default_rng(2).normal(size=len(group)), X])
    assert chance_p_values(shown, group[:, None], n_permutations=99) == pytest.approx(0.01)


def test_a_gradient_in_units_agrees_with_finite_differences():
    metric = FairMetric.from_directions([[1.0, 2.0, 0.0]], scale=[1.0, 10.0, 0.1])
    x, start, steps = np.array([[1.0, 2.0, 3.0]]), np.zeros((1, 3)), 1e-6 * np.eye(3)
    numeric = [(metric.squared_distance(x + h, start) - metric.squared_distance(x, start))[0] / 1e-6 for h in steps]
    np.testing.assert_allclose(metric.gradient(x, start)[0], numeric, rtol=1e-4)


def test_attributes_that_are_features_add_their_axes():
    directions = sensitive_directions(TABLE.assign(sex=ATTRIBUTES["sex"]), ATTRIBUTES)
    learned = sensitive_directions(TABLE, ATTRIBUTES)
    np.testing.assert_allclose(directions, np.vstack([np.column_stack([learned, [0, 0]]), [0, 0, 0, 1]]))


def test_permutations_in_portions_are_those_at_once_and_their_p_values_uniform(monkeypatch):
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, slopes, margin = rng.normal(size=(60, 3)), rng.normal(size=(60, 3)), rng.normal(size=60)
        membership = np.eye(2)[rng.integers(2, size=60)]
        ask = {"n_permutations": 50, "random_state": seed}
        found.append(permuted(X, membership, margin, slopes, **ask))
        with monkeypatch.context() as small:
            small.setattr(linearised, "ENTRIES_AT_ONCE", 7 * membership.size)
            assert permuted(X, membership, margin, slopes, **ask) == pytest.approx(found[-1])
    assert 0.35 < np.array(found)[:, 0].mean() < 0.65  # of p-values; the standard error is 0.05


@pytest.mark.parametrize("shows", [0.0, 3.0])
def test_further_permutations_go_on_where_the_first_ended(shows, rng):
    group = rng.permutation(np.repeat([0.0, 1.0], 30))
    X, slopes, margin = rng.normal(size=(60, 3)), np.tile([1.0, 0.0, 0.0], (60, 1)), rng.normal(size=60)
    X[:, 0] += shows * group
    further = {"n_permutations": 19, "n_further": 80, "random_state": 0}
    at_once = {"n_permutations": 99 if shows else 19, "random_state": 0}
    ask = X, group[:, None], margin, slopes
    assert permuted(*ask, **further)[0] == permuted(*ask, **at_once)[0]
    assert chance_p_values(*ask[:2], **further) == chance_p_values(*ask[:2], **at_once)
    assert (permuted(*ask, **further)[0] == 1 / 100) == bool(shows)


@pytest.mark.parametrize("dtype", ["uint8", "int8", bool])
def test_distances_of_small_whole_numbers_do_not_overflow(dtype):
    X = np.array([[1, 0], [0, 1]]).astype(dtype)
    metric = FairMetric(np.eye(2))
    assert metric.squared_distance(X, X[::-1]).tolist() == [2, 2]
    assert metric.gradient(X, X[::-1]).tolist() == [[2, -2], [-2, 2]]


def test_a_column_in_other_units_leaves_what_shows_a_group_in_sight(rng):
    group = rng.integers(0, 2, size=(300, 1))
    X = np.column_stack([rng.normal(size=300) + 2 * group[:, 0], 1e14 * rng.normal(size=300)])
    assert chance_p_values(X, group)[0] < 0.01


@pytest.mark.parametrize("n", [5, 20, 50, 200])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.1])
def test_a_fair_model_is_seldom_rejected_however_few_people_there_are_and_few_are_unlike_all_others(share, n):
    rng, most = np.random.default_rng(0), 1 + 0.25 / (1 - share)
    ratios = np.where(rng.uniform(size=(4_000, n)) < share, 1.0, most) + (share == 0) * rng.normal(0, 0.1, (4_000, n))
    test = loss_ratio_test(np.ones((4_000, n)), ratios)  # whose mean is 5/4
    assert test.rejected.mean() <= 0.05
    assert (test.rejected == (test.p_value < 0.05)).all()
    by_paper = loss_ratio_test(np.ones((4_000, n)), ratios, variant="published")
    assert by_paper.rejected.mean() >= test.rejected.mean()


def test_limits_of_a_mean_ratio_by_hand():
    test = loss_ratio_test(np.ones(4), [1.0, 1.2, 1.4, 2.0])
    error = np.std([1.0, 1.2, 1.4, 2.0], ddof=1) / 2
    low = 1.4 - stats.t.ppf(0.95, 3) * error
    assert test.lower_bound == pytest.approx(low)  # below 1, where nobody is
    test = loss_ratio_test(np.ones(100), np.repeat([2.0, 3.0], 50))
    low = 2.5 - stats.t.ppf(0.95, 99) * 0.5 / np.sqrt(99)
    assert test.lower_bound == pytest.approx(low - (1 - 0.05**0.01) * (low - 1))
    assert loss_ratio_test(np.ones(100), np.repeat([2.0, 3.0], 50), max_loss_ratio=2).p_value < 1e-6


@pytest.mark.parametrize(("scale", "is_said"), [(expit, False), (lambda odds: 3 * odds, True)])
@pytest.mark.filterwarnings("ignore:The model gives numbers")
def test_scores_that_are_no_probabilities_are_said_to_have_a_scale_of_their_own(scale, is_said, rng):
    table = pd.DataFrame({"sex": ["f", "m"] * 150, "points": rng.normal(size=300)})
    threshold = float(scale(np.zeros(1))[0])
    case = Case(
        lambda rows: scale(rows["points"].to_numpy()), table, sensitive_features="sex", decision_threshold=threshold
    )
    said = IndividualFairness().run(case, budget=3_000).warnings
    assert any("no probabilities: individual fairness took them as log odds" in text for text in said) == is_said


def test_columns_in_which_nobody_differs_cost_no_queries():
    table = pd.DataFrame({"sex": ["f", "m"] * 50, "points": np.arange(100.0)})
    plain, padded = (
        Case(lambda rows: rows["points"] / 100, each, sensitive_features="sex", decision_threshold=0.5)
        for each in (table, table.assign(year=2026, country="x"))
    )
    assert rows_per_person(plain) == rows_per_person(padded)
