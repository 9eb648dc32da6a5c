import json
import re
import shlex
import shutil
from datetime import date
from functools import partial
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import yaml
from audited import finding, people, report, report_of
from scipy.special import expit
from scipy.stats import binom

from fairlab import Case, audit
from fairlab.auditing.guard import RATIO, Accepted, Judgement, Rule, judge
from fairlab.cases import MethodResult
from fairlab.cases.finding import Reason
from fairlab.cli import main
from fairlab.data.project import project
from fairlab.statistics import difference_bounds, difference_p_value

TODAY = date(2026, 11, 24)
ACCEPTED = {"measure": "selection_rate_difference", "sensitive_features": "sex", "reason": "as agreed"}


def rate(hits, totals, **changes):
    """Return a selection rate difference as an audit finds it."""
    low, high = map(float, difference_bounds(hits, totals, confidence_level=0.95))
    test, estimate = partial(difference_p_value, hits, totals), hits[0] / totals[0] - hits[1] / totals[1]
    parts = {"measure": "selection_rate_difference", "effect": "selection rate difference, f minus m", "low": low}
    parts |= {"groups": ("f", "m"), "method": "Themis"}
    return finding(people(), test(), estimate, **(parts | {"high": high, "test": test} | changes))


def failures(report, **options):
    """Return why an audit does not pass, and what was accepted."""
    judged = judge(report, **options)
    return [*judged.failing, *judged.not_judged], judged.accepted


CLEAR = rate([400, 520], [1000, 1000])  # 12 points, certainly more than 5, not certainly more than 10


def test_a_rule_is_a_test_against_its_margin_not_against_zero():
    rules = [[Rule.of(f"selection_rate_difference > {limit}")] for limit in (0.05, 0.1)]
    assert [len(failures(report_of(CLEAR), rules=some)[0]) for some in rules] == [1, 0]
    assert report_of(CLEAR).verdict == "difference found"
    # Ten tests of one rule are corrected together: p = 0.02 against the margin is not enough.
    weak = [rate([400, 490], [1000, 1000]), *[rate([450, 450], [1000, 1000])] * 9]
    assert weak[0].test(0.05) <= 0.1 < 10 * weak[0].test(0.05)
    assert failures(report_of(*weak), rules=rules[0])[0] == []
    # Rules are not: each says the same whichever stand beside it.
    several = [Rule.of(f"selection_rate_difference > {k / 100}") for k in range(1, 21)]
    alone = [text for rule in several for text in failures(report_of(CLEAR), rules=[rule])[0]]
    assert 0 < len(alone) < 20 and failures(report_of(CLEAR), rules=several)[0] == alone


def decided(selected, of=100, **columns):
    """Return the audit of decisions by group: how many of `of` people are selected; more columns go by group, too."""
    table = pd.DataFrame([{"group": group, "decision": k < n} for group, n in selected.items() for k in range(of)])
    table = table.assign(**{name: table["group"].map(by_group) for name, by_group in columns.items()})
    return audit(
        Case(
            lambda rows: rows["decision"].astype(bool),
            table,
            sensitive_features=["group", *columns],
            features=["decision"],
            pos_label=True,
        ),
        methods=["rates"],
        progress=False,
    )


RATIOS, LARGE_GAPS = Rule.of("impact_ratio < 0.75"), Rule.of("selection_rate_difference > 0.5")


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_people_without_a_group_are_no_group_to_compare_with(missing):
    report, named, rules = decided({"f": 40, "m": 50, missing: 95}), decided({"f": 40, "m": 50, "x": 95}), [RATIOS]
    assert report.groups["group"]["impact ratio"].tolist() == pytest.approx([0.8, 1, np.nan], nan_ok=True)
    assert [bool(judge(each, rules=rules).failing) for each in (report, named)] == [False, True]


def test_a_group_named_as_if_it_were_missing_is_told_from_people_without_a_group():
    report = decided({"(missing)": 80, "m": 40, None: 20}, town={"(missing)": "x", "m": "y", None: "x"})
    ratios = {"(missing)": 1, "m": 0.5, "((missing))": np.nan}
    both = {"(missing), x": 1, "m, y": 0.5, "((missing)), x": np.nan}
    for name, expected in {"group": ratios, "group and town": both}.items():
        assert report.groups[name]["impact ratio"].to_dict() == pytest.approx(expected, nan_ok=True)
    failing = judge(report, rules=[Rule.of("impact_ratio < 0.9")]).failing
    assert [text.split(": ")[1] for text in failing if " town" not in text] == ["group m 0.50"]


