"""Cases of decisions without a model: what they take and refuse, and what becomes of them in an audit."""

import json
from dataclasses import astuple, replace
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import PermutationMethod, t, ttest_ind, ttest_ind_from_stats

import fairlab
from fairlab.auditing import forecast
from fairlab.auditing.guard import Rule, judge
from fairlab.cases import Case, CaseError, Method
from fairlab.fairtest import FairTest, GroupRates, resampling
from fairlab.fairtest.calibration import calibration_gap
from fairlab.fairtest.rates import (
    LEAST_SKEWED,
    are_few,
    effective_counts,
    group_counts,
    mean_gap,
    people_in_sums,
)
from fairlab.fliptest import FlipTest

N = 1_200


def table(n=N, seed=0, bias=0.25):
    """Return people with decisions by points and, the larger `bias`, by sex; scores, labels, weights and persons."""
    rng = np.random.default_rng(seed)
    people = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "race": rng.choice(["a", "b", "c"], n),
            "points": rng.integers(0, 40, n),
            "weight": rng.uniform(0.5, 3, n),
        },
        index=[f"p{k}" for k in range(n)],
    )
    people["score"] = people["points"] / 40 + bias * (people["sex"] == "m")
    return people.assign(
        hired=np.where(people["score"] + rng.normal(0, 0.05, n) > 0.5, "yes", "no"),
        good=np.where(rng.random(n) < people["points"] / 40, "yes", "no"),
    )


def case_of(people, *, sensitive_features=("sex", "race"), features=("points",), **options):
    options = {"pos_label": "yes", "features": list(features)} | options
    return Case.from_decisions(people, "hired", sensitive_features=list(sensitive_features), **options)


def repeated(people, seed=0):
    """Return one to nine decisions on each person, who have a sex and a race each."""
    n = len(people) // 5
    rows = np.repeat(np.arange(n), np.random.default_rng(seed).integers(1, 10, n))
    return people.iloc[rows].assign(person=rows).reset_index(drop=True)


def test_decisions_are_those_of_the_table_in_its_order_also_in_a_sample():
    people = table()
    whole, drawn = case_of(people), case_of(people, max_rows=100, scores="score")
    for case in (whole, whole.sample(100), drawn):
        assert case.decide().tolist() == people.loc[case.table.index, "hired"].eq("yes").tolist()
    assert drawn.score().tolist() == people.loc[drawn.table.index, "score"].tolist()
    features = Case.from_decisions(people, "hired", y_true="good", weights="weight", **OF_SEX).features
    assert (whole.model, whole.task, whole.pos_label, features) == (
        None, "classes", "yes", ("sex", "race", "points", "score")
    )  # fmt: skip


YES, WEIGHT = {"pos_label": "yes"}, {"weights": "weight"}
OF_SEX = {"sensitive_features": ["sex", "race"], **YES}


@pytest.mark.parametrize(
    ("dtype", "labels"),
    [
        *((dtype, ("no", "yes")) for dtype in ("object", "string", "category", "str")),
        *((dtype, (0, 1)) for dtype in ("bool", "boolean", "Int64", "int8", "float32", "Float64", "bool[pyarrow]")),
    ],
)
def test_labels_of_any_dtype_are_aligned_and_zeros_and_ones_need_no_label(dtype, labels):
    hired = table(60)["hired"].eq("yes")
    decided = pd.Series(np.where(hired, *labels[::-1]), hired.index).astype(dtype).sample(frac=1, random_state=0)
    options = {"sensitive_features": "sex", "pos_label": "yes" if "yes" in labels else None}
    assert Case.from_decisions(table(60), decided, **options).decide().tolist() == hired.tolist()


@pytest.mark.parametrize("kind", [float, lambda value: Decimal(str(value))])
def test_decimals_and_numbers_among_objects_are_numbers(kind):
    people = table(60).assign(hired=lambda rows: rows["hired"].eq("yes") * 1)
    given = people.assign(**{name: people[name].map(kind).astype(object) for name in ("hired", "score", "weight")})
    options = {"decisions": "hired", "scores": "score", "weights": "weight", "sensitive_features": "sex"}
    case, whole = (Case.from_decisions(rows, **options) for rows in (given, people))
    pd.testing.assert_frame_equal(case.record, whole.record)
    assert case.decide().tolist() == whole.decide().tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"hired": [None, *["yes", "no"] * 30]}, "decisions: expected one for each row, 1 of 61 are missing"),
        ({"score": [np.nan, *[0.5] * 60]}, "scores: expected one for each row, 1 of 61 are missing"),
        ({"score": [np.inf, *[0.5] * 60]}, "scores: expected finite numbers, found inf"),
        ({"score": [True] * 61}, "scores: expected numbers, found True"),
        ({"score": ["7"] * 61}, "scores: expected numbers, found '7'"),
        ({"weight": [0.0, *[1.0] * 60]}, "weights: expected numbers above 0, found 0"),
        ({"weight": [-2.0, *[1.0] * 60]}, "weights: expected numbers above 0, found -2"),
        ({"weight": [1e-91, *[1.0] * 60]}, "weights: expected numbers of a size from 1e-75 to 1e\\+75, found 1e-91"),
        ({"weight": [2e200, *[1.0] * 60]}, "weights: expected numbers of a size from 1e-75 .* found 2e\\+200; take"),
        ({"score": [1e-200] * 61}, "scores: expected numbers of a size from"),
        (
            {"hired": np.arange(61) * 1e200, "pos_label": None, "good": 1.0},
            "decisions: expected numbers of a size from",
        ),
        ({"points": np.arange(61) * 1e-200}, "column 'points': expected numbers of a size from 1e-75 .*, found 6e-199"),
        ({"weight": [np.nan, *[1.0] * 60]}, "weights: expected one for each row, 1 of 61 are missing"),
        ({"person": [None, *["x"] * 60]}, "person: expected one for each row, 1 of 61 are missing"),
        ({"person": ["x"] * 61}, "person: expected each person in one group of sex, found 1 in several"),
        ({"hired": np.linspace(0, 1, 61)}, "decision_threshold: decisions are numbers within 0 and 1, expected labels"),
        (
            {"hired": ["maybe", "no", "yes", *["no"] * 58], "pos_label": None},
            "pos_label: the labels are .*; which one is favourable, one",
        ),
        ({"pos_label": "ja"}, "pos_label: 'ja' is not among the labels"),
        ({"pos_label": None}, "pos_label: the labels are 'no', 'yes'; which one is favourable"),
        ({"good": ["gut", "schlecht"] * 30 + ["gut"]}, "y_true: has the labels 'gut', 'schlecht', decisions are"),
        ({"sensitive_features": ["hired"]}, "decisions: 'hired' is also among the features"),
        ({"features": ["score"]}, "scores: 'score' is also among the features"),
        ({"scores": "hired"}, "scores: 'hired' is also given as decisions"),
        ({"weights": "w"}, "weights: no column 'w'"),
        ({"weights": [1.0, 2.0]}, "weights: expected 61 values, one for each row, found 2"),
        ({"decision_threshold": 0.5}, "decision_threshold: decisions are the labels 'no', 'yes'"),
    ],
)
def test_what_does_not_fit_is_refused(changes, said):
    people = table(61).assign(person=np.arange(61)).reset_index(drop=True)
    people = people.assign(**{name: values for name, values in changes.items() if name in people})
    options = {"y_true": "good", "scores": "score", "weights": "weight", "person": "person", "features": ["points"]}
    options |= {name: values for name, values in changes.items() if name not in people}
    with pytest.raises(CaseError, match="^" + said):
        case_of(people, **options)


