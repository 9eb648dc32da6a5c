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


def findings(model, people, sensitive_features, **options):
    return run("fairtest", Case(model, people, sensitive_features=sensitive_features, **options), budget=0).findings


def by_sex(rows, values):
    """Return the mean of values of women less that of men."""
    means = pd.Series(np.asarray(values), rows.index).groupby(rows["sex"], observed=True).mean()
    return means["woman"] - means["man"]


def test_the_rule_is_found_where_it_is(people):
    found = findings(rule, people, ["sex", "race"])
    context = next(finding for finding in found if finding.who == "sex")
    assert context.where.startswith("age <= ")
    asked = people.loc[context.evidence.index]
    expected = asked.assign(favourable=rule(asked))[["favourable", *people]]
    pd.testing.assert_frame_equal(context.evidence, expected)
    assert (context.n, context.estimate) == (len(asked), pytest.approx(by_sex(asked, rule(asked))))
    assert (context.estimate < -0.8, context.p_value < 1e-9) == (True, True)


def test_of_several_groups_the_one_that_differs_most_in_training_is_tested(people):
    table = people.assign(race=np.where(people["age"] < 40, people["race"], "a"))

    def refuses_b(rows):
        return (rows["noise"] < 0.5) & ~((rows["race"] == "b") & (rows["age"] < 40))

    finding = findings(refuses_b, table, "race")[0]
    expected = "selection_rate_difference", "selection rate difference, b minus the others"
    assert (finding.measure, finding.effect) == expected
    asked = table.loc[finding.evidence.index]
    rates = refuses_b(asked).groupby(asked["race"] == "b").mean()
    assert finding.estimate == pytest.approx(rates[True] - rates[False])
    assert finding.p_value == finding.test(0) < 1e-3


def test_errors_where_truth_is_known(people):
    truth = people["noise"] < 0.9
    labels = truth.astype(object).where(people["income"].notna(), None)
    found = findings(rule, people.assign(ok=labels), "sex", y_true="ok")
    error = next(finding for finding in found if finding.measure == "error_rate_difference")
    rows = people.loc[error.evidence.index]
    assert rows["income"].notna().all(), "people without a true label are left out"
    assert error.estimate == pytest.approx(by_sex(rows, rule(rows) != truth[rows.index]))
    assert error.evidence.columns[0] == "error"


def test_regression_by_correlation(people):
    def model(rows):
        return 100.0 * rows["age"] + 500 * (rows["sex"] == "man")

    found = findings(model, people, ["sex", "age", "race"], y_true=1_000 * people["noise"])
    found = {(each.who, each.effect): each.estimate for each in found if each.where == "everyone"}
    expected = np.corrcoef(people["sex"] == "woman", model(people))[0, 1]
    assert found["sex", "correlation (prediction, woman versus man)"] == pytest.approx(expected)
    assert found["age", "correlation (prediction, age)"] > 0.9
    assert ("race", "correlation (absolute error, b versus the others)") in found


def test_an_age_with_missing_values_makes_a_group_of_them(people):
    ages = people["age"].astype(float).where(people["noise"] > 0.1)
    decided, regression = (
        run("fairtest", Case(model, people.assign(age=ages), sensitive_features="age"), budget=0)
        for model in (lambda rows: rows["noise"] > 0.5, lambda rows: 9 * rows["noise"] - 4)
    )
    assert "selection rate difference, (missing) minus the others" in decided.to_frame()["effect"].tolist()
    assert regression.skipped[0] == f"FairTest left out {int(ages.isna().sum())} people without a value of age."


@pytest.mark.parametrize(
    ("n", "sexes", "skipped"),
    [
        (100, ["x"] * 3 + ["woman", "man"] * 49, "sex: fewer than 20 people are x (3)."),
        (100, ["x"] * 3 + ["woman", "man"] * 49, "FairTest looked for no subgroups: 97 people, 120 are needed."),
        (30, ["x", "y"] * 15, "FairTest needs 40 people, there are 30."),
        (45, ["x"] * 30 + ["y"] * 15, "sex: fewer than two groups have 20 people."),
    ],
)
def test_few_people(people, n, sexes, skipped):
    model = Case(rule, people.head(n).assign(sex=sexes[:n]), sensitive_features="sex")
    found = run("fairtest", model, budget=0)
    assert found.findings == ()
    assert skipped in found.skipped