def test_impact_ratios_at_the_limit_fail_as_seldom_as_stated():
    rng, rule, runs = np.random.default_rng(0), Rule.of("impact_ratio < 0.8"), 150
    report, failing = decided(dict.fromkeys("abcdef", 30), of=60), 0
    for _ in range(runs):  # one group at the limit of five that are alike: the best of them is so by chance
        vars(report).update(group_counts=report.group_counts.assign(selected=rng.binomial(60, [0.5] * 5 + [0.4])))
        vars(report).update(groups=report.impact_tables(0.95))
        failing += bool(judge(report, rules=[rule]).failing)
    assert failing <= binom.ppf(0.999, runs, 0.05)


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("true_positive_rate_difference > 0.05", "there are no true labels"),
        ("error_rate_difference > 0.05", "there are no true labels"),
        ("loss_ratio > 1.2", "individual fairness did not run"),
        ("correlation > 0.3", "the model returns decisions, not numbers"),
        ("demographic_parity_difference > 0.1", "it is tested on generated inputs, which decide the verdict only with"),
    ],
)
def test_a_rule_on_what_was_not_tested_is_not_judged(rule, reason):
    report = decided({"f": 40, "m": 50}).case
    case = Case(report.model, report.table, sensitive_features="group", pos_label=True)
    judged = judge(
        audit(case, methods=["rates", "themis"], budget=900, progress=False), rules=[Rule.of(rule), LARGE_GAPS]
    )
    [said] = judged.not_judged
    assert said.startswith(f"{rule}, by group: {reason}")
    assert judged.failing == []


def test_a_rule_is_not_judged_by_the_features_that_were_not_tested():
    table = people(400).assign(name=[f"person {k}" for k in range(400)])
    case = Case(lambda rows: rows["age"] > 40, table, sensitive_features=["sex", "name"], features=["age"])
    report = audit(case, methods=["rates"], progress=False)
    judged = judge(report, rules=[LARGE_GAPS, Rule.of("impact_ratio < 0.1")])
    first, second = judged.not_judged
    assert first.startswith("selection_rate_difference > 0.5, by name: group rates: name: fewer than 30 people are")
    assert second == "impact_ratio < 0.1, by name: fewer than two groups are large enough, or nobody is selected"
    assert (judged.failing, report.verdict) == ([], "undecided")


def test_impact_ratios_of_small_groups_are_judged_by_their_intervals():
    report = decided({"a": 2_500, "b": 2_450, "c": 6}, of=5_000)
    table = report.case.table.query("group != 'c' or decision").copy()  # c has six people, all selected
    few = pd.DataFrame({"group": "d", "decision": [k < 12 for k in range(100)]})
    case = Case(
        lambda rows: rows["decision"].astype(bool),
        pd.concat([table, few], ignore_index=True),
        sensitive_features="group",
        features=["decision"],
        pos_label=True,
    )
    judged = judge(audit(case, methods=["rates"], progress=False), rules=[Rule.of("impact_ratio < 0.8")])
    assert judged.failing == ["impact_ratio < 0.8: group d 0.24"]


@pytest.mark.parametrize(("n", "fails"), [(29, True), (3, False)])
def test_small_groups_are_tested_where_a_rule_asks_and_never_ruled_out(n, fails):
    table = pd.DataFrame(
        {"race": ["a", "b"] * 2_000 + ["c"] * n, "hired": [True, True, False, False] * 1_000 + [False] * n}
    )
    report = audit(Case.from_decisions(table, "hired", sensitive_features="race"), methods=["rates"])
    why = f"race: fewer than 30 people are c ({n})."
    assert report.verdict == "large differences ruled out" and f"Not compared: {why}" in report.summary
    judged = judge(report, rules=[Rule.of("selection_rate_difference > 0.1")])
    assert ([*map(len, judged.failing)] != [], judged.not_judged) == (fails, [])
    assert all("selection rate of c is 50.0 percentage points lower" in text for text in judged.failing)
    assert judge(report, require_within=True).not_judged == [why]


def test_groups_beyond_those_that_are_compared_are_not_judged():
    report = decided({f"g{k:02}": 50 for k in range(13)})
    why = "group: only the 12 largest groups are compared, not g12."
    judged = judge(report, rules=[LARGE_GAPS], require_within=True)
    assert judged.not_judged == [f"{LARGE_GAPS}, by group: group rates: {why}", why]
    assert f"Not compared: {why}" in report.summary


def labelled(n_known, *, scores=None):
    """Return decisions on three groups of 300, of which only some people of the last have a true label."""
    table = pd.DataFrame({"group": np.repeat(["f", "m", "x"], 300), "decision": np.tile([True, False, True], 300)})
    truth = pd.Series(np.tile([True, True, False], 300)).where(np.arange(900) < 600 + n_known)
    return Case.from_decisions(table, "decision", sensitive_features="group", y_true=truth, scores=scores)