def test_a_copy_of_the_decision_is_no_feature_without_a_word():
    people = table(200)[["sex", "points", "hired"]]
    assert "hired" not in Case.from_decisions(people, people["hired"], sensitive_features="sex", **YES).features
    with pytest.warns(UserWarning, match="hired determines every decision. If it is the decision itself"):
        case = Case.from_decisions(people, people["hired"].eq("yes").to_numpy(), sensitive_features="sex")
    assert "hired" in case.features
    in_full = people.assign(hired=people["hired"].where(people["points"] % 3 > 0, people["hired"] + ", at once"))
    with pytest.warns(UserWarning, match="hired determines every decision"):
        Case.from_decisions(in_full, people["hired"].eq("yes").to_numpy(), sensitive_features="sex")


WRONG = {  # a table as auditors have it, changed from one that is right: what is said of it
    "spelling of labels": ({"hired": ["yes", "YES", "no"]}, "decisions: expected one spelling .*, found 'YES', 'yes'"),
    "labels with spaces": ({"hired": ["yes", "yes ", "no"]}, "decisions: expected one spelling"),
    "short and long labels": ({"hired": ["yes", "y", "no"]}, "decisions: expected one spelling"),
    "numbers and text": ({"hired": [1, "1", 0]}, "decisions: expected one spelling of each label, found '1', 1"),
    "spelling of true labels": ({"good": ["Yes", "yes", "no"]}, "y_true: expected one spelling"),
    "a row of totals": ({"sex": ["f", "m", "Total"]}, "table: .* found 'Total' in column 'sex' of row 3; leave out"),
    "subtotals": ({"race": ["a", "SUBTOTAL", "b"]}, "table: expected one row for each decision, found 'SUBTOTAL'"),
    "totals beside missing values": ({"race": ["a", pd.NA, "Grand Total"]}, "table: .* column 'race' of row 3"),
    "percentages": ({"score": ["47%", "8%", "50%"]}, "scores: expected numbers, found '47%'"),
    "decimal commas": ({"weight": ["1,5", "2,0", "1,0"]}, "weights: expected numbers, found '1,5'"),
}
DOUBTFUL = {
    "a third label": (
        {"hired": ["yes", "no", "-"]},
        "Only 'yes' counts as favourable; as unfavourable count '-', 'no'",
    ),
    "spelling of groups": ({"sex": ["f", "F ", "m"]}, "sex: expected one spelling of each group, found 'F ', 'f'"),
    "an accent of its own": (
        {"sex": ["fe\u0301", "f\u00e9", "m"]},
        r"one spelling of each group, found 'f.xe9', 'fe.u0301'",
    ),
    "a space that does not break": ({"sex": ["not said", "not\u00a0said", "m"]}, "sex: expected one spelling"),
    "short and long groups": ({"race": ["b", "Black", "white"]}, "race: expected one spelling of each group"),
    "numbers with commas": (
        {"points": ["4,96", "0,25", "1,5"]},
        "points: expected numbers, found texts such as '4,96'",
    ),
    "thousands": ({"points": ["35,575", "1,000", "900"]}, "points: expected numbers, found texts such as '35,575'"),
    "currency": ({"points": ["$49,121", "$900.50", "$8"]}, "points: expected numbers, found texts such as"),
    "percentages as a feature": ({"points": ["47 %", "8 %", "50 %"]}, "points: expected numbers, found texts such as"),
    "dates": (
        {"points": ["01.02.2025", "12.11.2024", "3.4.2025"]},
        "points: expected dates, found .* --dtype points=date does",
    ),
    "a row number": ({"number": list(range(60))}, "number has a different value in every row. If it is an identifier"),
    "one label alone": ({"hired": ["no"]}, "All decisions are unfavourable: none is 'yes'"),
    "ids that occur twice": (
        {"applicant_id": list(range(20))},
        "applicant_id has 20 values in 60 rows. If it identifies",
    ),
}


