import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pandas as pd
import pytest
import yaml
from audited import finding, people, report
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

import fairlab
from fairlab import Case, audit, compare
from fairlab.auditing import report as module
from fairlab.auditing import wording
from fairlab.auditing.comparison import difference, gap
from fairlab.auditing.evidence import binned, shown_rows
from fairlab.auditing.impact import UNKNOWN
from fairlab.auditing.pairing import are_same_people
from fairlab.cases import MethodResult
from fairlab.cli import main


def test_the_family_is_every_finding_with_a_test_of_every_method():
    found = report()
    # Holm by hand: 0.001 * 3, 0.02 * 2, 0.9 * 1; the finding without a test does not count and is never significant.
    assert found.n_tests == 3
    assert found.corrected_p_values == pytest.approx([0.003, 0.04, 0.9, np.nan], nan_ok=True)
    assert found.is_significant.tolist() == [True, True, False, False]
    assert found.expected_false_alarms == pytest.approx(0.15)


def test_significant_findings_come_first_and_the_table_says_which():
    frame = report().to_frame()
    assert frame["method"].tolist() == ["FairTest", "FlipTest", "FlipTest", "FairTest"]
    assert frame["significant"].tolist() == [True, True, False, False]
    assert frame["raw_p_value"].tolist()[:3] == [0.001, 0.02, 0.9]
    assert repr(report()) == "Report: 2 of 3 tests are significant at 0.95; 900 queries, 2 s"


def test_a_report_of_nothing_is_a_report():
    empty = report(MethodResult("Themis", (), ("It has nothing to vary.",), 0, 0.0))
    assert empty.to_frame().empty
    assert "significant" in empty.to_frame()
    assert repr(empty) == "Report: not assessed: sex; 900 queries, 2 s"
    assert "It has nothing to vary." in empty.to_html()
    assert empty.plot() is not None


def test_columns_without_a_test_are_named_first_with_the_reasons_that_are_about_them():
    table = people()
    tested = MethodResult("FlipTest", (finding(table, 0.5),), ("race: fewer than 30 people are c (7).",), 0, 0.0)
    other = MethodResult(
        "Themis", (finding(table, np.nan, sensitive_features="age"),), ("sex: one value.", "No score."), 0, 0.0
    )
    found = report(tested, other)
    found.case.sensitive_features = ("sex", "race", "age")
    assert found.not_assessed == {
        "race": ("FlipTest: race: fewer than 30 people are c (7).", "Themis: No score."),
        "age": ("Themis: No score.",),
    }
    assert found.summary.startswith(
        "Not assessed: race and age, of which no statistical test was possible. No difference by"
    )
    text = found.to_html()
    assert (
        text.index("No difference by") < text.index("race was not assessed. FlipTest: race: few") < text.index("<h2>")
    )
    stands_for = report(
        MethodResult("Themis", (finding(table, 0.5, sensitive_features="age (through job)"),), (), 0, 0.0)
    )
    stands_for.case.sensitive_features = ("sex", "age")
    assert stands_for.not_assessed == {"sex": ()}


def test_json_holds_everything_and_no_more_than_was_asked_for(tmp_path):
    path = tmp_path / "audit.json"
    text = report().to_json(path, rows="none")
    content = json.loads(path.read_text())
    assert path.read_text() == text
    assert (content["significant"], content["findings"][3]["p_value"]) == (2, None), "JSON has no nan"
    assert content["skipped"] == [{"method": "FairTest", "reason": "Ages above 90: too few people."}]
    assert "evidence" not in text
    assert 'p3"' not in report().to_json()
    assert json.loads(report().to_json(rows="all"))["findings"][0]["evidence"][3]["row"] == "p3"


