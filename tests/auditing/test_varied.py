import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from fairlab import Case
from fairlab.auditing.varied import PEOPLE, Varied, over_inputs, over_people, proxies_of


def varied(decisions, own=0):
    decisions = np.asarray(decisions, dtype=bool)
    rows = pd.DataFrame(
        {"sex": ["f"] * len(decisions), "k": range(len(decisions))}, index=range(100, 100 + len(decisions))
    )
    values = pd.DataFrame({"sex": list("fmx")[: decisions.shape[1]]})
    return Varied(decisions, decisions[:, own], rows, values)


def test_sampled_scores_have_exact_intervals_and_tests():
    decisions = np.zeros((200, 2), dtype=bool)
    decisions[:30, 0] = decisions[30:40, 1] = True
    some = varied(decisions)
    assert some.hits.tolist() == [True] * 40 + [False] * 160
    expected = binomtest(40, 200).proportion_ci(0.95)
    assert some.causal(0.05) == pytest.approx((0.2, expected.low, expected.high))
    score, low, high, p_value = some.group(0.05, np.random.default_rng(0))
    first, second = (binomtest(k, 200).proportion_ci(0.975) for k in (30, 10))
    assert (low, high) == pytest.approx((max(first.low - second.high, 0), first.high - second.low))
    assert p_value == pytest.approx(binomtest(30, 40).pvalue)
    assert score == pytest.approx(0.1, abs=0.01)


def test_noise_is_no_group_score():
    rng = np.random.default_rng(0)
    found, plain = [], []
    for _ in range(200):
        some = varied(rng.random((100, 3)) < 0.5)
        found.append(some.group(0.05, rng))
        plain.append(np.ptp(some.decisions.mean(axis=0)))
    scores, lows, _, p_values = np.transpose(found)
    assert np.mean(lows > 0) <= 0.05
    assert np.mean(p_values <= 0.05) <= 0.08
    assert np.mean(scores) < 0.7 * np.mean(plain)


def test_evidence_is_pairs_of_rows():
    some = varied([[1, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]])
    pairs = some.pairs()
    expected = {"sex": ["f"] * 3, "k": [2, 0, 3], "other sex": ["m"] * 3, "favourable": [False, True, True]}
    assert pairs.to_dict("list") == expected
    assert pairs.attrs["generated"] is True
    # Rates 3/4, 2/4 and 2/4: f is favoured where m is not in rows 0 and 3.
    expected = {"sex": ["f"] * 2, "k": [0, 3], "other sex": ["m"] * 2, "favourable": [True, True]}
    assert some.extreme_pairs().to_dict("list") == expected


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "sex": pd.Categorical(rng.choice(["f", "m"], 300)),
            "owns": rng.choice([True, False, None], 300),
            "age": rng.integers(18, 28, 300),
        },
        index=range(1000, 1300),
    )
    return Case(lambda rows: (rows["age"] > 21) & (rows["sex"] == "m"), table, sensitive_features="sex")


@pytest.mark.parametrize("dtype", ["int64", "Int64", "float64"])
def test_inputs_are_drawn_column_by_column_from_the_table(dtype):
    n = 1000
    table = pd.DataFrame({"sex": list("fffm") * 250, "income": pd.Series(np.arange(n) ** 2).astype(dtype)})
    table["double"] = 2 * np.arange(n)
    if dtype != "int64":
        table.loc[:99, "income"] = pd.NA
    case = Case(lambda rows: rows["income"].fillna(0) > 250_000, table, sensitive_features="sex")
    some = over_inputs(case, ("sex",), 5_000, np.random.default_rng(0))
    rows = some.rows
    assert rows.dtypes.equals(table.dtypes)
    assert rows["income"].dropna().isin(table["income"]).all()
    assert rows["income"].nunique() > 800
    assert rows["income"].isna().mean() == pytest.approx(table["income"].isna().mean(), abs=0.02)
    assert (rows["sex"] == "f").mean() == pytest.approx(0.75, abs=0.02), "as often as in the table"
    assert abs(rows["income"].astype(float).corr(rows["double"])) < 0.05, "each by itself"
    assert (some.own == case.decide(rows)).all()
    assert some.decisions.shape == (5_000, 2)
    assert some.generated


def test_over_all_people_and_some(case, monkeypatch):
    every = over_people(case, ("sex",), np.arange(300))
    assert every.rows.index.equals(case.table.index)
    assert (every.hits == (case.table["age"] > 21)).all()
    assert (every.own == case.decide()).all()
    monkeypatch.setattr("fairlab.auditing.varied.ROWS", 7)  # in batches
    some = over_people(case, ("sex",), np.arange(0, 300, 6))
    assert some.rows.index.equals(case.table.index[::6])
    assert (some.decisions == every.decisions[::6]).all()
    assert some.pairs().attrs["generated"] is False


def case_of(n):
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], n)
    table = pd.DataFrame(
        {
            "sex": sex,
            "race": rng.choice(["a", "b"], n),
            "title": np.where(sex == "f", "Ms", "Mr"),
            "height": rng.normal(165, 6, n) + 20 * (sex == "m"),
            "district": rng.choice(list("xyz"), n),
        }
    )
    return Case(
        lambda rows: rows["height"] > 170,
        table,
        sensitive_features=["sex", "race"],
        features=["title", "height", "district"],
    )


@pytest.mark.parametrize("n", [500, PEOPLE + 500])
def test_columns_that_tell_about_another(n):
    case = case_of(n)
    assert proxies_of(case, "sex") == ("title", "height")
    assert proxies_of(case, "race") == ()