@pytest.fixture
def judged_since(tmp_path):
    """Return a function that judges a report beside an earlier one, which is its baseline."""

    def judged(before, now):
        before.to_json(tmp_path / "before.json")
        return judge(now, baseline=tmp_path / "before.json")

    return judged


def test_a_group_whose_true_labels_are_not_known_is_not_judged(judged_since):
    full, part = (audit(labelled(n), methods=["rates"], progress=False) for n in (300, 0))
    rule = Rule.of("true_positive_rate_difference > 0.4")
    assert judge(full, rules=[rule], require_within=True).not_judged == []
    why = "group: fewer than 30 people are x and their true label is favourable (0)."
    said = judge(part, rules=[rule], require_within=True, baseline=None).not_judged
    assert f"{rule}, by group: group rates: {why.replace('fewer than 30', 'no')}" in said and why in said
    again = judged_since(full, part).not_judged
    assert any(text.startswith("true_positive_rate_difference by group was tested in the baseline") for text in again)
    scores = np.where(np.arange(900) < 600, 0.2, 0.9) + np.tile([0.01, 0.02], 450)  # those of x occur in x alone
    apart = audit(labelled(300, scores=scores), methods=["rates"], progress=False)
    said = judge(apart, rules=[Rule.of("calibration_difference > 0.4")]).not_judged
    assert len(said) == 1 and "calibration of x was not compared" in said[0]


def test_a_flip_rate_is_known_to_be_0_of_a_feature_that_the_model_does_not_get():
    report = audit(decided({"f": 40, "m": 50}).case, methods=["themis"], progress=False, verdict_on="all")
    rules = [Rule.of("counterfactual_flip_rate > 0.05"), Rule.of("demographic_parity_difference > 0.05")]
    assert judge(report, rules=rules).not_judged == []


def test_error_rates_of_everyone_are_tested_where_a_rule_asks():
    table = people(1_000)
    truth = np.where(table["sex"] == "man", table["age"] > 40, table["age"] > 60)  # more errors about women
    case = Case(lambda rows: rows["age"] > 40, table, sensitive_features="sex", features=["age"], y_true=truth)
    rules = [Rule.of(f"error_rate_difference > {limit}") for limit in (0.1, 0.5)]
    judged = judge(audit(case, methods=["rates"], progress=False), rules=rules)
    assert (len(judged.failing), judged.not_judged) == (1, [])
    assert re.search("error_rate_difference > 0.1.*error rate of man is", judged.failing[0])


def test_calibration_of_a_model_is_tested_where_a_rule_asks():
    table, rule = people(4_000), [Rule.of("calibration_difference > 0.05")]
    chance = expit((table["age"] - 45) / 10)
    truth = np.random.default_rng(0).random(len(table)) < np.where(table["sex"] == "man", chance, chance / 2)
    options = {"sensitive_features": "sex", "features": ["age"], "y_true": truth, "decision_threshold": 0.5}
    report = audit(Case(lambda rows: expit((rows["age"] - 45) / 10), table, **options), methods=["rates"])
    judged = judge(report, rules=rule)
    assert (len(judged.failing), judged.not_judged) == (1, [])
    assert "At equal scores the true label of man is favourable more often" in judged.failing[0]
    labels = Case(lambda rows: rows["age"] > 45, table, **options | {"decision_threshold": None})
    said = judge(audit(labels, methods=["rates"]), rules=rule).not_judged
    assert said == [f"{rule[0]}, by sex: there are decisions but no scores"]


def test_a_group_that_was_compared_in_the_baseline_and_is_gone_is_not_judged(judged_since):
    three, two = decided({"f": 40, "m": 41, "x": 42}), decided({"f": 40, "m": 41})
    assert judged_since(three, three).not_judged == []
    said = "selection_rate_difference by group was tested in the baseline but not in this audit: the table has no x"
    assert judged_since(three, two).not_judged == [said]


TWO, THREE, SOME = {"f": 300, "m": 600}, {"f": 300, "m": 600, "x": 450}, {"f": 300, "m": 600, None: 450}


@pytest.mark.parametrize(
    ("before", "now", "beginnings"),
    [
        *((before, now, []) for before in (TWO, THREE) for now in (TWO, THREE, SOME)),
        (TWO, {"f": 600, "m": 300}, ["new: "]),
        ({"a": 500, "b": 500, "c": 700}, {"a": 500, "b": 700, "c": 500}, ["new: "] * 2),  # "everyone else" is no group
        ({"a": 500, "b": 300, "c": 700}, {"a": 500, "b": 300}, []),  # then b alone, and c, differed from everyone else
        ({"f minus m": 300, "m": 600}, {"f minus m": 300, "m": 600}, []),  # names that read like a comparison
    ],
)
def test_the_same_difference_is_not_new_as_other_groups_come_and_go(judged_since, before, now, beginnings):
    judged = judged_since(decided(before, of=1_000), decided(now, of=1_000))
    assert [text[:5] for text in judged.failing] == beginnings
    assert (judged.not_judged == []) == (before.keys() <= now.keys())