def messy(changes):
    """Return a table in which columns have these values in turn, and the arguments of its case."""
    people = table(60).reset_index(drop=True)
    people = people.assign(**{name: (values * 60)[:60] for name, values in changes.items()})
    return people, {"y_true": "good", "scores": "score", "weights": "weight"} | OF_SEX


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", WRONG | DOUBTFUL)
def test_tables_that_would_be_read_wrongly_are_refused_and_doubtful_ones_are_warned_of(kind):
    changes, said = (WRONG | DOUBTFUL)[kind]
    people, options = messy(changes)
    with pytest.raises(CaseError, match=said) if kind in WRONG else pytest.warns(UserWarning, match=said):
        Case.from_decisions(people, "hired", **options)


@pytest.mark.filterwarnings("error", "ignore:Scores say little")
def test_codes_bins_and_tidy_columns_are_not_doubted():
    people, options = messy(
        {
            "points": ["01234", "10115", "80331"],
            "band": ["18-25", "26-40", "41-99"],
            "race": ["a", "b"],
            "paid": [*range(20)],
            "level": ["junior", "senior"],
            "since": ["1.1.2024", "1.7.2024"],
        }
    )
    age = np.arange(60) % 50
    people = people.assign(
        decade=pd.cut(age, [-1, 20, 30, 50]), half=pd.cut(age, [0, 20, 30, 50], right=False).astype(str)
    )
    Case.from_decisions(people, "hired", **options)


def test_a_column_of_nothing_is_no_row_of_totals():
    pyarrow = pytest.importorskip("pyarrow")
    people = table(60).assign(empty=pd.arrays.ArrowExtensionArray(pyarrow.nulls(60)))
    assert "empty" in Case.from_decisions(people, "hired", sensitive_features="sex", **YES).features


def counted(people, columns):
    return people[columns].value_counts().reset_index(name="n").sample(frac=1, random_state=0)


@pytest.mark.parametrize("scale", [1, 1 / 7, 1e-4])
@pytest.mark.parametrize("columns", [["sex", "race", "hired"], ["sex", "race", "band", "good", "hired"]])
def test_weights_that_count_decisions_are_refused_however_scaled(columns, scale):
    people = counted(table().assign(band=lambda rows: rows["points"] // 5), columns)
    options = {"y_true": "good"} if "good" in columns else {}
    with pytest.raises(CaseError, match=r"weights: expected one row for each decision, found .* table of counts"):
        Case.from_decisions(people.assign(n=scale * people["n"]), "hired", weights="n", **options, **OF_SEX)


@pytest.mark.parametrize("scale", [1e-70, 1e70])
def test_of_weights_only_ratios_count(scale):
    found, expected = (
        fairlab.audit(case_of(table().assign(weight=lambda rows: factor * rows["weight"]), **WEIGHT), methods=["rates"])  # noqa: B023
        for factor in (scale, 1)
    )
    numbers = ["estimate", "low", "high", "p_value"]
    np.testing.assert_allclose(found.frame[numbers], expected.frame[numbers], rtol=1e-9)
    assert expected.frame["p_value"].lt(1).any()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "people",
    [
        table().assign(n=lambda rows: np.arange(len(rows)) % 7 + 1).drop(columns=["weight", "score"]),  # rows alike
        table().assign(n=lambda rows: np.arange(len(rows)) % 7 + 1),  # all different, as numbers are
        counted(table(), ["sex", "race", "hired"]).assign(n=lambda rows: np.linspace(1, 3, len(rows)) ** 0.5),
    ],
)
def test_weights_of_a_survey_are_taken_also_whole_ones(people):
    assert "Rates are weighted" in " ".join(Case.from_decisions(people, "hired", weights="n", **OF_SEX).warnings)


def test_duplicate_labels_of_rows_are_kept_apart():
    people = table(60).set_axis([0] * 60)
    assert case_of(people, weights="weight").decide().tolist() == people["hired"].eq("yes").tolist()
    with pytest.raises(CaseError, match="weights: row labels occur twice"):
        case_of(people, weights=people["weight"].iloc[::-1].set_axis([0] * 59 + [1]))


@pytest.mark.parametrize(("decision", "word"), [("yes", "favourable"), ("no", "unfavourable")])
def test_a_column_that_is_known_for_one_decision_only_is_said(decision, word):
    people = table(200)
    people["salary"] = np.where(people["hired"] == decision, np.arange(200) % 9 + 0.5, np.nan)
    with pytest.warns(UserWarning, match=f"salary is known only where the decision is {word}"):
        case_of(people, features=["points", "salary"])
    few = people.assign(salary=people["salary"].where(people["salary"].notna().cumsum() <= 2))  # by chance
    assert not any("salary" in said for said in case_of(few, features=["points", "salary"]).warnings)


@pytest.mark.filterwarnings("ignore:All decisions are unfavourable")
def test_one_label_alone_is_audited():
    report = fairlab.audit(case_of(table(200).assign(hired="no")))
    assert report.verdict in ("undecided", "large differences ruled out")


@pytest.mark.filterwarnings("ignore:Favourable decisions have", "ignore:Scores say little")
@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (lambda score: -score, ["Favourable decisions have the lower scores"]),
        (lambda score: score.to_numpy()[::-1], ["Favourable decisions have the lower", "Scores say little about the"]),
        (lambda score: score, []),
    ],
)
def test_scores_of_other_rows_or_of_the_other_label_are_said(scores, said):
    people = table()
    warnings = case_of(people, scores=scores(people["score"])).warnings
    assert [text[: len(start)] for text, start in zip(warnings, said, strict=True)] == said


def test_numbers_are_a_regression_or_decisions_by_a_threshold():
    people = table()[["sex", "points"]]
    points, by_points = people["points"].tolist(), {"decisions": "points", "sensitive_features": "sex"}
    with pytest.warns(UserWarning, match="Decisions are numbers from 0 to 39 and no threshold is given: .* regression"):
        case = Case.from_decisions(people, **by_points)
    assert (case.task, case.number().tolist()) == ("numbers", points)
    assert {finding.measure for finding in fairlab.audit(case).findings} == {"correlation", "mean_difference"}
    case = Case.from_decisions(people, decision_threshold=20, **by_points)
    assert (case.has_scores, case.score().tolist()) == (True, points)
    assert case.decide().tolist() == (people["points"] >= 20).tolist()