def test_the_summary_says_what_was_found_how_sure_and_what_could_not_be_seen():
    text = report().summary
    assert text == (
        "people was tested on 400 people for differences by sex: 2 of 3 tests are significant, beyond a margin of 0.5 "
        "percentage points (family-wise error rate at most 0.05). The first of them: sex, everyone: share that flips "
        "-0.3 (interval -0.35 to -0.25, by FairTest)."
    )
    silent = finding(people(), 0.5, measure="selection_rate_difference", smallest=lambda alpha, margin: 0.081)
    nothing = report(MethodResult("Themis", (silent, finding(people(), 0.7)), (), 0, 0)).summary
    assert nothing == (
        "No difference by sex beyond the margin of 0.5 percentage points could be shown for people on 400 people in "
        "any of 2 tests (family-wise error rate at most 0.05). Where it is silent, it would have found with 80% power "
        "a selection rate difference of 8.1 (sex) percentage points or more."
    )
    text = report(n_queries=1300, n_repeated=400).to_html()
    assert (
        "FlipTest and FairTest queried the model with 900 rows (at most 1,000 were allowed), and 400 rows again for "
        "the determinism check, which the budget does not count." in text
    )


def test_people_decide_the_verdict_and_generated_inputs_on_request():
    table = people()
    inputs = {"population": "generated inputs", "where": "generated inputs"}
    both = MethodResult(
        "Themis", (finding(table, 0.001, **inputs), finding(table, 0.03), finding(table, 0.6)), (), 0, 0
    )
    apart, together = report(both), report(both, verdict_on="all")
    # Holm by hand in families of two and one, or of three.
    assert apart.corrected_p_values == pytest.approx([0.06, 0.6, 0.001])
    assert together.corrected_p_values == pytest.approx([0.06, 0.6, 0.003])
    assert [finding.population for finding in apart.findings] == ["people", "people", "generated inputs"]
    assert (apart.verdict, apart.n_tests, apart.significant) == ("no difference found", 2, ())
    assert (together.verdict, together.n_tests, len(together.significant)) == ("difference found", 3, 1)
    assert "On generated inputs, which do not decide the verdict, 1 test is significant." in apart.summary


def test_tests_are_against_the_margin():
    table = people()
    tests = {0: 0.001, 0.005: 0.04, 0.05: 0.8}
    found = MethodResult("group rates", (finding(table, 0.001, test=tests.get),), (), 0, 0)
    assert [report(found, margin=margin).corrected_p_values.tolist() for margin in tests] == [[0.001], [0.04], [0.8]]


def test_the_order_is_by_kind_then_size_and_an_intersection_counts_as_it_is_proved():
    table = people()
    rates = {"measure": "selection_rate_difference"}
    parts = [
        finding(table, 0.001, 0.9, where="age < 30", **rates),
        finding(table, 0.001, 0.8, measure="counterfactual_flip_rate"),
        finding(table, 0.001, -0.2, **rates),
        finding(table, 0.001, 0.24, sensitive_features="sex and race", **rates),  # at least 0.19
        finding(table, 0.001, 0.4, sensitive_features="sex and race", **rates),
        finding(table, 0.001, 1.6, measure="loss_ratio", limit=1.25),
        finding(table, 0.9, 0.7, **rates),
    ]
    ordered = report(MethodResult("group rates", parts, (), 0, 0)).findings
    assert [finding.estimate for finding in ordered] == [0.4, -0.2, 0.24, 0.8, 1.6, 0.9, 0.7]


def test_where_it_comes_from():
    first, again = report(), report(model_name="scoring", model_version="2.1")
    assert again.provenance["model"] == "scoring"
    assert again.provenance["model_version"] == "2.1"
    assert first.provenance["table_sha256"] == again.provenance["table_sha256"]
    other = people().assign(age=1)
    assert report(table=other).provenance["table_sha256"] != first.provenance["table_sha256"]
    assert all(str(value) in first.to_html() for value in first.provenance.values())


def test_a_report_without_a_test_claims_no_certainty():
    text = report(MethodResult("Themis", (finding(people(), np.nan),), (), 0, 0)).summary
    assert text == (
        "Not assessed: no statistical test was possible, so this audit says nothing about differences by sex."
    )


