"""Tables that would have an answer that is false, or says nothing: it is not given, or the doubt is said."""

import json
import re
from html import escape
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import yaml
from audited import decided
from scipy.stats import norm

from fairlab import Case, audit, compare, impact_table
from fairlab.auditing import run
from fairlab.auditing.guard import Rule, judge


def doubts(case, start, **options):
    """Return what an audit warns of that begins so."""
    return [text for text in audit(case, methods=["rates"], **options).warnings if text.startswith(start)]


# comparison


ALIKE, APART = {"f": (300, 1_000), "m": (300, 1_000)}, {"f": (300, 1_000), "m": (320, 1_000)}  # gaps of 0 and -0.02


@pytest.mark.parametrize(
    ("before", "after", "gaps", "alone"),
    [
        (ALIKE | {"x": (450, 500)}, APART, (0, -0.02), "x"),
        (APART, ALIKE | {"x": (450, 500)}, (-0.02, 0), "x"),
        (ALIKE | {None: (450, 500)}, APART, (0, -0.02), "(missing)"),
        (APART, ALIKE | {None: (450, 500)}, (-0.02, 0), "(missing)"),
        (ALIKE, {name.upper(): counts for name, counts in APART.items()}, None, "F, M, f and 1 more"),
    ],
)
def test_groups_of_one_table_only_are_in_no_gap_and_said(before, after, gaps, alone):
    compared = compare(decided(before), decided(after))
    expected = [[*map(pytest.approx, gaps), "undecided"]] if gaps else []
    assert compared.to_frame().reindex(columns=["before", "after", "verdict"]).to_numpy().tolist() == expected
    assert f"sex: {alone}, in one of the tables only." in compared.summary


def test_numbers_are_cut_into_the_same_groups(rng):
    tables = [pd.DataFrame({"age": rng.integers(low, low + 40, 1_000)}).eval("hired = age > 40") for low in (18, 30)]
    rows = compare(*(Case.from_decisions(table, "hired", sensitive_features="age") for table in tables)).to_frame()
    edges = np.quantile(pd.concat(tables)["age"], [0.25, 0.5, 0.75], method="inverted_cdf")
    names = [f"up to {edges[0]}", *(f"{low} to {high}" for low, high in pairwise(edges)), f"above {edges[2]}"]
    assert set(rows["where"]) == {f"age: {name} minus all others" for name in names}
    oldest = rows.set_index("where").loc[f"age: {names[-1]} minus all others", ["before", "after"]]
    rates = [table.groupby(table["age"] > edges[2])["hired"].mean() for table in tables]
    assert oldest.tolist() == pytest.approx([rate[True] - rate[False] for rate in rates])


def test_a_feature_that_is_sensitive_in_one_case_only_is_said():
    rows = decided({"f": (30, 100), "m": (30, 100)}).table.assign(hired=[True, False] * 100, race=list("abcd") * 50)
    both, one = (Case.from_decisions(rows, "hired", sensitive_features=of) for of in (["sex", "race"], ["sex"]))
    compared = compare(both, one), compare(one, both)
    assert all("race, which is a sensitive feature of one case only." in each.not_compared for each in compared)


def test_errors_are_not_compared_where_labels_are_known_by_the_decision_in_one_of_two_tables(rng):

    def case(n, known):
        truth = rng.random(n) < 0.3
        hired = np.where(rng.random(n) < 0.8, truth, ~truth)
        good = pd.array(truth, dtype="boolean")
        good[rng.random(n) >= np.where(hired, *known)] = pd.NA
        table = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "hired": hired, "good": good})
        return Case.from_decisions(table, "hired", sensitive_features="sex", y_true="good")

    every, chosen = case(3_000, (1, 1)), case(3_001, (0.95, 0.4))
    compared = compare(every, chosen)
    assert "Errors, since true labels are known for 9" in compared.summary
    assert set(compared.to_frame()["measure"]) == {"selection rate difference"}
    assert "error rate" in set(compare(every, case(3_001, (0.7, 0.7))).to_frame()["measure"])