def sized(method, **sizes):
    """Return the audit of as many people of each group as stated, every second one hired."""
    rows = [(group, k % 2 == 0, k % 7) for group, n in sizes.items() for k in range(n)]
    table = pd.DataFrame(rows, columns=["group", "hired", "points"])
    return audit(Case.from_decisions(table, "hired", sensitive_features="group"), methods=[method], progress=False)


@pytest.mark.parametrize("method", ["rates", "fliptest"])
def test_a_group_that_is_not_compared_any_more_is_not_judged(method, judged_since):
    many, few, none = (sized(method, f=60, m=60, **x) for x in ({"x": 40}, {"x": 8}, {}))
    ends = ("group: fewer than 30 people are x (8).", "in this audit: the table has no x")
    for now, end in zip((few, none), ends, strict=True):
        [said] = judged_since(many, now).not_judged
        assert said.endswith(end)
    assert judged_since(few, few).not_judged == []


@pytest.mark.parametrize(("before", "not_judged"), [((), 1), (("x",), 0)])
def test_a_loss_ratio_of_fewer_groups_is_not_judged(before, not_judged, judged_since):
    def audited(left_out):
        skipped = [Reason.about(f"sex: fewer than 30 people are {name} (8).", ["sex"], [name]) for name in left_out]
        ratio = finding(people(), 0.9, 1.1, measure="loss_ratio", method="individual fairness")
        return report(MethodResult("individual fairness", (ratio,), skipped, 0, 0))

    said = judged_since(audited(before), audited(["x"])).not_judged
    assert [text.endswith("individual fairness: sex: fewer than 30 people are x (8).") for text in said] == (
        [True] * not_judged
    )


def test_groups_between_given_edges_are_the_same_in_each_table(judged_since):
    def audited(*ages, edges):
        table = pd.DataFrame({"age": np.tile(ages, 40), "hired": [True, False] * (20 * len(ages))})
        case = Case.from_decisions(table, "hired", sensitive_features="age", schema={"age": {"edges": edges}})
        return audit(case, methods=["rates"], progress=False)

    young, old = range(20, 50), range(51, 81)
    [said] = judged_since(audited(*young, *old, edges=[35, 50]), audited(*young, edges=[35])).not_judged
    assert said.startswith("selection_rate_difference by age was tested in the baseline but not in this audit: the tab")


def test_a_flip_rate_through_proxies_that_are_not_varied_any_more_is_not_judged(judged_since):
    flips = finding(people(), 0.9, 0.0, method="Themis", measure="counterfactual_flip_rate", through=("job",))
    assert judged_since(report_of(CLEAR, flips), report_of(CLEAR, flips)).not_judged == []
    said = "counterfactual_flip_rate by sex through proxies was tested in the baseline but not in this audit"
    assert judged_since(report_of(CLEAR, flips), report_of(CLEAR)).not_judged == [f"{said}: no proxy was varied"]


def test_a_finding_without_a_test_against_the_limit_neither_fails_a_rule_nor_passes_it():
    report, rule = report_of(rate([400, 520], [1000, 1000], test=None)), Rule.of("selection_rate_difference > 0.5")
    said = f"{rule}, by sex: Themis tests it against 0 only"
    assert judge(report, rules=[rule]) == Judgement([], [said], [], [])
    assert judge(report, rules=[Rule.of("selection_rate_difference > 0")]).failing


def test_each_subgroup_of_a_baseline_can_be_worse(judged_since):
    def subgroups(*rates):
        wheres = ("age < 30", "age >= 50")
        return report_of(*(rate([k, 300], [500, 500], where=where) for k, where in zip(rates, wheres, strict=True)))

    judged = [judged_since(subgroups(200, 250), subgroups(*now)).failing for now in ((90, 250), (200, 90))]
    assert [[text[:16] for text in failing] for failing in judged] == [["worse than -0.2:"], ["worse than -0.1:"]]