def test_a_finding_without_an_interval_says_so():
    grid = finding(people(), low=np.nan, high=np.nan)
    assert wording.line(grid) == "sex, everyone: share that flips 0.2 (no interval, by FlipTest)"
    assert '<td class="number">no interval</td>' in report(MethodResult("ADF", (grid,), (), 0, 0)).to_html()
    rate = finding(people(), measure="selection_rate_difference", sentence="It differs")
    assert wording.line(rate) == "It differs (interval 15.0 to 25.0 percentage points, by FlipTest)"


VOID = {"meta", "img"}


class Tags(HTMLParser):
    """Checks that tags are closed in the order in which they were opened."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_one_whole_file_without_addresses(tmp_path):
    text = report().to_html(tmp_path / "audit.html")
    assert (tmp_path / "audit.html").read_text(encoding="utf-8") == text
    tags = Tags()
    tags.feed(text)
    assert not tags.open
    assert (tags.seen.count("img"), tags.seen.count("script")) == (1, 0)
    assert not re.search(r"""(src|href)=["'](?!data:)""", text)
    assert "http" not in text


def test_names_and_values_are_text_never_markup():
    evil = "<script>alert('x')</script>"
    table = people().assign(job=evil)
    bad = finding(table, sensitive_features=evil, where=evil, effect=evil, method=evil)
    text = report(MethodResult(evil, (bad,), (evil,), 0, 0), table=table, warnings=(evil,)).to_html(rows="all")
    assert "<script" not in text
    assert text.count("&lt;script&gt;") > 5


def test_rows_follow_what_was_asked_for():
    table = people()
    none, binned, everything = (report().to_html(rows=rows) for rows in ("none", "binned", "all"))
    assert "Rows that show it" not in none
    assert ">p3<" not in binned
    assert "astronaut" not in binned
    assert all(f"<td>p{i}</td>" in everything for i in range(10))
    made = table.head(2).reset_index(drop=True)
    made.attrs["generated"] = True
    examined = MethodResult("ADF", (finding(table, evidence=made, method="ADF"),), (), 0, 0)
    assert "2 of 2 generated inputs" in report(examined).to_html()


def test_a_panel_for_each_method_and_a_line_for_each_finding():
    figure = report().plot()
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["FlipTest", "FairTest"], "as they ran"
    assert [len(axis.get_yticks()) for axis in figure.axes] == [2, 2]


def test_what_is_left_out_is_said():
    table = people()
    many = [finding(table, 0.001, i / 100) for i in range(20)]
    figure = report(MethodResult("FlipTest", many, (), 0, 0)).plot()
    assert figure.axes[0].get_title(loc="left") == "FlipTest (8 more not shown)"


# exports

SCHEMA = json.loads((Path(module.__file__).parent / "report.schema.json").read_text(encoding="utf-8"))
STATUS = {"difference found": 3, "no difference found": 0, "not assessed": 4}


def generated_case(number):
    """Return the case of a model that is fair, prefers a group, or of which nothing can be tested."""
    rng = np.random.default_rng([number, 77])
    n = 200
    group = rng.choice(["a", "b"], n)
    if number % 5 == 0:
        group = np.where(np.arange(n) < 3, "rare", "others")
    table = pd.DataFrame({"group": group, "points": rng.integers(0, 50, n), "job": rng.choice(["x", "y"], n)})
    worth = 20 if number % 2 else 0
    features = ["points", "job"] if number % 5 == 0 else ["group", "points", "job"]

    def rule(rows):
        return rows["points"] + (worth * (rows["group"] == "a") if "group" in rows else 0) > 30

    return fairlab.Case(rule, table, sensitive_features="group", features=features)