def test_rows_made_of_counts_are_not_the_same_people():
    selected = (300, 400), (320, 390)
    compared = compare(*(decided({"f": (women, 1_000), "m": (men, 1_000)}) for women, men in selected))
    assert "People one by one: rows with the same decision stand together" in compared.summary
    [row] = compared.to_frame().to_dict("records")
    shares = np.ravel(selected) / 1_000
    error = np.sqrt((shares * (1 - shares) / 1_000).sum())
    wider = row["p_value"] / (2 * norm.sf(0.03 / error))  # exact bounds are; by pairs of rows it would be 0.0003
    assert (compared.is_paired, row["verdict"]) == (False, "undecided")
    assert 1 <= wider <= 1.15


def test_the_same_people_are_told_by_labels_or_by_an_order_that_is_none():
    case = decided({"f": (300, 1_000), "m": (400, 1_000)})
    rows = case.table.assign(hired=case.decide())
    shuffled, named = (
        Case.from_decisions(each, "hired", sensitive_features="sex")
        for each in (rows.sample(frac=1, random_state=0, ignore_index=True), rows.rename(index="person {}".format))
    )
    model = Case(lambda rows: rows["sex"] == "f", case.table, sensitive_features="sex")
    assert [compare(each, each).is_paired for each in (shuffled, named, model)] == [True] * 3


# true labels