def test_a_baseline_on_another_outcome_or_the_other_label_is_refused(judged_since):
    table = people().assign(hired=["yes", "no"] * (len(people()) // 2), paid=["no", "yes"] * (len(people()) // 2))

    def audited(name, label):
        case = Case.from_decisions(table, name, sensitive_features="sex", features=["age"], pos_label=label)
        return audit(case, methods=["rates"], progress=False)

    assert judged_since(audited("hired", "yes"), audited("hired", "yes")).not_judged == []
    for given, said in {
        ("paid", "yes"): "decisions 'paid', found 'hired'",
        ("hired", "no"): "label 'no', found 'yes'",
    }.items():
        with pytest.raises(ValueError, match=f"baseline: expected a report on the .*{said} in"):
            judged_since(audited("hired", "yes"), audited(*given))


def test_of_many_groups_those_that_the_baseline_compared_are_compared_again(judged_since):
    groups = {f"g{k:02}": 50 for k in range(14)}  # all of one size, so that the first twelve are compared
    many, last = decided(groups), decided({name: n for name, n in groups.items() if name > "g01"})
    assert judged_since(many, many).not_judged == []
    [said] = judged_since(last, many).not_judged
    assert said.endswith("in this audit: group rates: group: only the 12 largest groups are compared, not g12, g13.")


@pytest.fixture
def audits(monkeypatch):
    """Return a function that audits decisions which differ in two towns, but not in all: in full, and after rates."""

    def made(**options):
        rates = {("f", "x"): 280, ("m", "x"): 120, ("f", "y"): 120, ("m", "y"): 280}
        rows = [(*place, k < n, 1.0 + k % 2) for place, n in rates.items() for k in range(400)]
        table = pd.DataFrame(rows, columns=["sex", "town", "hired", "weight"])
        case = Case.from_decisions(table, "hired", sensitive_features="sex", features=["town"], **options)
        methods = ["rates", "fairtest", "themis"]
        full, clock = audit(case, methods=methods, progress=False), iter([0, 1, 60, 60, 60])
        with monkeypatch.context() as patch:
            patch.setattr("fairlab.auditing.audits.time", SimpleNamespace(perf_counter=lambda: next(clock)))
            return full, audit(case, methods=methods, progress=False, max_seconds=50)

    return made


def test_an_audit_without_all_its_tests_rules_nothing_out_and_passes_no_gate(audits, judged_since):
    full, cut = audits()
    said = "the seconds that the audit may take were over."
    assert (full.verdict, full.unfinished) == ("difference found", {})
    assert cut.verdict == "undecided" and cut.unfinished == {"FairTest": said}  # Themis has no model to query
    assert "but FairTest did not finish." in cut.summary and f"Not finished: FairTest: {said}" in cut.summary
    assert "Next: Repeat the audit so that FairTest can finish" in cut.summary
    rule = [Rule.of("selection_rate_difference > 0.05")]
    assert judge(full, rules=rule).failing and judge(full, rules=rule).not_judged == []
    assert judge(cut, rules=rule).not_judged == [f"{rule[0]}, by sex: FairTest did not finish: {said}"]
    assert judge(cut, require_within=True).not_judged == [f"FairTest did not finish: {said}"]
    assert judge(cut) == Judgement([], [], [], [])
    [missed] = ElementTree.fromstring(cut.to_junit()).iter("skipped")
    assert missed.get("message") == said and json.loads(cut.to_json())["unfinished"] == ["FairTest"]
    [again] = judged_since(full, cut).not_judged
    assert again.endswith(f"but not in this audit: FairTest did not finish: {said}")


def test_a_method_that_could_not_have_run_is_not_unfinished(audits):
    full, cut = audits(weights="weight")
    assert cut.unfinished == full.unfinished == {} and ("FairTest", "It needs people without weights.") in cut.skipped
    assert cut.skipped == full.skipped and judge(cut, require_within=True) == judge(full, require_within=True)


def test_subgroups_of_a_baseline_are_not_judged_by_an_audit_without_fairtest(audits, judged_since):
    full, _ = audits()
    rates = audit(full.case, methods=["rates"], progress=False)
    assert (rates.verdict, judge(rates, require_within=True).not_judged) == ("large differences ruled out", [])
    alone = audit(full.case, methods=["fairtest"], progress=False)
    assert alone.n_tests and judge(alone, rules=[LARGE_GAPS]).not_judged == [
        f"{LARGE_GAPS}, by sex: group rates did not run"  # subgroups are not everyone
    ]
    [said] = judged_since(full, rates).not_judged
    assert said.startswith("selection_rate_difference by sex in subgroups was tested in the baseline but not in")
    assert said.endswith(": FairTest did not run")


def test_a_model_that_fails_on_other_values_passes_no_gate():
    table = people(600).assign(code=lambda table: table["sex"].str[0])

    def model(rows):
        if (rows["code"] != rows["sex"].str[0]).any():
            raise RuntimeError("no such person")
        return rows["age"] % 2 == 0

    case = Case(model, table, sensitive_features="sex", features=["age", "sex", "code"])
    report = audit(case, methods=["rates", "themis", "aequitas"], progress=False, margin=0.1, within=0.3)
    assert (report.verdict, list(report.unfinished)) == ("undecided", ["Themis"])  # AEQUITAS tests nothing
    [said] = judge(report, require_within=True).not_judged
    assert said.startswith("Themis did not finish: sex: the model cannot be queried with other values; model: fails")


SMALL = {"where": "age < 30", "effect": "selection rate difference, f minus m"}


@pytest.fixture
def baseline(tmp_path):
    """A report with a difference among everyone and in a subgroup, and none by race."""
    of_all, by_race = rate([400, 500], [1000, 1000]), rate([450, 450], [1000, 1000], sensitive_features=("race",))
    report_of(of_all, by_race, rate([100, 200], [500, 500], **SMALL)).to_json(tmp_path / "before.json")
    return tmp_path / "before.json"


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (rate([410, 505], [1000, 1000]), []),
        (rate([200, 500], [1000, 1000]), ["worse than -0.1"]),
        (rate([300, 500], [1000, 1000], sensitive_features=("race",)), ["new"]),
        (rate([600, 400], [1000, 1000]), ["new"]),
        (rate([560, 480], [1000, 1000]), ["new"]),  # smaller, but against the other group
        (rate([100, 200], [500, 500], **SMALL | {"where": "age >= 50"}), []),  # for any subgroup in its direction
        (rate([200, 100], [500, 500], **SMALL | {"where": "age >= 50"}), ["new"]),
    ],
)
def test_a_baseline_fails_what_is_new_worse_or_reversed(baseline, now, said):
    assert [text.split(": ")[0] for text in judge(report_of(now), baseline=baseline).failing] == said