def verdicts(found):
    """Return what each export of a report says, as verdicts."""
    content = json.loads(found.to_json())
    jsonschema.validate(content, SCHEMA)
    suite = ElementTree.fromstring(found.to_junit()).find("testsuite")
    failed, errors = (len(suite.findall(f"testcase/{kind}")) for kind in ("failure", "error"))
    assert (int(suite.get("failures")), int(suite.get("errors"))) == (failed, errors)
    assert int(suite.get("tests")) == len(suite.findall("testcase"))
    [run] = json.loads(found.to_sarif())["runs"]
    card = found.to_model_card()
    text = found.to_html()
    return {
        "JSON": content["verdict"],
        "JUnit": "not assessed" if errors else "difference found" if failed else "no difference found",
        "SARIF": "not assessed"
        if not run["invocations"][0]["executionSuccessful"]
        else "difference found"
        if any(result["level"] == "error" for result in run["results"])
        else "no difference found",
        "model card": yaml.safe_load(card.split("---")[1])["fairness_verdict"],
        "HTML": "not assessed"
        if "<h1>" in text and ": not assessed</h1>" in text
        else "difference found"
        if 'class="verdict found"' in text
        else "no difference found",
    }


def test_python_and_every_export_say_the_same_of_a_hundred_cases():
    said = []
    for number in range(100):
        found = audit(generated_case(number), methods=["rates", "themis"], budget=1_500, progress=False)
        assert set(verdicts(found).values()) == {found.verdict}, number
        said.append(found.verdict)
    assert all(said.count(verdict) >= 20 for verdict in STATUS)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_shell_says_the_same(number, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    case = generated_case(number)
    case.table.to_csv("table.csv", index=False)
    worth, name = 20 if number % 2 else 0, f"rule_{number}"
    lines = ["def predict(rows):"]
    lines += [f"    return rows['points'] + ({worth} * (rows['group'] == 'a') if 'group' in rows else 0) > 30"]
    Path(f"{name}.py").write_text("\n".join(lines))
    call = ["audit", f"{name}:predict", "table.csv", "--sensitive-features", "group", "--methods", "rates,themis"]
    files = [("--json", "a.json"), ("--junit", "a.xml"), ("--sarif", "a.sarif"), ("--model-card", "a.md")]
    features = ["--features", ",".join(case.features), "--budget", "1500"]
    status = main([*call, *features, *(part for pair in files for part in pair)])
    found = audit(case, methods=["rates", "themis"], budget=1_500, progress=False)
    assert status == STATUS[found.verdict]
    assert json.loads(Path("a.json").read_text())["verdict"] == found.verdict
    assert all(Path(path).stat().st_size for _, path in files)
    assert found.summary.split(" on ")[-1][:20] in capsys.readouterr().out


def test_names_and_values_are_text_in_every_export():
    evil = "<script>alert('|')</script>\x00 & \"'"
    bad = finding(people(), sensitive_features=evil, where="everyone", effect=evil, method=evil, sentence=evil)
    found = report(MethodResult(evil, (bad,), (evil,), 0, 0), warnings=(evil,), model_name=evil)
    suite = ElementTree.fromstring(found.to_junit()).find("testsuite")
    assert "alert('|')" in suite.find("testcase/failure").text
    assert json.loads(found.to_sarif())["runs"][0]["properties"]["model"] == evil
    card = found.to_model_card()
    assert "<script" not in card.split("---", 2)[2]
    assert yaml.safe_load(card.split("---")[1])["model_name"] == evil


def test_inputs_alone_are_a_note_and_no_failure():
    inputs = finding(people(), 1e-9, population="generated inputs", where="generated inputs")
    found = report(MethodResult("Themis", (inputs, finding(people(), 0.9)), (), 0, 0))
    [result] = json.loads(found.to_sarif())["runs"][0]["results"]
    assert result["level"] == "note"
    assert "<failure" not in found.to_junit()


def test_every_feature_without_a_test_is_an_error_of_junit():
    few = people().head(12).assign(sex=["f", "m"] * 6, race=["a", "b"] * 6, points=range(12))
    case = fairlab.Case(lambda rows: rows["points"] > 5, few, sensitive_features=["sex", "race"], features=["points"])
    found = audit(case, progress=False)
    suite = ElementTree.fromstring(found.to_junit()).find("testsuite")
    assert (found.n_tests, suite.get("errors"), len(suite.findall("testcase/error"))) == (0, "2", 2)


# evidence


def test_by_default_no_label_no_exact_number_and_no_rare_value_is_shown():
    table = people()
    of = finding(table, evidence=table.drop("p3").head(10))
    shown = shown_rows(of, table, "binned")
    assert shown.index.tolist() == list(range(6))
    assert not set(map(str, table["age"])) & set(shown["age"])
    assert shown["sex"].tolist() == of.evidence["sex"].head(6).tolist()
    rare = shown_rows(finding(table), table, "binned")
    assert rare.columns.tolist() == ["age", "sex"], "one astronaut: the job of six people is not shown"


@given(n=st.integers(30, 200), seed=st.integers(0, 99), k=st.integers(1, 4))
def test_each_row_that_is_shown_is_like_five_people_in_the_columns_that_are_shown(n, seed, k):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({f"x{i}": rng.integers(0, 3 + 40 * (i % 2), n) for i in range(k)}).assign(
        sex=rng.choice(["f", "m", "x"], n, p=[0.5, 0.45, 0.05])
    )
    shown = shown_rows(finding(table), table, "binned")
    if shown is None:
        assert (table["sex"].iloc[:6].map(table["sex"].value_counts()) < 10).any()
        return
    everyone = pd.DataFrame({name: binned(table[name], table[name]) for name in shown})
    for row in shown.itertuples(index=False):
        assert (everyone == list(row)).all(axis=1).sum() >= 5


def test_the_people_of_a_subgroup_are_shown_on_request_alone():
    table = people()
    subgroup = finding(table, where="age < 30")
    assert shown_rows(subgroup, table, "binned") is None
    assert len(shown_rows(subgroup, table, "all")) == 10


def test_nothing_or_everything_on_request():
    table = people()
    assert shown_rows(finding(table), table, "none") is None
    everything = shown_rows(finding(table), table, "all")
    assert everything["row"].tolist() == [f"p{i}" for i in range(10)]
    assert everything["age"].tolist() == table["age"].head(10).tolist()


def test_generated_inputs_have_no_labels_and_are_binned_like_people():
    table = people()
    made = table.head(3).reset_index(drop=True)
    made.attrs["generated"] = True
    of = finding(table, evidence=made)
    assert "row" not in shown_rows(of, table, "all")
    assert not set(map(str, table["age"])) & set(shown_rows(of, table, "binned")["age"])


def test_numbers_become_ranges_between_quintiles_that_do_not_tell_the_extremes():
    everyone = pd.Series(range(1, 101))
    words = binned(pd.Series([1, 20, 21, 50, 80, 100]), everyone).tolist()
    assert words == ["up to 20", "up to 20", "20 to 40", "40 to 60", "60 to 80", "above 80"]


def test_few_valued_numbers_booleans_and_missing_values_keep_their_names():
    few, ages = pd.Series([0, 1] * 50), pd.Series([np.nan, *range(100)])
    flags = pd.Series([True, None], dtype="boolean")
    assert binned(few.head(2).astype(float), few).tolist() == ["0", "1"], "whatever type the evidence has"
    assert binned(flags, pd.Series([True, False] * 50)).tolist() == ["True", "(missing)"]
    assert binned(ages, ages).iloc[0] == "(missing)"


def test_a_column_that_the_table_does_not_have_is_binned_by_itself():
    table = people()
    evidence = table.head(10).assign(counterpart=[f"p{i}" for i in range(10, 20)])
    evidence["other sex"], evidence["its score"], evidence["role"] = "man", 0.7318, "person"
    shown = shown_rows(finding(table, evidence=evidence), table, "binned")
    # Row labels of other people are labels, too; another value of a column is binned like the column.
    names = {"counterpart": "(rare)", "other sex": "man", "role": "person", "its score": "about 0.7"}
    assert {name: set(shown[name]) for name in names} == {name: {value} for name, value in names.items()}


# comparison


def case(decide, table=None, **options):
    """Return a case of a function of the table."""
    table = people() if table is None else table
    return Case(decide, table, **({"sensitive_features": "sex", "pos_label": True} | options))


def old(rows):
    return (rows["age"] > 40) & (rows["sex"] == "man")


def fair(rows):
    return rows["age"] > 40


def test_a_gap_that_is_closed_is_better_and_one_that_opens_is_worse():
    table = people()
    closing = compare(case(old), case(fair))
    [row] = closing.to_frame().to_dict(orient="records")
    men, women = ((table["age"] > 40)[table["sex"] == sex].mean() for sex in ("man", "woman"))
    assert (row["where"], row["verdict"]) == ("sex: man minus woman", "better")
    assert (row["before"], row["after"]) == (pytest.approx(men), pytest.approx(men - women))
    assert row["low"] <= row["change"] <= row["high"] < 0
    assert compare(case(fair), case(old)).to_frame()["verdict"].tolist() == ["worse"]
    assert repr(compare(case(old), case(old))) == "ModelComparison: 0 better, 0 worse and 1 no clear difference"


def test_a_gap_that_changes_its_sign_only_is_no_change():
    mirrored = compare(case(old), case(lambda rows: (rows["age"] > 40) & (rows["sex"] == "woman")))
    [row] = mirrored.to_frame().to_dict(orient="records")
    assert row["low"] < 0 < row["high"]
    assert row["verdict"] == "no clear difference"


def test_with_true_labels_errors_are_compared_for_everyone_and_each_group():
    truth = (people()["age"] > 40).to_numpy()
    frame = compare(case(old, y_true=truth), case(fair, y_true=truth)).to_frame()
    errors = frame[frame["measure"] == "error rate"][["where", "after", "verdict"]]
    assert errors.to_numpy().tolist() == [
        ["everyone", 0, "better"],
        ["sex = man", 0, "no clear difference"],
        ["sex = woman", 0, "better"],
    ]
    assert (frame["measure"] == "true positive rate difference").sum() == 1


def test_other_people_are_compared_as_independent_samples():
    other = people(seed=1).rename(lambda name: f"q{name}")
    paired, independent = compare(case(old), case(fair)), compare(case(old), case(fair, other))
    assert (paired.is_paired, independent.is_paired) == (True, False)
    assert "two independent samples" in independent.summary
    assert paired.to_frame().eval("high - low").item() < independent.to_frame().eval("high - low").item()


def test_small_groups_and_unknown_labels_are_not_compared_and_it_is_said():
    table = people()
    table.loc[["p0", "p2"], "sex"] = "unknown"
    compared = compare(case(old, table), case(fair, table))
    assert not compared.to_frame()["where"].str.startswith("sex: unknown").any()
    assert "fewer than 10 people" in compared.summary
    assert "y_true is not known in both cases" in compared.summary


@pytest.mark.parametrize("is_paired", [True, False])
def test_intervals_hold_the_true_change_of_a_gap(is_paired):
    # Rates of the first and second model in two groups: the gap shrinks from 0.3 to 0.1.
    rng = np.random.default_rng(0)
    rates, held, n_trials = {"in": (0.6, 0.5), "out": (0.3, 0.4)}, 0, 400
    for _ in range(n_trials):
        draws = {}
        for group, (first, second) in rates.items():
            shared = rng.random(60), rng.random(60)
            draws[group] = shared[0] < first, shared[0 if is_paired else 1] < second
        decisions = [np.concatenate([draws["in"][k], draws["out"][k]]) for k in (0, 1)]
        inside = [np.arange(120) < 60] * 2
        row = gap(decisions, inside, [~mask for mask in inside], is_paired=is_paired)
        held += row["low"] <= -0.2 <= row["high"]
    assert held / n_trials >= 0.94


def test_equal_gaps_are_called_different_no_more_often_than_stated():
    rng = np.random.default_rng(0)
    group = np.arange(200) < 100
    alarms = 0
    for _ in range(400):
        rates = np.where(group, 0.6, 0.4)
        decisions = [rng.random(200) < rates for _ in range(2)]
        alarms += gap(decisions, [group] * 2, [~group] * 2, is_paired=True)["p_value"] <= 0.05
    assert alarms / 400 <= 0.07


def test_a_difference_of_pairs_by_hand():
    first, second = np.array([True] * 3 + [False] * 5), np.array([False] * 2 + [True] * 6)
    gained, lost = (5 + 1) / 10, (2 + 1) / 10
    expected = gained - lost, (gained + lost - (gained - lost) ** 2) / 10
    assert difference(first, second, is_paired=True) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (lambda t: t, True),
        (lambda t: t.sample(frac=1, random_state=0), True),
        (lambda t: t.drop(columns="age"), True),
        (lambda t: t.assign(extra=1), True),
        (lambda t: t.astype({"age": float, "sex": "category"}), True),
        (lambda t: t.assign(age=t["age"] + 1), False),
        (lambda t: t.reset_index(drop=True), False),
        (lambda t: t.head(10), False),
        (lambda t: t.assign(age=t["age"].astype(float).where(t["age"] > 20)), False),
        (lambda t: t[[]].assign(other=1), False),
    ],
)
def test_the_same_people_have_the_same_labels_and_values(change, same):
    assert are_same_people(people(), change(people())) is same