@pytest.mark.parametrize("method", [GroupRates(), FlipTest(), FairTest()])
def test_methods_that_compare_people_find_what_they_find_with_the_model(method):
    people = table().drop(columns=["weight", "hired"])
    rule = lambda rows: rows["points"] / 40 + 0.25 * (rows["sex"] == "m") > 0.5  # noqa: E731
    options = {
        "sensitive_features": ["sex", "race"],
        "features": ["sex", "race", "points"],
        "y_true": people["good"].eq("yes"),
    }
    cases = Case(rule, people, **options), Case.from_decisions(people, rule(people), **options)
    found, expected = (method.run(case).to_frame() for case in cases)
    pd.testing.assert_frame_equal(found, expected)
    assert len(found)


class Shuffled(Method):
    title, description = "shuffled", "Decides on rows in another order."

    def findings(self, examination):
        examination.case.decide(examination.case.table.iloc[::-1])
        yield


def test_methods_that_query_are_skipped_with_one_sentence_and_so_is_one_of_a_user():
    report = fairlab.audit(
        case_of(table(200)), methods=["themis", "adf", "aequitas", "individual_fairness", Shuffled()]
    )
    titles, said = ("individual fairness", "Themis", "ADF", "AEQUITAS", "shuffled"), "There is no model to query"
    assert (report.verdict, [title for title, _ in report.skipped]) == ("not assessed", list(titles))
    assert all(reason.startswith(said) for _, reason in report.skipped)


def test_an_audit_counts_every_decision_whatever_the_budget():
    case = case_of(table())
    report = fairlab.audit(case, budget=100, max_seconds=60)
    counted = report.provenance["people"], report.groups["sex"]["people"].sum(), report.n_queries, forecast(case)
    assert counted == (N, N, 0, 0)
    assert "a table of decisions without a model, tested on 1,200 people" in report.summary
    people = repeated(table(600))
    report = fairlab.audit(case_of(people, person="person"), methods=["rates"])
    assert f"without a model, tested on {len(people)} decisions about 120 people for" in report.summary


@pytest.mark.parametrize("options", [{}, {"weights": "weight"}, {"person": "person"}, {"scores": "score"}])
def test_a_report_in_all_its_forms(options, tmp_path):
    people = repeated(table(6_000)) if "person" in options else table()
    report = fairlab.audit(case_of(people, y_true="good", **options), methods=["rates"])
    content = json.loads(report.to_json(tmp_path / "a.json"))
    for text in (report.to_html(), report.to_model_card(), report.to_junit(), content["provenance"]["model"]):
        assert "decisions without a model" in text
    n_people = report.groups["sex"]["people"].iloc[0]
    assert (report.verdict, content["queries"], content["groups"][0]["people"]) == ("difference found", 0, n_people)
    judged = judge(report, rules=[Rule.of("selection_rate_difference > 0.05"), Rule.of("counterfactual_flip_rate > 0")])
    assert judged.failing and "Themis did not run" in judged.not_judged[0]
    again = judge(report, baseline=tmp_path / "a.json")
    assert again.failing + again.not_judged == []


def test_reports_on_other_decisions_have_other_hashes():
    reports = (
        fairlab.audit(case_of(table().assign(hired=table()["hired"].to_numpy()[::step])), methods=["rates"])
        for step in (1, -1)
    )
    assert len({report.provenance["table_sha256"] for report in reports}) == 2


def test_two_quarters_are_compared():
    before, after = case_of(table(seed=0, bias=0.0)), case_of(table(seed=1, bias=0.5))
    compared = fairlab.compare(before, after)
    assert compared.is_worse and not compared.is_paired and "without a model" in compared.summary
    with pytest.raises(ValueError, match="case_b: expected whole people, one decision each, found weights"):
        fairlab.compare(before, case_of(table(), weights="weight"))


# Weights and persons


def test_weighted_rates_and_their_errors_are_those_by_hand():
    people = table(400)
    [finding] = GroupRates(rates=["selection rate"]).run(case_of(people, sensitive_features=["sex"], **WEIGHT)).findings
    rates, variance = {}, 0.0
    for sex, group in people.groupby("sex"):
        w, y = group["weight"], group["hired"].eq("yes")
        rates[sex] = np.average(y, weights=w)
        variance += (w**2 * (y - rates[sex]) ** 2).sum() / w.sum() ** 2
    assert (finding.estimate, finding.n) == (pytest.approx(rates["f"] - rates["m"]), 400)
    # Newcombe's interval with exact bounds is a little wider than a normal one.
    assert 1 < (finding.high - finding.low) / (2 * 1.96 * np.sqrt(variance)) < 1.15


def test_impact_tables_of_weights_are_weighted_in_every_column():
    people = table()
    report = fairlab.audit(case_of(people, y_true="good", **WEIGHT), methods=["rates"])
    women, hired, good = people["sex"].eq("f"), people["hired"].eq("yes"), people["good"].eq("yes")

    def share(of, among):
        return np.average(of[among], weights=people["weight"][among])

    assert (
        report.groups["sex"].loc["f"].to_dict().items()
        >= {
            "people": women.sum(),
            "share": pytest.approx(share(women, women | ~women)),
            "selection rate": pytest.approx(share(hired, women)),
            "impact ratio": pytest.approx(share(hired, women) / share(hired, ~women)),
            "true positive rate": pytest.approx(share(hired, women & good)),
            "false positive rate": pytest.approx(share(hired, women & ~good)),
        }.items()
    )