@pytest.mark.filterwarnings("ignore:The model gives numbers within 0 and 1")
def test_a_loss_ratio_of_other_people_is_not_new(judged_since):
    def audited(n, seed):
        table, rng = people(n, seed), np.random.default_rng(seed)
        table["job"] = np.where(rng.random(n) < 0.9, np.where(table["sex"] == "man", "smith", "cook"), "clerk")
        case = Case(
            lambda rows: expit((rows["age"] / 10 - 5 + 3 * (rows["job"] == "smith")).to_numpy(float)),
            table,
            sensitive_features="sex",
            features=["age", "job"],
        )
        return audit(case, methods=["individual_fairness"], budget=20_000, progress=False)

    again = audited(400, 1)
    assert (len(again.significant), judged_since(audited(1_000, 0), again).failing) == (1, [])


def damaged(**parts):
    """Return a function that changes parts of each finding of a report."""
    return lambda whole: json.dumps(whole | {"findings": [each | parts for each in whole["findings"]]})


@pytest.mark.parametrize(
    "change",
    [
        *(damaged(**{name: value}) for name, value in {"low": "0", "estimate": np.inf, "effect": None}.items()),
        *(damaged(significant=value) for value in ("false", np.nan)),
        lambda whole: json.dumps(whole | {"findings": {}}),
        lambda whole: json.dumps(whole | {"sensitive_features": "sex"}),
        *(lambda _, text=text: text for text in ("{}", "[]", "[" * 100_000)),
    ],
)
def test_another_file_is_no_baseline_and_a_byte_order_mark_does_not_matter(baseline, change):
    text = baseline.read_text()
    baseline.write_text(text, encoding="utf-8-sig")
    assert judge(report_of(CLEAR), baseline=baseline).failing == []
    baseline.write_text(change(json.loads(text)))
    with pytest.raises(ValueError, match="baseline: expected a report"):
        failures(report_of(CLEAR), baseline=baseline)


def test_what_the_baseline_tested_and_this_audit_did_not_is_not_judged(judged_since):
    report, lost = decided({"f": 40, "m": 50}, town={"f": "a", "m": "b"}), decided({"f": 40, "m": 50})
    few = audit(lost.case.sample(40), methods=["rates"], progress=False)
    same, gone, small = (judged_since(report, each).not_judged for each in (report, lost, few))
    said = "selection_rate_difference by town was tested in the baseline but not in this audit"
    assert (same, gone) == ([], [f"{said}: it is not a sensitive feature of this audit"])
    [by_group] = [text for text in small if "by group" in text]
    assert "fewer than 30 people are" in by_group


ENTRY = ACCEPTED | {"sensitive_features": "group", "expires": "2999-01-01"}


def accepting(names):
    """Judge a report with an acceptance of these sensitive features."""
    return judge(decided({"f": 20, "m": 50}), accepted=[Accepted.of(ENTRY | {"sensitive_features": names})])