def test_row_labels_that_occur_twice_are_nobodys():
    twice = pd.concat([people(), people()])
    assert not are_same_people(twice, twice)


# impact


def counts(people, selected, names=None, **more):
    return pd.DataFrame({"people": people, "selected": selected, **more}, index=names or list("abcdef")[: len(people)])


def test_rates_and_ratios_by_hand():
    table = fairlab.impact_table(counts([400, 500, 10], [120, 200, 9]))
    assert table["selection rate"].tolist() == [0.3, 0.4, 0.9]
    assert table["small"].tolist() == [False, False, True], "10 are less than 2% of 910"
    assert table["impact ratio"].tolist() == pytest.approx([0.75, 1, 2.25]), "none is compared with a small group"
    interval = binomtest(120, 400).proportion_ci(0.95)
    assert table.loc["a", ["rate low", "rate high"]].tolist() == pytest.approx([interval.low, interval.high])
    assert table.loc["a", "ratio low"] < 0.75 < table.loc["a", "ratio high"] < 1
    assert table.loc["b", ["ratio low", "ratio high"]].isna().all(), "the group that others are compared with"
    assert fairlab.impact_table(counts([400, 10], [120, 9]), smallest_share=0, smallest_size=11)["small"].tolist() == [
        False,
        True,
    ]