@pytest.mark.parametrize("own", [{"weights": "same"}, {"person": "person"}])
def test_equal_weights_and_persons_with_one_decision_change_nothing(own):
    people, options = table(400).assign(person=range(400), same=2.5), {"y_true": "good", "scores": "score"}
    found, plain = (GroupRates().run(case_of(people, **options, **more)).to_frame() for more in (own, {}))
    pd.testing.assert_frame_equal(found, plain)


def test_decisions_said_twice_tell_no_more_than_said_once():
    people = table(400).assign(person=range(400))
    options, numbers = {"y_true": "good", "scores": "score", "person": "person"}, ["estimate", "low", "high"]
    once, again = (
        GroupRates().run(case_of(pd.concat([people] * times, ignore_index=True), **options)).to_frame()[numbers]
        for times in (1, 2)
    )
    np.testing.assert_allclose(again, once, atol=0.004)
    assert (again.eval("high - low") >= once.eval("high - low") - 1e-9).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("hits", "weight", "person", "among"),
    [
        ([1, 1, 0, 0, 0, 0], [1] * 6, range(6), 6),  # one decision each: whole people
        ([1, 1, 0, 0, 0, 0, 0, 0], [1] * 8, [0, 0, 1, 1, 2, 2, 3, 3], 3),  # those of a person are alike
        ([1, 0, 1, 0], [1, 1, 3, 3], None, 8**2 / 20 - 1),  # Kish's effective number
        # Those of a person differ more than others: no more than 20 decisions, and what ten persons tell of the spread.
        ([1] * 4 + [0] * 4 + [1, 0] * 6, [1] * 20, np.arange(20) // 2, 18 * (t.isf(0.001, 19) / t.isf(0.001, 9)) ** 2),
    ],
)
def test_effective_counts_by_hand(hits, weight, person, among):
    people = pd.DataFrame({"hired": hits * 2, "weight": weight * 2, "sex": np.repeat(["f", "m"], len(hits))})
    own = WEIGHT if person is None else {"person": np.concatenate([person, np.add(person, 100)])}
    case = Case.from_decisions(people, "hired", sensitive_features="sex", **own)
    found = effective_counts(group_counts(case).loc[("sex", "f")], "selection rate")
    assert found == pytest.approx((among * np.average(hits, weights=weight), among))


@pytest.mark.filterwarnings("ignore")
def test_a_group_whose_few_persons_with_many_decisions_are_not_selected_tells_as_much_as_persons_do():
    # Decisions of a person are alike, as men show: the 80 on four women tell no more than four.
    person = np.repeat(np.arange(104), [*[1] * 40, *[20] * 4, *[1] * 40, *[20] * 20])
    selected = np.isin(person, [*range(4), *range(44, 64), *range(84, 94)])
    people = pd.DataFrame({"sex": np.where(person < 44, "f", "m"), "person": person, "hired": selected})
    case = Case.from_decisions(people, "hired", sensitive_features="sex", person="person")
    hits, n = effective_counts(group_counts(case).loc[("sex", "f")], "selection rate")
    assert hits / n == pytest.approx(4 / 120) and 5 < n < 12, "84 before"


@pytest.mark.filterwarnings("ignore")
def test_a_group_that_has_seen_no_heavy_hit_tells_less_where_hits_are_heavy():
    # Of men, two hits of weight 10: the variance is 3.4 times that of weights which do not go with the outcome.
    people = pd.DataFrame(
        {"sex": ["m"] * 102 + ["f"] * 100, "hired": [1, 1] + [0] * 200, "weight": [10.5] * 2 + [1.05] * 200}
    )
    case = Case.from_decisions(people, "hired", sensitive_features="sex", weights="weight")
    found = effective_counts(group_counts(case).loc[("sex", "f")], "selection rate")
    assert found == (0, pytest.approx(0.99 * 100 / 3.4))


def test_methods_that_count_people_get_one_decision_of_each_or_refuse_weights():
    people = repeated(table())
    case = case_of(people, person="person")
    said = f"FlipTest took one decision of each person, drawn at random: 240 of {len(people):,}."
    assert said in fairlab.audit(case, methods=["fliptest"]).warnings
    drawn = case.one_decision_each().table.index
    assert sorted(people.loc[drawn, "person"]) == list(range(240))
    assert drawn.isin(people.drop_duplicates("person").index).sum() < 240
    found = fairlab.audit(case_of(people, person="person", **WEIGHT), methods=["fliptest", "fairtest"])
    assert found.skipped == tuple((method, "It needs people without weights.") for method in ("FlipTest", "FairTest"))


def test_people_needed_are_persons_not_decisions():
    people = table(400, bias=0.02).assign(person=range(400))
    copies = people.loc[people.index.repeat(4)].reset_index(drop=True)  # which tell no more than one decision
    needed = [
        fairlab.audit(case_of(each, **options), methods=["rates"]).frame.set_index("effect")["people_needed"]
        for each, options in ((people, {}), (copies, {"person": "person"}))
    ]
    assert needed[0].notna().any()
    assert needed[1].to_dict() == pytest.approx(needed[0].to_dict(), rel=0.1, nan_ok=True)


def test_groups_of_few_persons_are_not_compared_and_not_shown():
    people = repeated(table()).assign(race=lambda rows: np.where(rows["person"] < 4, "z", "a"))
    report = fairlab.audit(case_of(people, person="person"), methods=["rates"])
    assert "z" not in report.groups["race"].index and len(people[people["race"] == "z"]) > 5
    assert any("fewer than 30 people are z (4)" in reason for _, reason in report.skipped)


def test_what_is_shown_of_a_person_is_like_other_persons_not_like_other_decisions():
    people = repeated(table(), seed=1)
    alone = people["person"] == people["person"].value_counts().index[0]  # with nine decisions
    people["points"] = np.where(alone, 7_777, people["points"] % 4)
    report = fairlab.audit(case_of(people, person="person"), methods=["rates"])
    assert alone.sum() == 9 and (report.people["points"] == 7_777).sum() == 1
    assert len(report.people) == people["person"].nunique()


