"""What FairTest and group rates find about a case; the rates at which they are right are in test_truth."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

from fairlab.auditing import run
from fairlab.cases import Case
from fairlab.cases.groups import group_codes, losers_in_words, who_loses
from fairlab.fairtest.rates import group_counts
from fairlab.seeds import derive_seed
from fairlab.statistics import difference_bounds

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
    context = next(finding for finding in findings(rule, people, ["sex", "race"]) if finding.who == "sex")
    assert context.where.startswith("age <= ")
    asked = people.loc[context.evidence.index]
    pd.testing.assert_frame_equal(context.evidence, asked.assign(favourable=rule(asked))[["favourable", *people]])
    assert (context.n, context.estimate) == (len(asked), pytest.approx(by_sex(asked, rule(asked))))
    assert (context.estimate < -0.8, context.p_value < 1e-9) == (True, True)


def test_of_several_groups_the_one_that_differs_most_in_training_is_tested(people):
    table = people.assign(race=np.where(people["age"] < 40, people["race"], "a"))

    def refuses_b(rows):
        return (rows["noise"] < 0.5) & ~((rows["race"] == "b") & (rows["age"] < 40))

    finding = findings(refuses_b, table, "race")[0]
    assert finding.effect == "selection rate difference, b minus the others"
    asked = table.loc[finding.evidence.index]
    rates = refuses_b(asked).groupby(asked["race"] == "b").mean()
    assert (finding.measure, finding.estimate) == (
        "selection_rate_difference",
        pytest.approx(rates[True] - rates[False]),
    )
    assert finding.p_value == finding.test(0) < 1e-3


def test_errors_where_truth_is_known(people):
    truth, is_known = people["noise"] < 0.9, people["income"].notna()
    found = findings(rule, people.assign(ok=truth.astype(object).where(is_known, None)), "sex", y_true="ok")
    error = next(finding for finding in found if finding.measure == "error_rate_difference")
    rows = people.loc[error.evidence.index]
    assert is_known[rows.index].all(), "people without a true label are left out"
    assert error.estimate == pytest.approx(by_sex(rows, rule(rows) != truth[rows.index]))
    assert error.evidence.columns[0] == "error"


def test_regression_by_correlation(people):
    def model(rows):
        return 100.0 * rows["age"] + 500 * (rows["sex"] == "man")

    found = findings(model, people, ["sex", "age", "race"], y_true=1_000 * people["noise"])
    found = {(each.who, each.effect): each.estimate for each in found if each.where == "everyone"}
    expected = pytest.approx(np.corrcoef(people["sex"] == "woman", model(people))[0, 1])
    assert found["sex", "correlation (prediction, woman versus man)"] == expected
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
        (
            200,
            ["x", "y"] * 100,
            "FairTest found no subgroup in which sex and the decision are more associated than elsewhere.",
        ),
        (45, ["x"] * 30 + ["y"] * 15, "sex: fewer than two groups have 20 people."),
    ],
)
def test_few_people_and_no_association_are_said(people, n, sexes, skipped):
    found = run("fairtest", Case(rule, people.head(n).assign(sex=sexes[:n]), sensitive_features="sex"), budget=0)
    assert found.findings == ()
    assert skipped in found.skipped


@pytest.mark.parametrize(
    ("sexes", "skipped"),
    [
        ("fm" * 10, ()),
        ("fm" * 9 + "f", ("FairTest did not test sex where place = rare: 19 people in the test half.",)),
        ("m" * 20, ("FairTest did not test sex where place = rare: nobody in the test half is f.",)),
    ],
)
def test_a_subgroup_needs_twenty_people_and_both_groups_in_the_test_half(sexes, skipped):
    seed = derive_seed(0, "FairTest", "split")
    train, test = map(np.sort, train_test_split(np.arange(400), train_size=200, random_state=seed))
    table = pd.DataFrame({"sex": np.resize(["f", "m"], 400), "place": "common"})
    table.loc[[*train[:100], *test[: len(sexes)]], "place"] = "rare"
    table.loc[test[: len(sexes)], "sex"] = [*sexes]
    found = run("fairtest", Case(lambda rows: (rows == ("m", "rare")).all(axis=1), table, sensitive_features="sex"))
    assert (found.skipped, [each.where for each in found.findings]) == (skipped, ["place = rare"] * (not skipped))


@pytest.mark.parametrize(("n_towns", "is_said"), [(100, False), (101, True)])
def test_columns_of_more_than_a_hundred_categories_make_no_subgroups(people, n_towns, is_said):
    case = Case(rule, people.assign(town=[f"t{k % n_towns}" for k in range(N)]), sensitive_features="sex")
    said = f"FairTest makes no subgroups of town, which has {n_towns} different values."
    assert (said in run("fairtest", case).skipped) is is_said


# group rates

RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {name: RNG.choice([*of], 1_200) for name, of in {"sex": "fm", "race": "abc", "job": "xy"}.items()}
)
PEOPLE["points"] = RNG.integers(0, 100, 1_200)


def case_of(sensitive_features="sex", table=PEOPLE, **options):
    return Case(lambda rows: rows["points"] > 50, table, sensitive_features=sensitive_features, **options)


def test_counts_by_group_and_by_two_as_pandas_counts_them():
    truth = np.where(PEOPLE["points"] % 3 == 0, np.nan, PEOPLE["points"] > 40)
    counts = group_counts(case_of(["sex", "race"], y_true=truth))
    known = PEOPLE.assign(decided=PEOPLE["points"] > 50, truth=truth)
    cells = {("true positives", 1, 1), ("false negatives", 1, 0), ("false positives", 0, 1), ("true negatives", 0, 0)}
    for names in (["sex"], ["race"], ["sex", "race"]):
        groups = known.groupby(names)
        expected = {"people": groups.size(), "selected": groups["decided"].sum(), "labelled": groups["truth"].count()}
        for cell, label, decision in cells:
            is_in = (known["truth"] == label) & (known["decided"] == decision)
            expected[cell] = is_in.groupby([known[name] for name in names]).sum()
        found = counts.loc[" and ".join(names), list(expected)]
        assert found.index.tolist() == [", ".join(np.atleast_1d(key)) for key in groups.groups]
        assert (found.to_numpy() == pd.DataFrame(expected).to_numpy()).all()


def test_two_groups_are_compared_and_of_more_each_with_everyone_else():
    found = [[each.who, each.effect] for each in run("rates", case_of(["sex", "race"])).findings]
    end = "minus everyone else"
    assert found == [
        ["sex", "selection rate difference, f minus m"],
        *(["race", f"selection rate difference, {race} {end}"] for race in "abc"),
        *(["sex and race", f"selection rate difference, {sex}, {race} {end}"] for sex in "fm" for race in "abc"),
    ]


def test_a_difference_by_hand():
    model = lambda rows: rows["points"] > np.where(rows["sex"] == "f", 60, 40)  # noqa: E731
    [finding] = run("rates", Case(model, PEOPLE, sensitive_features="sex")).findings
    by_sex = model(PEOPLE).groupby(PEOPLE["sex"])
    low, high = difference_bounds(by_sex.sum(), by_sex.size(), confidence_level=0.95)
    expected = by_sex.mean()["f"] - by_sex.mean()["m"], float(low), float(high), len(PEOPLE)
    assert (finding.estimate, finding.low, finding.high, finding.n) == pytest.approx(expected)
    about = finding.measure, finding.population, finding.p_value < 1e-6
    assert about == ("selection_rate_difference", "people", True)


def test_people_without_a_true_label_count_for_selection_alone():
    truth = (PEOPLE["points"] > 30).astype(float).where(PEOPLE.index % 3 > 0)
    some, none = (run("rates", case_of(y_true=labels)) for labels in (truth, None))
    assert [{each.measure: each.n for each in found.findings} for found in (some, none)] == [
        {
            "selection_rate_difference": len(PEOPLE),
            "true_positive_rate_difference": (truth == 1).sum(),
            "false_positive_rate_difference": (truth == 0).sum(),
        },
        {"selection_rate_difference": len(PEOPLE)},
    ]
    assert none.skipped == ()


@pytest.mark.parametrize(
    ("races", "compared", "end", "skipped"),
    [
        ("z" * 29 + "a" * 1_141 + "b" * 30, "ab", "everyone else", ("race: fewer than 30 people are z (29).",)),
        (
            "m" * 30 + "abcdefghijkl" * 97 + "a" * 6,
            "abcdefghijkl",
            "everyone else",
            ("race: only the 12 largest groups are compared, not m.",),
        ),
        # a group of the name of everyone else is told from it
        (np.repeat(["everyone else", "a", "b"], 400), ("a", "b", "everyone else"), "all others", ()),
    ],
)
def test_groups_of_at_least_thirty_are_compared_and_the_twelve_largest(races, compared, end, skipped):
    found = run("rates", case_of("race", PEOPLE.assign(race=list(races))))
    assert found.skipped == skipped
    assert [each.effect.split(", ")[1] for each in found.findings] == [f"{one} minus {end}" for one in compared]


def test_who_loses_and_who_gains_by_hand():
    codes, hits, own = np.array([[0, 0, 0, 0, 1, 1], [1, 1, 1, 0, 1, 0], [0, 0, 1, 1, 1, 0]]).repeat(3, axis=1)
    frame = who_loses(codes, ["f", "m", "nobody"], hits.astype(bool), own.astype(bool))
    assert frame.to_dict("index") == {
        "f": {"people": 12, "lose": 6, "gain": 3},
        "m": {"people": 6, "lose": 0, "gain": 3},
    }
    assert losers_in_words(frame, "their sex") == (
        "50.0% of f lose by their sex (decision unfavourable, otherwise favourable); "
        "50.0% of m gain by their sex (decision favourable, otherwise unfavourable)"
    )
    # Groups of fewer than five people are one, and no sentence names them.
    codes = np.repeat([0, 1, 2], [5, 4, 1])
    few = who_loses(codes, ["f", "m", "x"], codes != 0, np.zeros(10, dtype=bool))
    assert few.to_dict("index") == {
        "f": {"people": 5, "lose": 0, "gain": 0},
        "(2 of fewer than 5 people)": {"people": 5, "lose": 5, "gain": 0},
    }
    silent = frame.assign(lose=0, gain=0), few, few.tail(1)
    assert [losers_in_words(each, "it") for each in silent] == [""] * 3


def test_only_groups_that_occur_are_listed_in_the_order_of_their_values():
    columns = {f"c{k}": [f"v{row}" for row in range(30)] for k in range(12)}  # 30**12 combinations, 30 of them here
    codes, groups = group_codes(case_of(list(columns), PEOPLE.head(30).assign(**columns)), list(columns))
    assert [groups[code] for code in codes] == [", ".join([f"v{row}"] * 12) for row in range(30)]
    assert groups == sorted(groups)


def test_intersections_whose_values_hold_commas_are_told_apart():
    people = pd.DataFrame({"a": ["u", "u, v"] * 20, "b": ["v, w", "v, w", "w", "w"] * 10, "points": range(40)})
    assert [group_codes(case_of(names, people), names)[1] for names in (["a", "b"], ["a"])] == [
        ["u, 'v, w'", "u, w", "'u, v', 'v, w'", "'u, v', w"],
        ["u", "u, v"],
    ]


@pytest.mark.parametrize("is_right", [False, True])
def test_of_numbers_that_are_all_the_same_nothing_is_compared(people, is_right):
    owed = np.random.default_rng(0).normal(size=N)
    table = people.assign(paid=owed if is_right else 5.2, owed=owed)
    case = Case.from_decisions(table, "paid", y_true="owed", sensitive_features="sex")
    means, trees = run("rates", case), run("fairtest", case)
    assert (means.skipped == ("No means were compared: each number is 5.2.",)) == (not means.findings) == (not is_right)
    same, other = ("absolute error is 0", "prediction") if is_right else ("prediction is 5.2", "absolute error")
    assert f"FairTest: each {same}, correlated with nothing." in trees.skipped
    assert {each.effect for each in trees.findings if each.where == "everyone"} == {
        f"correlation ({other}, woman versus man)"
    }


@pytest.mark.parametrize(
    ("n_days", "missing", "words"),
    [
        (1_000, 0.0, r"since (>=|<=) DAY"),
        (1_000, 0.1, r"since = (\(missing\)|(up to|above) DAY|DAY to DAY)"),
        (5, 0.0, "since = DAY"),
        (5, 0.1, r"since = (\(missing\)|DAY)"),
    ],
)
def test_subgroups_by_dates_are_named_by_dates(n_days, missing, words, rng):
    days = rng.integers(0, n_days, 2_000)
    since = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D")).where(rng.random(2_000) >= missing)
    people = pd.DataFrame({"sex": rng.choice(["f", "m"], 2_000), "since": since})
    decided = (days > n_days / 2) & (people["sex"] == "f")
    case = Case.from_decisions(people.assign(decided=decided), "decided", sensitive_features="sex", pos_label=True)
    places = [place for each in run("fairtest", case).findings for place in each.where.split(" and ")]
    words = words.replace("DAY", r"202[0-2]-\d\d-\d\d")
    assert places and all(re.fullmatch(words, place) for place in places), places


@pytest.mark.parametrize("others", ["the others", "c"])
def test_all_other_groups_have_a_name_that_no_group_has(people, others):
    table = people.assign(race=people["race"].replace("c", others))
    models = (
        lambda rows: (rows["race"] == "a") & (rows["age"] < 40),
        lambda rows: 1.5 * rows["age"] * (rows["race"] == "a"),
    )
    found = [each.effect for model in models for each in findings(model, table, "race")]
    rest = "all others" if others == "the others" else "the others"
    assert {re.split(" minus | versus ", effect.rstrip(")"))[1] for effect in found} == {rest}