def test_people_of_unknown_group_are_counted_and_not_compared():
    given_names = fairlab.impact_table(
        counts([100, 100, 50], [40, 50, 50], ["f", "m", "(missing)"]), unknown=["(missing)"]
    )
    no_name = fairlab.impact_table(counts([100, 100, 50], [40, 50, 50], ["f", "m", None]))
    assert given_names["impact ratio"].tolist()[:2] == no_name["impact ratio"].tolist()[:2] == [0.8, 1]
    assert no_name.loc[UNKNOWN, "share"] == 0.2
    assert np.isnan(no_name.loc[UNKNOWN, "impact ratio"])


def test_errors_and_missing_labels_where_they_are_known():
    more = {"labelled": [60, 80], "positives": [20, 40], "true positives": [10, 30]}
    more |= {"negatives": [40, 40], "false positives": [10, 0]}
    table = fairlab.impact_table(counts([100, 100], [40, 50], **more))
    assert table["true positive rate"].tolist() == [0.5, 0.75]
    assert table["false positive rate"].tolist() == [0.25, 0]
    assert table["missing labels"].tolist() == [40, 20]
    assert "true positive rate" not in fairlab.impact_table(counts([100], [40]))


def test_nobody_selected_and_groups_of_nobody_have_no_ratio():
    table = fairlab.impact_table(counts([100, 100, 0], [0, 0, 0]))
    assert table["impact ratio"].isna().all()
    assert table["selection rate"].tolist() == [0, 0, pytest.approx(np.nan, nan_ok=True)]