# Calibration


def test_calibration_is_the_difference_of_mantel_and_haenszel_by_hand():
    rng, own = np.random.default_rng(0), {"sensitive_features": "sex", "y_true": "good"}
    people = pd.DataFrame({"sex": rng.choice(["f", "m"], 500), "score": rng.integers(1, 4, 500)})
    people = people.assign(hired=people["score"] > 2, good=rng.random(500) < people["score"] / 4)
    counts = people.groupby(["score", "sex"])["good"].agg(["sum", "size"]).unstack()
    sizes, pooled = counts["size"], counts["sum"].sum(axis=1) / counts["size"].sum(axis=1)
    rates, weights = counts["sum"] / sizes, sizes.prod(axis=1) / sizes.sum(axis=1)
    weights /= weights.sum()
    expected = (weights * (rates["f"] - rates["m"])).sum()
    # The larger of two variances: of the rates of the groups, and of that of all with a score.
    around = rates * (1 - rates), (0 * rates).add(pooled * (1 - pooled), axis=0)
    variances = [(weights**2 * (each / (sizes - 1)).sum(axis=1)).sum() for each in around]
    # People with a score that occurs in one group only do not count.
    more = pd.concat([people, people[people["sex"] == "f"].head(20).assign(score=9)], ignore_index=True)
    case, other = (Case.from_decisions(rows, "hired", scores="score", **own) for rows in (people, more))
    found, of_more = (calibration_gap(each, each.table["sex"].eq("f").to_numpy()) for each in (case, other))
    by_hand = 500, 494, expected, np.sqrt(max(variances))
    assert (found.n, found.freedom, found.estimate, found.error) == pytest.approx(by_hand)
    of_model = Case(lambda rows: rows["score"] / 4, people, features=["score"], **own)
    [finding], [again] = (GroupRates(rates=["calibration"]).run(each).findings for each in (case, of_model))
    assert (of_more.estimate, again.estimate) == pytest.approx((expected, expected))
    assert (finding.measure, finding.low < expected < finding.high) == ("calibration_difference", True)
    assert "calibration_difference" not in GroupRates().run(of_model).to_frame()["measure"].tolist()


@pytest.mark.parametrize("label", [False, True])
def test_calibration_of_a_group_that_is_all_alike_by_chance_is_as_uncertain_as_the_others_are(label):
    people = pd.DataFrame({"sex": ["f"] * 40 + ["m"] * 400, "score": 1, "hired": [True, False] * 220})
    people["good"] = np.where(np.arange(440) % 20 == 19, not label, label)
    people.loc[:39, "good"] = label  # as in one group of eight with such labels
    twice = pd.concat([people, people], ignore_index=True).assign(person=[*range(440)] * 2)
    options = {"sensitive_features": "sex", "y_true": "good", "scores": "score", "features": ["sex"]}
    alone, again = (
        calibration_gap(Case.from_decisions(rows, "hired", **options, **own), rows["sex"].eq("f").to_numpy())
        for rows, own in ((people, {}), (twice, {"person": "person"}))
    )
    error = np.sqrt(20 / 440 * (1 - 20 / 440) * (1 / 39 + 1 / 399))
    assert (alone.error, again.error) == pytest.approx((error, error))
    assert alone.p_value() > 0.05


@pytest.mark.parametrize("label", [False, True])
@pytest.mark.parametrize("confidence_level", [0.95, 0.999])
def test_calibration_of_a_small_group_whose_labels_are_rare_is_bounded_by_what_would_not_be_seen(
    label, confidence_level
):
    people = pd.DataFrame({"sex": ["f"] * 40 + ["m"] * 4_000, "score": np.arange(4_040) % 4})
    people["good"] = np.where(np.arange(4_040) % 100 == 99, not label, label)
    people.loc[:39, "good"] = label
    options = {"sensitive_features": "sex", "y_true": "good", "scores": "score", "features": ["sex"]}
    case = Case.from_decisions(people, people["score"] > 1, **options)
    gap = calibration_gap(case, people["sex"].eq("f").to_numpy())
    unseen = 1 - ((1 - confidence_level) / 2) ** (1 / 40) - 0.01  # the others' rate is known as 1%
    low, high = gap.bounds(confidence_level)
    assert (-low if label else high) >= unseen
    assert gap.p_value(unseen) > 1 - confidence_level


PLACES = np.arange(400)