def test_an_acceptance_of_a_ratio_of_what_was_not_judged_and_of_nothing():
    report, rule = decided({"f": 20, "m": 50}), Rule.of("impact_ratio < 0.8")
    judged = judge(report, rules=[rule], accepted=[Accepted.of(ENTRY | {"measure": RATIO})])
    said = "impact_ratio < 0.8: group f 0.40; accepted until 2999-01-01: as agreed"
    assert (judged.failing, judged.unused, judged.accepted) == ([], [], [said])
    labels = Accepted.of(ENTRY | {"measure": "true_positive_rate_difference"})
    judged = judge(report, rules=[Rule.of("true_positive_rate_difference > 0.1")], accepted=[labels])
    assert (judged.not_judged, len(judged.accepted)) == ([], 1)
    said = "accept true_positive_rate_difference by group: it matches nothing in this audit; remove it"
    assert judge(report, rules=[rule], accepted=[labels]).unused == [said]
    assert accepting("group (through zip)").accepted == []


def test_what_a_report_says_is_accepted_whatever_columns_are_called():
    table = people().rename(columns={"sex": "a and b", "job": "c (through d)"})
    hired = (table["a and b"] == "man") & (table["c (through d)"] == "clerk")
    case = Case.from_decisions(table, hired, sensitive_features=["a and b", "c (through d)"])
    found = audit(case, methods=["rates"])
    entries = [{"measure": each.measure, "sensitive_features": each.who} for each in found.significant]
    judged = judge(found, accepted=[Accepted.of(ENTRY | entry) for entry in entries])
    assert {each["sensitive_features"] for each in entries} > {"a and b", "a and b and c (through d)"}
    assert (judged.failing, judged.unused, len(judged.accepted)) == ([], [], len(entries))
    turned = Accepted.of(ENTRY | {"sensitive_features": "c (through d) and a and b"})  # no finding is called that
    with pytest.raises(ValueError, match=r"or several as a report has them, found 'c .through d. and a and b'"):
        judge(found, accepted=[turned])


@pytest.mark.parametrize(
    ("entry", "day", "failing", "accepted"),
    [
        ({"expires": "2026-11-24"}, TODAY, None, "accepted until 2026-11-24: as agreed"),
        ({"expires": "2026-11-24"}, date(2026, 11, 25), "it was accepted until 2026-11-24", None),
        ({"expires": TODAY, "where": "age < 30"}, TODAY, "", None),
    ],
)
def test_a_finding_is_accepted_with_a_reason_until_a_day(entry, day, failing, accepted):
    said = failures(report_of(CLEAR), accepted=[Accepted.of(ACCEPTED | entry)], today=day)
    for texts, end in zip(said, (failing, accepted), strict=True):
        assert [text.endswith(end) for text in texts] == ([] if end is None else [True])


@pytest.mark.parametrize(
    ("read", "given", "message"),
    [
        (Rule.of, "selection_rate_diference > 0.05", "did you mean 'selection_rate_difference'"),
        (Rule.of, "selection_rate_difference < 0.05", "expected > after selection_rate_difference"),
        (Rule.of, "impact_ratio > 0.8", "expected < after impact_ratio"),
        (Rule.of, "selection_rate_difference", "expected MEASURE > NUMBER"),
        (Rule.of, "loss_ratio > 1.2.3", "expected a number at the end"),
        (Rule.of, 3, "expected MEASURE > NUMBER"),
        (Rule.of, "loss_ratio > -1", "expected a finite number of at least 0"),
        (Rule.of, "loss_ratio > 1e999", "expected a finite number of at least 0"),
        (Rule.of, "selection_rate_difference > 5", "expected a share from 0, below 1"),
        (Rule.of, "correlation > 1", "expected a share from 0, below 1"),
        (Rule.of, "impact_ratio < 80", "expected a share above 0, up to 1"),
        (Rule.of, "impact_ratio < 0", "expected a share above 0, up to 1"),
        (lambda limit: Rule("selection_rate_difference", limit), float("nan"), "limit: expected a finite number"),
        (lambda limit: Rule("selection_rate_difference", limit), 5, "limit: expected a share from 0, below 1, found 5"),
        (lambda measure: Rule(measure, 0.05), "selection_rate", "unknown measure 'selection_rate'"),
        (lambda day: Accepted(**ACCEPTED, expires=day), "2027-01-01", "expected a date as expires"),
        (lambda rule: judge(report_of(CLEAR), rules=[rule]), "selection_rate > 0.05", "fail_on: unknown measure"),
        (
            Accepted.of,
            ACCEPTED | {"measure": "selection_rate", "expires": TODAY},
            "did you mean 'selection_rate_differ",
        ),
        (Accepted.of, ACCEPTED | {"expires": TODAY, "reason": " "}, "expected text as reason"),
        (Accepted.of, ACCEPTED | {"expires": TODAY, "where": ["everyone"]}, "expected text as where"),
        (Accepted.of, ACCEPTED | {"expires": "soon"}, "expected a date as expires"),
        (Accepted.of, ACCEPTED | {"expires": None}, "expected a date as expires"),
        *(
            (accepting, names, "expected sensitive features, group, or several")
            for names in ("grp", "group and town", "through group")
        ),
        (Accepted.of, ACCEPTED | {"mesure": "x"}, "unknown key 'mesure'; did you mean 'measure'"),
    ],
)
def test_what_is_no_rule_and_what_accepts_nothing_is_refused(read, given, message):
    with pytest.raises(ValueError, match=message):
        read(given)