@given(st.lists(st.tuples(st.integers(1, 400), st.integers(0, 400)), min_size=2, max_size=6), st.floats(0, 0.2))
def test_the_highest_ratio_of_large_groups_is_one_and_intervals_hold_the_estimate(groups, smallest_share):
    people = [n for n, _ in groups]
    table = fairlab.impact_table(counts(people, [min(k, n) for n, k in groups]), smallest_share=smallest_share)
    large = table[~table["small"]]
    if len(large) and large["selected"].any():
        assert large["impact ratio"].max() == pytest.approx(1)
    known = table.dropna(subset=["ratio low"])
    assert (known["ratio low"] <= known["impact ratio"] + 1e-9).all()
    assert (known["impact ratio"] <= known["ratio high"] + 1e-9).all()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (counts([], []), "expected one row for each group"),
        (counts([10, 10], [5, 5], ["a", "a"]), "expected each group once, found 'a' twice"),
        (counts([10], [11]), "expected at most as many selected as people, found 11 of 10 in 'a'"),
        (counts([10], [-1]), "expected numbers of at least 0 in column 'selected'"),
        (counts([10], [np.nan]), "expected numbers of at least 0 in column 'selected'"),
        (counts([10], ["5"]), "expected numbers of at least 0 in column 'selected'"),
        (counts([0], [0]), "expected some people"),
        (counts([10], [5], labelled=[11]), "expected at most as many labelled as people"),
        (pd.DataFrame({"people": [1]}), "expected a column 'selected'"),
    ],
)
def test_what_is_no_table_of_counts_is_refused(table, message):
    with pytest.raises(ValueError, match=message):
        fairlab.impact_table(table)