def applicants(known, n=4_000):
    """Return decisions and true labels of applicants that have nothing to do with sex; labels known of some."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "repaid": rng.random(n) < 0.7})
    table["granted"] = rng.random(n) < np.where(table["repaid"], 0.6, 0.3)
    table["repaid"] = table["repaid"].astype("boolean").where(known(table, rng))
    return Case.from_decisions(table, "granted", sensitive_features="sex", y_true="repaid")


ERRORS = ["true_positive_rate_difference > 0.05", "false_positive_rate_difference > 0.05"]
ERRORS += ["error_rate_difference > 0.05"]


def test_labels_that_only_the_selected_have_rule_nothing_out():
    case = applicants(lambda table, _: table["granted"])
    report, why = audit(case, methods=["rates"]), "true labels are known only where the decision is favourable"
    assert [[finding.measure for finding in found.findings] for found in (report, run("rates", case))] == [
        ["selection_rate_difference"]
    ] * 2
    assert any(text.startswith("True labels are known only where the decision is fav") for text in report.warnings)
    assert '<th class="number">true positive rate</th>' not in report.to_html(), "100% in each group"
    left = f"No true positive rate and no false positive rate was compared: {why}."
    assert ("group rates", left) in report.skipped
    judged = judge(report, rules=[Rule.of(rule) for rule in ERRORS])
    assert [text.partition(", by sex: ")[2] for text in judged.not_judged] == [why] * 3
    compared = compare(case, case)
    assert set(compared.to_frame()["measure"]) == {"selection rate difference"}
    assert f"Errors, since {why}." in compared.not_compared
    table = case.table.assign(age=np.arange(4_000) % 60, granted=case.decide())
    table["repaid"] = ((table["age"] <= 30) | (table["sex"] == "m")).astype("boolean").where(table["granted"])
    known = Case.from_decisions(table, "granted", sensitive_features="sex", y_true="repaid")
    by_age = audit(known, methods=["rates", "fairtest"])
    assert "error_rate_difference" in {finding.measure for finding in by_age.findings}
    assert len(judge(by_age, rules=[Rule.of(ERRORS[-1])]).not_judged) == 1, "nobody knows the errors of everyone"


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (lambda table, _: table["granted"] | (np.arange(len(table)) < 200), "True labels are known for 100% of the"),
        (lambda table, rng: rng.random(len(table)) < 0.5, None),
        (lambda table, _: np.arange(len(table)) < 4, None),  # too few to say
    ],
)
def test_labels_that_the_selected_have_more_often_are_said(known, said):
    report = audit(applicants(known), methods=["rates"])
    others = [text for text in report.warnings if not text.startswith("Left out")]
    assert [text[: len(said or "")] for text in others] == ([said] if said else [])


@pytest.mark.parametrize(
    ("score", "said"),
    [
        (lambda good, _: good, None),
        (lambda good, _: 1 - good, "Decisions go against true labels: of people with a favourable true label"),
        (lambda good, rng: rng.permutation(good), "Decisions are nearly unrelated to true labels"),
    ],
)
def test_scores_of_the_other_label_and_labels_of_other_rows_are_said(score, said):
    rng = np.random.default_rng(2)
    good = rng.random(20_000).round(4)
    table = pd.DataFrame({"sex": rng.choice(["f", "m"], len(good)), "score": score(good, rng)})
    case = Case(lambda rows: rows["score"], table, sensitive_features="sex", y_true=rng.random(len(good)) < good)
    assert [text[: len(said or "")] for text in doubts(case, "Decisions ")] == ([said] if said else [])


@pytest.mark.parametrize(
    ("n", "wrong", "is_said"),
    [(1_000, 0, True), (1_000, 1, True), (1_000, 50, False), (100, 0, True), (99, 0, False)],
)
def test_labels_that_are_the_decisions_are_said(n, wrong, is_said):
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "good": rng.random(n) < 0.5})
    labels = table["good"] ^ (np.arange(n) < wrong)
    case = Case(lambda rows: rows["good"], table, sensitive_features="sex", y_true=labels.to_numpy())
    assert bool(doubts(case, f"Decisions equal true labels for {n - wrong:,} of {n:,} people.")) is is_said


@pytest.mark.parametrize(
    ("wrong", "features", "is_said"), [(0, None, True), (1, None, False), (0, ["sex", "age"], False)]
)
def test_a_feature_that_is_the_true_label_in_other_words_is_said(wrong, features, is_said):
    rng = np.random.default_rng(6)
    table = pd.DataFrame({"sex": rng.choice(["f", "m"], 300), "age": rng.integers(20, 60, 300)})
    table["income"] = rng.choice(["low", "high"], 300)
    labels = table["income"].eq("high") ^ (np.arange(300) < wrong)
    case = Case(lambda rows: rows["age"] > 40, table, sensitive_features="sex", features=features, y_true=labels)
    assert len(doubts(case, "income determines every true label.")) == is_said


# exports


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda t: Case.from_decisions(t, "hired", sensitive_features="sex", pos_label="<yes>"), "hired = <yes>"),
        (lambda t: Case.from_decisions(t, "hired", sensitive_features="sex", pos_label="no"), "hired = no"),
        (
            lambda t: Case.from_decisions(t, "points", sensitive_features="sex", decision_threshold=50),
            "scores of at least 50",
        ),
        (lambda t: Case(lambda rows: rows["points"] > 50, t, sensitive_features="sex"), "True"),
        (lambda t: Case(lambda rows: rows["points"] * 1.5, t, sensitive_features="sex"), "none: numbers are compared"),
    ],
)
def test_every_export_says_what_counts_as_favourable(make, said):
    table = pd.DataFrame({"sex": ["f", "m"] * 100, "hired": ["no", "<yes>"] * 100, "points": np.arange(200) % 101})
    report = audit(make(table), methods=["rates"])
    assert json.loads(report.to_json())["provenance"]["favourable"] == said
    assert f"<td>{escape(said)}</td>" in report.to_html()
    assert escape(said) in report.to_junit()
    assert yaml.safe_load(report.to_model_card().split("---")[1])["fairlab_audit"]["favourable"] == said


# rows and groups


@pytest.fixture
def audit_in_files(tmp_path):
    """Return a function that audits decisions which it writes into a file."""
    pytest.importorskip("duckdb")
    from fairlab.auditing.files import audit_files

    def audited(case, labels=(False, True), **options):
        table = case.table.assign(
            hired=np.where(case.decide(), *labels[::-1]), town=np.resize(["a", "b"], len(case.table))
        )
        table.to_parquet(tmp_path / "a.parquet")
        return audit_files(tmp_path / "*.parquet", decisions="hired", sensitive_features="sex", **options)

    return audited


def test_people_without_a_group_are_not_what_others_are_compared_with_in_files(audit_in_files, tmp_path):
    found = audit_in_files(decided({"f": (300, 1_000), "m": (400, 1_000), None: (450, 500)}))
    ratios, columns = found.rates["sex"], ["people", "selected", "impact ratio", "ratio low", "ratio high"]
    expected = impact_table(pd.read_parquet(tmp_path), decisions="hired", sensitive_features="sex")
    assert ratios["impact ratio"].to_dict() == pytest.approx({"f": 0.75, "m": 1, "(missing)": np.nan}, nan_ok=True)
    pd.testing.assert_frame_equal(ratios.loc[["f", "m"], columns], expected.loc[["f", "m"], columns], check_names=False)
    found.to_json(tmp_path / "found.json")
    written = pd.DataFrame(json.loads((tmp_path / "found.json").read_text())["rates"]["sex"]).T
    assert written.astype(ratios.dtypes).equals(ratios.rename_axis(None))


def test_the_level_of_an_audit_of_files_is_that_of_its_tests_too(audit_in_files):
    case = decided({"f": (440, 1_000), "m": (500, 1_000)})
    reports = [audit_in_files(case, confidence_level=level).report for level in (0.95, 0.99)]
    assert [report.counts()["significant"].any() for report in reports] == [True, False]
    assert [report.significance for report in reports] == pytest.approx([0.05, 0.01])


@pytest.mark.parametrize(
    ("counts", "not_assessed", "said"),
    [
        (
            {"f": (300, 1_000), "m": (2, 3), None: (450, 500)},
            ("sex",),
            "Not assessed: sex, as fewer than two groups have 30 people.",
        ),
        (
            {"f": (300, 1_000), "F": (100, 300), "m": (400, 1_000)},
            (),
            "sex: expected one spelling of each group, found 'F', 'f'.",
        ),
    ],
)
def test_groups_that_are_too_small_and_two_spellings_are_said_in_files(audit_in_files, counts, not_assessed, said):
    found = audit_in_files(decided(counts))
    assert found.not_assessed == not_assessed
    assert said in str(found)


def test_numbers_as_text_are_names_in_files(audit_in_files):
    found = audit_in_files(decided({"01": (300, 1_000), "02": (400, 1_000), "1": (100, 300)}))
    assert found.rates["sex"]["selected"].to_dict() == {"01": 300, "02": 400, "1": 100}
    assert found.report.counts()["significant"].item() > 0


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (("YES", "yes"), "expected two different values in column 'hired', found YES, yes"),
        ((None, "yes"), "decisions: expected one in each row, some of column 'hired' are missing"),
        (("no", None), "decisions: expected one in each row, some of column 'hired' are missing"),
    ],
)
def test_missing_decisions_and_those_in_two_spellings_are_refused_in_files(labels, message, audit_in_files):
    with pytest.raises(ValueError, match=message):
        audit_in_files(decided({"f": (300, 1_000), "m": (400, 1_000)}), labels, pos_label="yes")


@pytest.mark.parametrize(
    ("group", "is_said"),
    [("Unknown", True), ("", True), ("n/a", True), ("(missing)", True), (None, False), ("x", False)],
)
def test_groups_that_may_be_missing_values_are_said(group, is_said, audit_in_files):
    case = decided({"f": (300, 1_000), "m": (400, 1_000), group: (450, 500)})
    said = f"sex: {group!r} may stand for missing values. As strings, they form groups"
    assert (bool(doubts(case, said)), said in str(audit_in_files(case))) == (is_said, is_said)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({f"town {k}": (57 if k == 0 else 18, 60) for k in range(60)}, ""),  # each is small
        ({"a": (40, 5_000), "b": (20, 80)}, ""),  # all but one are small
        ({"a": (400, 1_000), "b": (300, 1_000)}, "Who loses: sex: b, selected 0.75 times as often as a."),
        # a and b are alike; c is small, and yet a difference is found.
        (
            {"a": (1_250, 2_500), "b": (1_255, 2_500), "c": (5, 60)},
            "Who loses: sex: c, selected 0.17 times as often as b.",
        ),
        ({"a": (2_500, 5_000), "b": (45, 105), "c": (60, 60)}, ""),  # a is selected less than c, which is small
        # c, selected least, is too small for a test to find; of b it does.
        (
            {"a": (500, 1_000), "b": (380, 1_000), "c": (18, 50)},
            "Who loses: sex: b, selected 0.76 times as often as a.",
        ),
    ],
)
def test_who_loses_is_said_where_two_groups_are_large_enough(counts, said):
    report = audit(decided(counts), methods=["rates"])
    assert report.verdict == "difference found"
    assert re.findall(r"Who loses: .*?\.(?= |$)", report.summary) == ([said] if said else [])
    assert said.removeprefix("Who loses: ") in report.to_html()


@pytest.mark.parametrize(
    ("n_kinds", "copies", "is_said"),
    [(200, 1, False), (200, 10, True), (10, 10, True), (9, 10, False)],  # few kinds of rows are no copies
)
def test_rows_that_are_all_there_several_times_are_said(n_kinds, copies, is_said):
    rng = np.random.default_rng(3)
    once = pd.DataFrame({"sex": rng.choice(["f", "m"], n_kinds), "points": rng.normal(size=n_kinds)})
    rows = pd.concat([once.assign(hired=rng.random(n_kinds) < 0.4)] * copies, ignore_index=True)
    case = Case.from_decisions(rows, "hired", sensitive_features="sex")
    assert bool(doubts(case, "Each row occurs 10 times")) is is_said


def test_copies_of_some_rows_are_said_and_people_who_are_alike_are_not():
    rng, said = np.random.default_rng(4), " rows repeat another one in all columns"
    people = pd.DataFrame({"sex": ["f"] * 60 + ["m"] * 1000, "points": rng.normal(size=1060)})
    people["hired"] = rng.random(1060) < 0.3
    balanced = pd.concat([people, people.iloc[rng.integers(0, 60, 440)]], ignore_index=True)
    case = Case.from_decisions(balanced, "hired", sensitive_features="sex")
    assert len(doubts(case, f"440 of 1,500{said}")) == 1
    assert f"440 of 1,500{said}" in compare(case, case).summary
    case = Case.from_decisions(
        balanced.assign(name=balanced["points"]), "hired", sensitive_features="sex", person="name"
    )
    assert not doubts(case, "440 of")
    # Of a hundred places whoever lives in the same one is alike in all but the group and the decision.
    place = rng.integers(0, 100, 1060)
    alike = people.assign(points=place, district=place // 10, sex=np.where(rng.random(1060) < 0.05, "f", "m"))
    case = Case.from_decisions(alike, "hired", sensitive_features="sex")
    assert alike.duplicated().mean() > 0.5 and not [text for text in doubts(case, "") if said in text]
    assert not [text for text in doubts(decided({"f": (100, 500), "m": (100, 500)}), "") if said in text]


@pytest.mark.parametrize(("n_women", "times", "is_said"), [(60, 10, True), (600, 10, False), (60, 1.5, False)])
def test_weights_that_go_with_decisions_are_said_of_groups_that_may_lack_the_heavy(n_women, times, is_said, rng):
    people = pd.DataFrame({"sex": ["f"] * n_women + ["m"] * 1000, "hired": rng.random(n_women + 1000) < 0.04})
    people["weight"] = np.where(people["hired"], times, 1.0)
    case = Case.from_decisions(people, "hired", sensitive_features="sex", weights="weight")
    said = doubts(case, "People with a favourable decision weigh 10 times as much")
    assert [text.count("(sex: f)") for text in said] == [1] * is_said


@pytest.mark.parametrize(
    ("selected", "within", "said"),
    [
        (8, 0.05, "Only 0.9% of decisions are favourable: ruling out a difference as large as 5 percentage points"),
        (493, 0.05, "Only 1.3% of decisions are unfavourable: ruling out a difference as large as 5 percentage points"),
        (8, 0.006, None),
        (100, 0.05, None),
        (0, 0.05, None),  # said by the case
    ],
)
def test_decisions_that_are_too_rare_for_what_is_ruled_out_are_said(selected, within, said):
    others = 494 if selected == 493 else selected // 8
    rare = doubts(decided({"f": (others, 500), "m": (selected, 500)}), "Only ", within=within)
    assert [text[: len(said or "")] for text in rare] == ([said] if said else [])


@pytest.mark.parametrize(
    ("values", "is_said"),
    [
        (lambda rng, n: rng.integers(1, 13, n), True),
        (lambda rng, n: pd.array(rng.integers(1, 13, n), dtype="int64[pyarrow]"), True),
        (lambda rng, n: rng.integers(1, 13, n).astype(str), False),
        (lambda rng, n: rng.integers(1, 6, n), False),  # each its own group
        (lambda rng, n: rng.integers(18, 70, n), False),
        (lambda rng, n: rng.integers(1, 13, n) / 2, False),
        (lambda rng, n: pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 12, n), "D"), False),
    ],
)
def test_numbers_that_may_be_codes_are_said(values, is_said):
    rng = np.random.default_rng(4)
    rows = pd.DataFrame({"race": values(rng, 2_000), "hired": rng.random(2_000) < 0.4})
    case = Case.from_decisions(rows, "hired", sensitive_features="race")
    assert bool(doubts(case, "race has 12 different whole numbers")) is is_said