CONFIG = """
model = "bank_of_guard:predict"
table = "table.csv"
sensitive-features = ["sex"]
methods = ["rates"]
fail_on = ["selection_rate_difference > 0.1"]
json = "audit.json"
"""


@pytest.fixture
def folder(here):
    """A current directory with people, a configuration and a module."""
    people(1_000).to_csv("table.csv", index=False)
    (here / "bank_of_guard.py").write_text("predict = lambda rows: rows['age'] > 45 + 25 * (rows['sex'] == 'man')\n")
    (here / "audit.toml").write_text(CONFIG)
    return here


def test_a_configuration_has_the_options_and_the_command_line_comes_first(folder, capsys):
    def run(*options):
        return main(["audit", "--config", "audit.toml", *options]), capsys.readouterr().out

    status, out = run()
    assert status == 3 and "fails: selection_rate_difference > 0.1: The selection rate of man is" in out
    assert json.loads((folder / "audit.json").read_text())["provenance"]["budget"] == 200_000
    rules = ("selection_rate_difference > 0.6", "impact_ratio > 0.6")
    assert [run("--fail-on", rule)[0] for rule in rules] == [0, 2]
    accept = '[[accept]]\nmeasure = "selection_rate_difference"\nsensitive_features = "sex"\nreason = "agreed"\n'
    (folder / "audit.toml").write_text(CONFIG + accept + "expires = 2999-01-31\n")
    status, out = run()
    said = ("accepted until 2999-01-31: agreed", "Difference found", "\nWritten to audit.json: ")
    assert (status, [text for text in said if text not in out], "FILE writes" in out) == (0, [], False)
    assert out.endswith("\npasses: no rule is violated, except for what is accepted\n")
    shutil.copy("audit.json", "before.json")
    status, out = run("--baseline", "before.json", "--fail-on", "impact_ratio < 0.01")
    assert status == 0
    assert "\npasses: no rule is violated and nothing is new or worse than in before.json\n" in out
    assert run("--fail-on", "loss_ratio > 9", "--fail-on", "impact_ratio < 0.9")[0] == 3
    (folder / "twice.toml").write_text(f'{CONFIG}fail-on = ["impact_ratio < 0.01"]\n')
    assert main(["audit", "--config", "twice.toml"]) == 2
    assert "expected each option once, found it in two spellings" in capsys.readouterr().err
    status, out = run("--fail-on", "loss_ratio > 9")
    not_judged, unused = out.splitlines()[-2:]
    assert (status, not_judged) == (4, "not judged: loss_ratio > 9, by sex: individual fairness did not run")
    assert unused.startswith("no effect: accept selection_rate_difference by sex: it matches nothing in this audit")


def test_the_recipes_of_the_guide_are_yaml_and_their_commands_run(folder):
    guide = (project().docs / "your_model.md").read_text(encoding="utf-8")
    parts, recipes = (
        re.findall(rf"^```{language}\n(.*?)^```", guide, flags=re.MULTILINE | re.DOTALL)
        for language in ("toml", "yaml")
    )
    table = pd.read_csv("table.csv").head(300)
    table["race"] = np.where(table["age"] % 2, "x", "y")
    table.assign(repaid=np.where(table["age"] > 50, "yes", "no")).to_csv("table.csv", index=False)
    model = "def predict(rows):\n    return ['yes' if age > 40 else 'no' for age in rows['age']]\n"
    (folder / "mymodule.py").write_text(model)
    (folder / "audit.toml").write_text("\n".join(parts))
    assert all(map(yaml.safe_load, recipes))
    commands = map(shlex.split, re.findall(r"fairlab (audit [^\n]*)", "".join(recipes)))
    assert [main([*command, "--budget", "1000"]) for command in commands] == [0, 0, 0]
    assert ElementTree.parse("audit.xml").getroot().tag == "testsuites"