def test_the_table_of_an_audit_is_that_of_its_counts():
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {"sex": rng.choice(["f", "m", None], 900, p=[0.45, 0.5, 0.05]), "points": rng.integers(0, 9, 900)}
    )
    case = fairlab.Case(lambda rows: rows["points"] > 3 + (rows["sex"] == "f"), people, sensitive_features="sex")
    report = fairlab.audit(case, methods=["rates"], progress=False)
    table = report.groups["sex"]
    rates = pd.Series(case.decide()).groupby(people["sex"]).mean()
    assert table.loc["f", "impact ratio"] == pytest.approx(rates["f"] / rates["m"])
    assert np.isnan(table.loc["(missing)", "impact ratio"])
    assert f"{rates['f']:.1%}" in report.to_html()


def test_a_report_names_no_group_of_fewer_than_five_people():
    rng = np.random.default_rng(0)
    names = [f"person {k}" for k in range(200)]
    people = pd.DataFrame({"name": names, "sex": rng.choice(["f", "m"], 200), "points": rng.integers(0, 9, 200)})
    people["town"] = ["a"] * 150 + ["b"] * 47 + ["tiny"] * 3
    case = fairlab.Case(
        lambda rows: rows["points"] > 3, people, sensitive_features=["name", "sex", "town"], features=["points"]
    )
    report = fairlab.audit(case, methods=["rates"], progress=False)
    assert report.groups["name"].index.tolist() == ["(200 of fewer than 5 people)"]
    assert report.groups["town"].index.tolist() == ["a", "b", "(1 of fewer than 5 people)"]
    assert report.groups["town"]["people"].tolist() == [150, 47, 3]
    for text in (report.to_html(rows="none"), report.to_json(rows="none")):
        assert sum(name in text for name in names) <= 3, "in what was not assessed"
