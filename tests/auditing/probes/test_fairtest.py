"""What FairTest finds about a case; the rates at which it is right are in test_truth."""

import numpy as np
import pandas as pd
import pytest

from fairlab.auditing import run
from fairlab.cases import Case

N = 2_000


@pytest.fixture(scope="module")
def people():
    """People of whom women under 40 are refused; region and income do not matter."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "sex": pd.Categorical(rng.choice(["woman", "man"], N), categories=["woman", "man"], ordered=True),
            "age": rng.integers(18, 80, N),
            "race": rng.choice(["a", "b", "c"], N),
            "income": np.where(rng.random(N) < 0.1, np.nan, rng.normal(3_000, 500, N).round(2)),
            "noise": rng.random(N),
        },
        index=[f"p{k}" for k in range(N)],
    )


def rule(rows):
    return ~((rows["sex"] == "woman") & (rows["age"] < 40)) & (rows["noise"] < 0.9)


@pytest.fixture(scope="module")
def case(people):
    return Case(rule, people, sensitive_features=["sex", "race"])


@pytest.fixture(scope="module")
def found(case):
    return run("fairtest", case, budget=0)


def test_the_rule_is_found_where_it_is(found, people):
    context = next(f for f in found.findings if f.sensitive_features == "sex")
    assert context.where.split(" and ")[0].startswith("age <= ")
    assert context.estimate < -0.8
    assert context.p_value < 1e-9
    asked = people.loc[context.evidence.index]
    assert len(asked) == context.n
    assert list(context.evidence) == ["favourable", *people]
    assert (context.evidence["favourable"] == rule(asked)).all()
    rates = rule(asked).groupby(asked["sex"], observed=True).mean()
    assert context.estimate == pytest.approx(rates["woman"] - rates["man"])


def test_of_several_groups_the_one_that_differs_most_in_training_is_tested(people):
    table = people.assign(race=np.where(people["age"] < 40, people["race"], "a"))
    model = Case(lambda rows: (rows["noise"] < 0.5) & ~((rows["race"] == "b") & (rows["age"] < 40)), table,
                 sensitive_features="race")  # fmt: skip
    finding = run("fairtest", model, budget=0).findings[0]
    assert finding.effect == "selection rate difference, b minus the others"
    asked = table.loc[finding.evidence.index]
    rates = pd.Series(model.decide(asked)).groupby((asked["race"] == "b").to_numpy()).mean()
    assert finding.estimate == pytest.approx(rates[True] - rates[False])
    assert finding.p_value == finding.test(0) < 1e-3
    assert finding.measure == "selection_rate_difference"


def test_errors_where_truth_is_known(people):
    truth = people["noise"] < 0.9
    labels = truth.astype(object).where(people["income"].notna(), None)
    model = Case(rule, people.assign(ok=labels), sensitive_features="sex", y_true="ok")
    errors = [f for f in run("fairtest", model, budget=0).findings if f.measure == "error_rate_difference"]
    rows = people.loc[errors[0].evidence.index]
    assert rows["income"].notna().all(), "people without a true label are left out"
    wrong = (rule(rows) != truth[rows.index]).groupby(rows["sex"], observed=True).mean()
    assert errors[0].estimate == pytest.approx(wrong["woman"] - wrong["man"])
    assert errors[0].evidence.columns[0] == "error"


def test_regression_by_correlation(people):
    def number(rows):
        return 100.0 * rows["age"] + 500 * (rows["sex"] == "man")

    model = Case(number, people, sensitive_features=["sex", "age", "race"], y_true=1_000 * people["noise"])
    found = (
        run("fairtest", model, budget=0)
        .to_frame()
        .query("where == 'everyone'")
        .set_index(["sensitive_features", "effect"])
    )
    man = (people["sex"] == "woman").astype(float)
    expected = np.corrcoef(man, number(people))[0, 1]
    assert found.loc[("sex", "correlation (prediction, woman versus man)"), "estimate"] == (pytest.approx(expected))
    assert found.loc[("age", "correlation (prediction, age)"), "estimate"] > 0.9
    assert ("race", "correlation (absolute error, b versus the others)") in found.index


def test_an_age_with_missing_values_makes_a_group_of_them(people):
    ages = people["age"].astype(float).where(people["noise"] > 0.1)
    model = Case(lambda rows: rows["noise"] > 0.5, people.assign(age=ages), sensitive_features="age")
    effects = [f.effect for f in run("fairtest", model, budget=0).findings]
    assert "selection rate difference, (missing) minus the others" in effects
    regression = Case(lambda rows: 9 * rows["noise"] - 4, people.assign(age=ages), sensitive_features="age")
    skipped = run("fairtest", regression, budget=0).skipped
    assert skipped[0] == f"FairTest left out {int(ages.isna().sum())} people without a value of age."


def test_few_people(people):
    def found(table):
        return run("fairtest", Case(rule, table, sensitive_features="sex"), budget=0)

    small = found(people.head(100).assign(sex=["x"] * 3 + people["sex"].astype(str).tolist()[3:100]))
    assert small.findings == ()
    assert small.skipped == (
        "sex: fewer than 20 people are x (3).",
        "FairTest looked for no subgroups: 97 people, 120 are needed.",
    )
    assert found(people.head(30)).skipped == ("FairTest needs 40 people, there are 30.",)
    lonely = found(people.head(45).assign(sex=["x"] * 30 + ["y"] * 15))
    assert (lonely.findings, lonely.skipped[-1]) == ((), "sex: fewer than two groups have 20 people.")