@pytest.mark.filterwarnings("ignore:Scores say little", "ignore:Favourable decisions have")
@pytest.mark.parametrize(
    ("scores", "bins"),
    [
        (PLACES, PLACES // 20),
        # a score of half of the people, the lowest or the highest
        (np.where(PLACES < 200, 0, PLACES), np.where(PLACES < 200, 0, PLACES // 20)),
        (np.where(PLACES < 200, PLACES, 999), np.where(PLACES < 200, PLACES // 20, 999)),
        # and one of a tenth of them, in their midst
        (np.where(PLACES // 40 == 2, 100, PLACES), np.where(PLACES // 40 == 2, 4, PLACES // 20)),
        (np.where((PLACES - 30) // 40 == 0, 50, PLACES), np.where((PLACES - 30) // 40 == 0, 2, PLACES // 20)),
    ],
)
def test_calibration_of_many_scores_is_that_of_twentieths_of_the_people(scores, bins):
    order = np.random.default_rng(0).permutation(400)
    people = table(400).assign(sex=np.where(order % 2, "f", "m"))
    found, binned = (
        calibration_gap(
            case_of(people.assign(score=each[order] / 1_000), y_true="good", scores="score"),
            people["sex"].eq("f").to_numpy(),
        )
        for each in (scores, bins)
    )
    # Of the error, the people and the freedom; the estimate is less what the scores within a bin explain.
    np.testing.assert_allclose(astuple(found)[1:4], astuple(binned)[1:4], rtol=1e-9)  # sums have another order
    people = people.assign(score=scores[order] / 1_000, bins=bins[order])
    good = people["good"].eq("yes").astype(float)
    means = people.assign(good=good).groupby("bins")[["score", "good"]].mean()
    rest = good - np.interp(people["score"], means["score"], means["good"])
    cells = rest.groupby([people["bins"], people["sex"]]).agg(["mean", "size"]).unstack()
    weights = cells["size"].prod(axis=1) / cells["size"].sum(axis=1)
    assert found.estimate == pytest.approx(np.average(cells["mean"]["f"] - cells["mean"]["m"], weights=weights))


def few_at_one_end(rng, mean):
    """Return groups and scores of many people, and of a few with other scores."""
    return np.repeat(["a", "b"], [20_000, 400]), expit(rng.normal(np.repeat([mean, 0.0], [20_000, 400]), 1))


def a_tenth_below(rng):
    """Return groups and scores of many people; most of a tenth of them have low scores."""
    group = np.where(rng.random(60_000) < 0.1, "a", "b")
    return group, np.where(group == "a", rng.beta(2, 5, len(group)), rng.beta(5, 2, len(group)))


@pytest.mark.parametrize(
    ("draw", "n", "most"),
    [
        (partial(few_at_one_end, mean=-3.0), 10, 2),
        (partial(few_at_one_end, mean=-2.0), 10, 2),
        (a_tenth_below, 20, 4),  # binomial of 20: more with a probability of 0.003
    ],
)
def test_a_calibrated_score_is_so_in_groups_whose_scores_differ(rng, draw, n, most):
    found = []
    for _ in range(n):
        group, score = draw(rng)
        people = pd.DataFrame({"group": group, "score": score, "good": rng.random(len(group)) < score})
        case = Case.from_decisions(people, score > 0.5, sensitive_features="group", y_true="good", scores="score")
        found.append(calibration_gap(case, group == "a"))
    assert abs(np.mean([gap.estimate for gap in found])) < 0.025, "three standard errors; before, 0.15 and 0.04"
    assert sum(gap.p_value() <= 0.05 for gap in found) <= most


def test_scores_without_common_values_have_no_calibration():
    people = table(400).assign(score=lambda rows: np.where(rows["sex"] == "f", 1.0, 2.0))
    with pytest.warns(UserWarning, match="Scores say little"):
        case = case_of(people, sensitive_features=["sex"], y_true="good", scores="score")
    found = GroupRates(rates=["calibration"]).run(case)
    assert not found.findings and "scores that occur in both groups" in found.skipped[0]


# Means of outcomes that are numbers


def of_pay(pay, n_women, **options):
    """Return a case of pay, the women's first."""
    people = pd.DataFrame({"sex": np.repeat(["f", "m"], [n_women, len(pay) - n_women]), "pay": pay} | options)
    return Case.from_decisions(
        people, "pay", sensitive_features="sex", features=["sex"], **{key: key for key in options}
    )


def means_of(*cases):
    """Return the comparison of means of each case."""
    return [GroupRates().run(case).findings[0] for case in cases]


@pytest.mark.filterwarnings("ignore:Decisions are numbers")
def test_means_are_compared_as_by_welch_within_a_margin_in_their_unit(rng):
    women, men = rng.normal(30_000, 5_000, 140), rng.normal(33_000, 5_000, 160)
    case = of_pay(np.append(women, men), 140)
    [found] = means_of(case)
    welch, margin = ttest_ind(women, men, equal_var=False), 0.005 * np.append(women, men).std()
    expected = women.mean() - men.mean(), welch.pvalue, *welch.confidence_interval(), margin
    assert (found.estimate, found.p_value, found.low, found.high, found.limit) == pytest.approx(expected, rel=1e-6)
    assert "numbers, not decisions" in GroupRates(rates=["selection rate"]).run(case).skipped[0]
    report, within = (fairlab.audit(case, methods=[each]) for each in ("rates", GroupRates(mean_margin=4_000)))
    assert (within.findings[0].limit, within.significant, len(report.significant)) == (4_000, (), 1)
    failing = [judge(report, rules=[Rule.of(f"mean_difference > {limit}")]).failing for limit in (500, 4000)]
    assert list(map(len, failing)) == [1, 0]


@pytest.mark.filterwarnings("ignore")
def test_means_of_weights_and_persons_are_as_precise_as_the_people(rng):
    pay, weights, person = rng.normal(30, 5, 300), rng.uniform(1, 3, 300), np.arange(300)
    once, twice, weighted = means_of(
        of_pay(pay, 130, person=person),
        of_pay(pay.repeat(2), 260, person=person.repeat(2)),
        of_pay(pay, 130, weights=weights),
    )
    assert (twice.low, twice.high) == pytest.approx((once.low, once.high))
    women, men = (np.average(pay[some], weights=weights[some]) for some in (person < 130, person >= 130))
    assert weighted.estimate == pytest.approx(women - men)


@pytest.mark.filterwarnings("ignore:Decisions are numbers")
@pytest.mark.parametrize("n_women", [30, 300])
def test_means_of_few_skewed_numbers_are_compared_with_those_of_random_groups(n_women, monkeypatch):
    monkeypatch.setattr(resampling, "RESAMPLES", 100_000)
    pay = np.random.default_rng(5).lognormal(0, 1, 330)
    pay[:n_women] *= 0.7
    [found] = means_of(of_pay(pay, n_women))
    gap, method = found.test.__self__, PermutationMethod(n_resamples=100_000, rng=np.random.default_rng(1))
    women, men, tails = pay[:n_women], pay[n_women:], []
    for side in ("less", "greater"):
        by_welch, by_groups = (
            ttest_ind(women, men, equal_var=False, alternative=side, method=each).pvalue for each in (None, method)
        )
        tails.append(max(by_welch, by_groups))
    by_groups, p_value = replace(gap, drawn=gap.drawn[:1]).p_value(), found.test(0.0)
    assert by_groups == pytest.approx(2 * min(tails), rel=0.15)
    assert p_value >= by_groups, "bootstrap samples can only make it larger"
    p_values = [found.test(margin) for margin in np.linspace(0, abs(found.estimate), 50)]
    assert (np.diff(p_values) >= 0).all()
    bounds = [found.bounds(1 - p_value + change) for change in (-0.001, 0.001)]
    assert [low <= 0 <= high for low, high in bounds] == [False, True]


@pytest.mark.filterwarnings("ignore:Decisions are numbers")
def test_differences_of_means_beyond_all_random_groups_have_smaller_and_smaller_p_values():
    pay = np.random.default_rng(5).lognormal(0, 1, 330)
    p_values = []
    for added in (2, 2.5, 3):
        [found] = means_of(of_pay(np.append(pay[:30] + added, pay[30:]), 30))
        p_values.append(found.test(0.0))
        level = [found.bounds(1 - p_values[-1] * times)[0] for times in (0.99, 1.01)]
        assert level[0] < 0 < level[1]
    assert (np.diff(p_values) < 0).all() and p_values[-1] < 2 / (1 + resampling.RESAMPLES)


@pytest.mark.filterwarnings("ignore:Decisions are numbers")
def test_means_of_skewed_numbers_differ_by_chance_as_often_as_stated(monkeypatch):
    monkeypatch.setattr(resampling, "RESAMPLES", 199)
    rng, p_values = np.random.default_rng(1), []
    for _ in range(400):
        pay = rng.lognormal(0, 1, 330)
        found = GroupRates(mean_margin=1e-9).run(of_pay(pay, 30)).findings[0].p_value
        p_values.append((found, ttest_ind(pay[:30], pay[30:], equal_var=False).pvalue))
    resampled, by_welch = (np.array(p_values) <= 0.05).mean(axis=0)
    assert resampled < 0.078 < by_welch


def lognormal(rng, spread, n):
    return rng.lognormal(-(spread**2) / 2, spread, n)  # mean 1


@pytest.mark.filterwarnings("ignore:Decisions are numbers")
@pytest.mark.parametrize(
    ("few", "others", "by_welch"),
    [
        (lambda rng: 20.0 * (rng.random(100) < 0.05), lambda rng: rng.normal(1, 1, 1_000), 0.08),
        (lambda rng: 10.0 * (rng.random(60) < 0.1), lambda rng: rng.exponential(1, 600), 0.06),
        (lambda rng: rng.normal(1, 0.3, 40), lambda rng: lognormal(rng, 1.5, 1_000), 0.0),  # random groups: 9%
        (lambda rng: lognormal(rng, 1, 40), lambda rng: lognormal(rng, 1, 400), 0.06),
    ],
)
def test_equal_means_of_numbers_of_other_shapes_differ_as_seldom_as_stated(monkeypatch, few, others, by_welch):
    monkeypatch.setattr(resampling, "RESAMPLES", 399)
    rng, p_values = np.random.default_rng(1), []
    for _ in range(300):
        own, rest = few(rng), others(rng)
        people = people_in_sums(
            Case.from_decisions(
                pd.DataFrame({"pay": np.append(own, rest) * 1e3, "sex": np.repeat(["f", "m"], [len(own), len(rest)])}),
                "pay",
                sensitive_features="sex",
            )
        )
        found = mean_gap(people, np.arange(people.shape[1]) < len(own), people.shape[1]).p_value()
        p_values.append((found, ttest_ind(own, rest, equal_var=False).pvalue))
    found, plain = (np.array(p_values) <= 0.05).mean(axis=0)
    assert found < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300) and plain > by_welch


@pytest.mark.filterwarnings("ignore:Decisions are numbers")
def test_a_mean_that_a_few_numbers_make_is_said_to_be_uncertain(rng):
    pay = np.append(lognormal(rng, 1.5, 40), rng.normal(1, 2.9, 1_000))
    said = fairlab.audit(of_pay(pay, 40), methods=["rates"], progress=False).warnings
    assert any(text.startswith("So few people are f (40) that a few large numbers") for text in said)
    plain = fairlab.audit(of_pay(pay[40:], 40), methods=["rates"], progress=False).warnings
    assert not any("few large numbers" in text for text in plain)


def test_means_of_the_smallest_groups_that_welch_tests_differ_as_seldom_at_the_level_of_many_tests():
    pay = np.random.default_rng(0).exponential(size=(20_000, 4 * LEAST_SKEWED))  # whose skewness is 2
    mean, spread = pay.mean(axis=1), pay.std(axis=1, ddof=1)
    p_values = ttest_ind_from_stats(mean, spread, pay.shape[1], 1, 1, 100_000, equal_var=False).pvalue
    assert (p_values <= 0.001).mean() < 0.002


@pytest.mark.filterwarnings("ignore:Decisions are numbers")
def test_numbers_are_as_skewed_as_their_weights_make_them(rng):
    pay, weights = rng.exponential(size=3_000), rng.lognormal(0, 1, 3_000)
    plain, weighted = of_pay(pay, 600), of_pay(pay, 600, weights=weights)
    assert [are_few(people_in_sums(case), 600) for case in (plain, weighted)] == [False, True]


@pytest.mark.filterwarnings("ignore")
def test_skewed_numbers_of_equal_weights_and_said_twice_are_tested_alike():
    pay = np.random.default_rng(5).lognormal(0, 1, 330)
    plain, *others = means_of(
        of_pay(pay, 30),
        of_pay(pay, 30, weights=np.full(330, 2.0)),
        of_pay(pay.repeat(2), 60, person=np.arange(330).repeat(2)),
    )
    for each in others:
        assert (each.p_value, each.high - each.low) == pytest.approx((plain.p_value, plain.high - plain.low))
