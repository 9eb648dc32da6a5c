import json
import re
from collections import Counter
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pandas as pd
import pytest
import yaml
from audited import decided, finding, people, report, report_of
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from scipy.stats import binom, binomtest

from fairlab import Case, audit, compare, impact_table
from fairlab.auditing import report as module
from fairlab.auditing import wording
from fairlab.auditing.comparison import LEAST_COMPARED, are_same_people, change_bounds, gap, gap_bounds
from fairlab.auditing.evidence import binned, shown_rows
from fairlab.cases import MethodResult
from fairlab.cases.finding import Reason, decimals, percent
from fairlab.fairtest.impact import UNKNOWN


def test_every_test_of_every_method_is_corrected_and_significant_findings_come_first():
    found = report()
    # Holm by hand: 0.001 * 3, 0.02 * 2, 0.9 * 1; the finding without a test does not count and is never significant.
    rows = [("FairTest", 0.001, 0.003, True), ("FlipTest", 0.02, 0.04, True), ("FlipTest", 0.9, 0.9, False)]
    rows.append(("FairTest", np.nan, np.nan, False))
    expected = pd.DataFrame(rows, columns=["method", "raw_p_value", "p_value", "significant"])
    pd.testing.assert_frame_equal(found.to_frame()[list(expected)], expected)
    assert repr(found) == "Report: difference found (2 of 3 tests); 900 queries, 2 s"


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        ("error_rate_difference", "an error rate difference of 20.0 points"),
        ("excess_flip_rate", "20.0% flip"),
        ("correlation", "a correlation of 0.2"),
        ("", "an effect of 0.2"),
    ],
)
def test_a_fact_is_as_large_as_its_measure_says(measure, said):
    assert f"1 finding, sex ({said})." in report_of(finding(people(), measure=measure)).summary


@pytest.mark.parametrize(
    ("measure", "estimate", "ends", "said"),
    [
        ("selection_rate_difference", -0.02, (-0.14, 0.096), "-9.6 to 14.0 percentage points"),
        ("selection_rate_difference", 0.02, (-0.0, 0.14), "0.0 to 14.0 percentage points"),
        ("selection_rate_difference", -0.0003, (-0.0004, -0.0002), "0.02 to 0.04 percentage points"),
        ("calibration_difference", -0.095, (-0.132, -0.058), "5.8 to 13.2 percentage points"),
        ("demographic_parity_difference", 0.001, (0.0, 0.00131), "0.0 to 0.1 percentage points"),
        ("excess_flip_rate", 0.9998, (0.9, 1.0), "90.0 to 100.0 percentage points"),
        ("mean_difference", -2.46, (-3.36, 0.0), "0 to 3.36"),
        ("correlation", -0.12, (-0.162, -0.0755), "-0.162 to -0.0755"),
    ],
)
def test_an_interval_is_in_the_unit_and_the_direction_of_its_sentence(measure, estimate, ends, said):
    found = finding(people(), 0.9, estimate, low=ends[0], high=ends[1], measure=measure, sentence="It is lower")
    assert wording.line(found) == f"It is lower (interval {said}, by FlipTest)"


@pytest.mark.parametrize(
    ("read", "numbers", "expected"),
    [
        (percent, (0,), "0.0%"),
        (percent, (0.0004,), "0.04%"),
        (percent, (0.0006,), "0.1%"),
        (percent, (0.9996,), "99.96%"),
        (percent, (1,), "100.0%"),
        (percent, (-1e-14,), "0.0%"),
        (percent, (1 / 3,), "33.3%"),
        (decimals, (1.2512, 2, 1.25), "1.251"),
        (decimals, (1.25, 2, 1.25), "1.25"),
        (decimals, (1.2551, 2, 1.25), "1.26"),
        (decimals, (0.0004, 2, 1.25), "0.0004"),
    ],
)
def test_a_share_reads_as_none_or_all_and_a_ratio_as_its_limit_only_if_it_is(read, numbers, expected):
    assert read(*numbers) == expected


def test_of_rare_decisions_no_rate_and_no_difference_reads_as_none():
    found = audit(decided({"f": (1, 100_000), "m": (100, 100_000)}), methods=["rates"], margin=0.0)
    sentence = "The selection rate of f is 0.1 percentage points lower than that of m (0.001% and 0.1%)"
    said = (
        f"sex: {sentence} (interval 0.1 to 0.1 percentage points",
        "sex: f, selected 0.01 times as often as m.",
        "; one as large as 5 percentage points is ruled out in all of them. Next",
    )
    assert [text for text in said if text not in found.summary] == []
    assert '<td class="number">0.001%</td>' in found.to_html()


@pytest.mark.parametrize("name", ["people", "small", "selection rate", "impact ratio", "sex"])
def test_a_sensitive_feature_may_be_called_as_a_column_of_the_report(name):
    found = audit(decided({"fff": (66, 100), "mmm": (67, 100)}, [name]), methods=["rates"])
    assert re.search(rf"\| {name}(\\_)? \| people \|", found.to_model_card()) and "<td>fff</td>" in found.to_html()


def test_who_loses_is_said_by_the_features_whose_selection_rates_were_found_to_differ():
    # Both sexes are selected about as often, f more wrongly and less rightly; women of one race and men of the other
    # are selected less.
    counts = {
        ("f", "a", True): (660, 1_000),
        ("f", "a", False): (380, 1_000),
        ("m", "a", True): (740, 1_000),
        ("m", "a", False): (40, 1_000),
        ("f", "b", True): (540, 1_000),
        ("f", "b", False): (260, 1_000),
        ("m", "b", True): (860, 1_000),
        ("m", "b", False): (160, 1_000),
    }
    case = decided(counts, ["sex", "race", "good"], sensitive_features=["sex", "race"], y_true="good")
    found = audit(case, methods=["rates"])
    [fact] = found.facts
    assert fact[0].effect == "false positive rate difference, f minus m"
    [of_sex] = found.frame.query("effect == 'selection rate difference, f minus m'").itertuples()
    assert (of_sex.answer, round(of_sex.estimate, 4)) == ("ruled out", 0.01)
    assert "Who loses: sex and race: m, a, selected 0.75 times as often as f, a." in found.summary  # 780 and 1,040


# f is selected less often, by 62% and 69%, although more often in the easy department.
MOST_HARD = {("f", "hard"): (1_500, 2_600), ("m", "hard"): (330, 400), ("m", "mid"): (1_500, 2_000)}
MOST_HARD |= {("f", "easy"): (360, 400), ("m", "easy"): (240, 600)}
HALF_HARD = {("f", "hard"): (300, 1_000), ("m", "hard"): (700, 1_000)}
HALF_HARD |= {("f", "easy"): (700, 1_000), ("m", "easy"): (300, 1_000)}
IN_DEPARTMENTS = {"department = easy": 1, "department = hard": -1}


@pytest.mark.parametrize(
    ("counts", "signs", "said"),
    [
        (
            MOST_HARD,
            {"everyone": -1, **IN_DEPARTMENTS},
            "by group rates). 2 further comparisons show it, 1 of them in the other direction. Who loses",
        ),
        (HALF_HARD, IN_DEPARTMENTS, ""),  # of subgroups it is not said who loses
    ],
)
def test_comparisons_in_the_other_direction_are_said_and_who_loses_only_among_everyone(counts, signs, said):
    found = audit(decided(counts, ["sex", "department"]), methods=["rates", "fairtest"])
    assert {each.where: np.sign(each.estimate) for each in found.significant} == signs
    assert ("Who loses" in found.summary) == bool(said) and said in found.summary


def test_groups_are_told_apart_whatever_they_are_called():
    # x is selected most often, "x minus y" least.
    counts = {"x": (300, 400), "x minus y": (100, 400), "z": (200, 400)}
    found = audit(decided(counts, ["a and b"]), methods=["rates"])
    assert [each.groups for each in found.significant] == [("x", "everyone else"), ("x minus y", "everyone else")]
    assert "1 further comparison shows it. Who loses: a and b: x minus y, selected 0.33 times as often as x." in (
        found.summary
    )


@pytest.mark.parametrize("name", ["a, (missing)", "(2 of fewer than 5 people)", "((2 of fewer than 5 people))"])
def test_a_group_is_known_whatever_it_is_called(name):
    counts = dict.fromkeys([name, "c", None], (66, 100)) | {"d": (1, 2), "e": (1, 2)}
    rates = audit(decided(counts, ["race"]), methods=["rates"]).groups["race"]
    assert rates["impact ratio"].notna().sum() == 2 and rates.loc[[name, "c"], "impact ratio"].notna().all()


@pytest.mark.parametrize(("bonus", "said"), [(-8, ", in the other direction"), (8, "")])
def test_flips_against_the_group_that_is_selected_more_often_are_in_the_other_direction(bonus, said, rng):
    # Most m apply where most are selected; the rule itself takes points off m, or adds some.
    table = pd.DataFrame({"sex": ["f", "m"] * 500, "points": rng.integers(0, 100, 1_000)})
    table["easy"] = rng.random(1_000) < np.where(table["sex"] == "m", 0.8, 0.2)
    rule = lambda rows: rows["points"] + 50 * rows["easy"] + bonus * (rows["sex"] == "m") > 80  # noqa: E731
    found = audit(Case(rule, table, sensitive_features="sex"), methods=["rates", "themis"], budget=9_000)
    [[first, second]] = found.facts
    assert (first.estimate < -0.1, second.measure) == (True, "counterfactual_flip_rate")
    assert f"1 further comparison shows it{said}. Who loses" in found.summary


def test_a_model_card_shows_names_as_they_are():
    names = ["a|b\\|c", "*d* _e_ f_g `h`", "[x](http://y) ~~z~~", "&lt;b&gt; <i>", "$x^2$ \\"]
    card = audit(decided(dict.fromkeys(names, (66, 100))), methods=["rates"]).to_model_card()
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(card.split("---", 2)[2])
    rows = re.findall(r"<tr>\n<td>(.*?)</td>\n<td>100</td>", page)
    assert sorted(map(unescape, rows)) == sorted(names) and not re.search("<(em|s|a|code)>", page)


def test_findings_are_few_facts_by_what_they_are_about():
    about = [("sex",), ("race",), ("sex", "race"), ("age",), ("race",)]
    found = [finding(people(), 0.001, 0.5 - k / 10, sensitive_features=names) for k, names in enumerate(about)]
    assert [[each.sensitive_features for each in fact] for fact in report_of(*found).facts] == [
        [("sex",), ("sex", "race")],
        [("race",), ("race",)],
        [("age",)],
    ]


def test_a_report_without_findings_or_without_a_test_claims_no_certainty():
    empty = report(MethodResult("Themis", (), ("It has nothing to vary.",), 0, 0.0))
    assert empty.to_frame().to_dict("list") == {name: [] for name in report().to_frame()}
    assert repr(empty) == "Report: not assessed: sex; 900 queries, 2 s"
    assert "It has nothing to vary." in empty.to_html() and empty.plot() is not None
    assert report_of(finding(people(), np.nan)).summary == (
        "Not assessed: no statistical test was possible, so this audit says nothing about differences by sex."
    )


def test_columns_without_a_test_are_named_first_with_the_reasons_that_are_about_them():
    def of(sensitive_features, *results):
        found = report(*(MethodResult(name, (each,), reasons, 0, 0.0) for name, each, reasons in results))
        found.case.sensitive_features = sensitive_features
        return found

    table = people()
    few = Reason.about("race: fewer than 30 people are c (7), or of that age.", ["race"])
    tested = ("FlipTest", finding(table, 0.5), (few,))
    one = Reason.about("sex: one value.", ["sex"])
    untested = ("Themis", finding(table, np.nan, sensitive_features=("age",)), (one, "No score."))
    stands_for = ("Themis", finding(table, 0.5, sensitive_features=("age",), through=("job",)), ())
    found = of(("sex", "race", "age"), tested, untested)
    assert [each.not_assessed for each in (found, of(("sex", "age"), stands_for))] == [
        {
            "race": ("FlipTest: race: fewer than 30 people are c (7), or of that age.", "Themis: No score."),
            "age": ("Themis: No score.",),
        },
        {"sex": ()},
    ]
    assert " Not assessed: no statistical test was possible for race and age. Comparisons:" in found.summary
    suite = ElementTree.fromstring(of(("race", "age"), untested).to_junit()).find("testsuite")
    assert (suite.get("errors"), len(suite.findall("testcase/error"))) == ("2", 2)
    said = ("Undecided", "<dt>Not assessed</dt><dd>no statistical", "race was not assessed. FlipTest: race: few")
    assert sorted(said, key=found.to_html().index) == list(said)


def test_json_holds_everything_and_no_more_than_was_asked_for(tmp_path):
    texts = {rows: report().to_json(tmp_path / rows, rows=rows) for rows in ("none", "binned", "all")}
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == texts
    assert ("evidence" in texts["none"], 'p3"' in texts["binned"]) == (False, False)
    content = json.loads(texts["all"])
    assert (content["findings"][0]["evidence"][3]["row"], content["findings"][3]["p_value"]) == ("p3", None), "no nan"
    assert content["skipped"] == [{"method": "FairTest", "reason": "Ages above 90: too few people."}]


def test_the_summary_says_what_was_found_how_sure_and_what_could_not_be_seen():
    assert report(model_name="scoring").summary == (
        "Difference found: scoring, tested on 400 people for differences by sex: 1 finding, sex (seen by 2 methods). "
        "sex: sex, everyone: share that flips -0.3 (interval -0.35 to -0.25, by FairTest). 1 further comparison "
        "shows it. Comparisons: a difference of more than 0.5 percentage points is found in 2 of 3 comparisons "
        "(family-wise error rate at most 5%); one as large as 5 percentage points is ruled out in 0; 1 is undecided. "
        "Next: Look at the people or inputs behind this finding."
    )
    silent, large = (
        finding(people(), 0.5, measure="selection_rate_difference", smallest=lambda alpha, margin, size=size: size)
        for size in (0.081, 0.02)
    )
    one, two = (report_of(silent, other).summary for other in (finding(people(), 0.7), large))
    assert one.startswith(
        "Undecided: people, tested on 400 people for differences by sex: no difference of more than 0.5 percentage "
        "points was found, but "
    )
    said = (
        "Could be missed: a selection rate difference below 8.1 points (sex) would be detected with less than 80% power"
    )
    assert (f"{said}. " in one, f"{said} in at least one comparison. " in two) == (True, True)
    assert (
        "FlipTest and FairTest queried the model with 900 rows (at most 1,000 were allowed), and 400 rows again for "
        "the determinism check, which the budget does not count." in report(n_queries=1300, n_repeated=400).to_html()
    )


def test_a_page_explains_the_methods_that_did_something_and_parts_findings_from_the_rest():
    ran = MethodResult("FlipTest", [finding(people())], (), 0, 0.0, description="FlipTest matches people.")
    skipped = MethodResult("Themis", (), ("It has nothing to vary.",), 0, 0.0, description="Themis counts flips.")
    page, silent = (report(*results).to_html() for results in ([ran, skipped], [skipped]))
    assert "FlipTest matches people." in page and "Themis counts flips." not in page
    assert (page.count("<h2>The rest of the audit</h2>"), silent.count("<h2>")) == (1, 0)


def test_people_decide_the_verdict_and_generated_inputs_on_request():
    inputs = finding(people(), 0.001, population="generated inputs", where="generated inputs")
    found = inputs, finding(people(), 0.03), finding(people(), 0.6)
    apart, together = report_of(*found), report_of(*found, verdict_on="all")
    # Holm by hand in families of two and one, or of three.
    assert [
        (each.verdict, each.n_tests, len(each.significant), each.frame["p_value"].tolist())
        for each in (apart, together)
    ] == [
        ("undecided", 2, 0, pytest.approx([0.06, 0.6, 0.001])),
        ("difference found", 3, 1, pytest.approx([0.06, 0.6, 0.003])),
    ]
    assert [finding.population for finding in apart.findings] == ["people", "people", "generated inputs"]
    assert "Generated inputs: 1 difference was found on generated inputs, which do not" in apart.summary
    assert "<failure" not in apart.to_junit()


def test_the_order_is_by_kind_then_size_and_an_intersection_counts_as_it_is_proved():
    rates = {"measure": "selection_rate_difference"}
    parts = [
        (0.001, 0.9, {"where": "age < 30", **rates}),
        (0.001, 0.8, {"measure": "counterfactual_flip_rate"}),
        (0.001, -0.2, rates),
        (0.001, 0.24, {"sensitive_features": ("sex", "race"), **rates}),  # at least 0.19
        (0.001, 0.4, {"sensitive_features": ("sex", "race"), **rates}),
        (0.001, 1.6, {"measure": "loss_ratio", "limit": 1.25}),
        (0.9, 0.7, rates),
    ]
    found = [finding(people(), p_value, estimate, **changes) for p_value, estimate, changes in parts]
    assert report_of(*found).to_frame()["estimate"].tolist() == [0.4, -0.2, 0.24, 0.8, 1.6, 0.9, 0.7]


def test_where_it_comes_from():
    first, again = report(), report(model_name="scoring", model_version="2.1")
    assert again.provenance == first.provenance | {"model": "scoring", "model_version": "2.1"}
    other = report(table=people().assign(age=1)).provenance
    assert {name for name in other if other[name] != first.provenance[name]} == {"table_sha256"}
    assert [value for value in first.provenance.values() if str(value) not in first.to_html()] == []


def test_the_page_is_one_whole_file_without_addresses(tmp_path):
    text = report().to_html(tmp_path / "audit.html")
    assert (tmp_path / "audit.html").read_text(encoding="utf-8") == text
    opened, closed = (Counter(re.findall(rf"<{slash}([a-z]\w*)", text)) for slash in ("", "/"))
    assert (opened - closed, closed - opened) == ({"meta": opened["meta"], "img": 1}, {})
    assert not re.search(r"""(src|href)=["'](?!data:)|http|<script""", text)


def test_names_and_values_are_text_in_every_export(tmp_path):
    bad, lone = "\x00\x01\ufdd0\ufdef\ufffe\uffff\U0001fffe\U0010ffff", "\ud800 \udfff"  # no lone one in pandas
    evil = f"<script>alert('|')</script> & \"'{bad}"
    of_it = finding(people(), sensitive_features=(evil,), where="everyone", effect=evil, method=evil, sentence=evil)
    changes = {"table": people().assign(job=evil), "warnings": (evil + lone,), "model_name": evil + lone}
    found = report(MethodResult(evil, (of_it,), (evil,), 0, 0), **changes)
    for write in (found.to_junit, found.to_html, found.to_json, found.to_model_card):
        write(tmp_path / write.__name__)
    junit, page, written, card = (
        (tmp_path / f"to_{kind}").read_bytes().decode("utf-8") for kind in ("junit", "html", "json", "model_card")
    )
    suite, content = ElementTree.fromstring(junit).find("testsuite"), json.loads(written)
    assert ("<script" in page, page.count("&lt;script&gt;") > 5, "<script" in card.split("---", 2)[2]) == (
        False, True, False
    )  # fmt: skip
    assert suite.find("testcase/failure").text.startswith(evil.removesuffix(bad) + 8 * "\ufffd")
    for text in (suite.get("name"), page, card):
        assert (8 * "\ufffd" + "\ufffd \ufffd" in text, set(bad) & set(text)) == (True, set())
    assert (content["findings"][0]["sensitive_features"], content["provenance"]["model"]) == (evil, evil + lone)
    assert yaml.safe_load(card.split("---")[1])["model_name"].startswith("<script>alert('|')")


def test_rows_follow_what_was_asked_for():
    none, binned, everything = (report().to_html(rows=rows) for rows in ("none", "binned", "all"))
    assert ("Example rows</summary>" in none, ">p3<" in binned, "astronaut" in binned) == (False, False, False)
    assert all(f"<td>p{i}</td>" in everything for i in range(10))
    made = people(2).reset_index(drop=True)
    made.attrs["generated"] = True
    of_inputs = finding(people(), evidence=made, method="ADF")
    assert "2 of 2 generated inputs" in report_of(of_inputs, method="ADF").to_html()
    assert "row" not in shown_rows(of_inputs, people(), "all"), "they have no labels"
    # By default six rows without labels and exact numbers; one is an astronaut, so that the jobs are not shown.
    shown, by_default = (shown_rows(each, people(), "binned") for each in (of_inputs, finding(people())))
    assert not set(map(str, people()["age"])) & {*shown["age"], *by_default["age"]}
    assert by_default.drop(columns="age").to_dict() == {"sex": dict(enumerate(people()["sex"].head(6)))}


def test_a_panel_for_each_method_and_a_line_for_each_finding_but_for_what_is_said_to_be_left_out():
    many = report_of(*(finding(people(), 0.001, i / 100) for i in range(20)), method="FlipTest")
    assert [
        [(axis.get_title(loc="left"), len(axis.get_yticks())) for axis in found.plot().axes]
        for found in (report(), many)
    ] == [[("FlipTest", 2), ("FairTest", 2)], [("FlipTest (8 more not shown)", 12)]], "as they ran"


# exports

SCHEMA = json.loads((Path(module.__file__).parent / "report.schema.json").read_text(encoding="utf-8"))


def generated_case(number):
    """Return the case of a model that is fair, prefers a group, or of which nothing can be tested; some are large."""
    rng, n = np.random.default_rng([number, 77]), 40_000 if number % 10 == 8 else 200
    untestable, worth = number % 5 == 0, 20 if number % 2 else 0
    group = rng.choice(["a", "b"], n)
    group = np.where(np.arange(n) < 3, "rare", "others") if untestable else group
    table = pd.DataFrame({"group": group, "points": rng.integers(0, 50, n), "job": rng.choice(["x", "y"], n)})

    return Case(
        lambda rows: rows["points"] + (worth * (rows["group"] == "a") if "group" in rows else 0) > 30,
        table,
        sensitive_features="group",
        features=list(table)[untestable:],
    )


def verdicts(found):
    """Return what each export of a report says, as verdicts."""
    content, page = json.loads(found.to_json()), found.to_html()
    jsonschema.validate(content, SCHEMA)
    suite = ElementTree.fromstring(found.to_junit()).find("testsuite")
    counts = {
        name: len(suite.findall(path))
        for name, path in {"failures": "testcase/failure", "errors": "testcase/error", "tests": "testcase"}.items()
    }
    assert {name: int(suite.get(name)) for name in counts} == counts
    said = {each.get("name"): each.get("value") for each in suite.iter("property")}
    answers = [each.text for each in suite.iterfind("testcase/system-out")]
    counted = {each: sum(text.startswith(each) for text in answers) for each in ("found", "ruled out", "undecided")}
    assert counted == content["answers"] == found.answers
    assert said["answers"] == ", ".join(f"{n} {answer}" for answer, n in counted.items())
    return {
        "JSON": content["verdict"],
        "JUnit": "not assessed" if counts["errors"] else "difference found" if counts["failures"] else said["verdict"],
        "model card": yaml.safe_load(found.to_model_card().split("---")[1])["fairness_verdict"],
        "HTML": "not assessed"
        if "<h1>" in page and ": not assessed</h1>" in page
        else "difference found"
        if 'class="verdict found"' in page
        else "large differences ruled out"
        if 'class="verdict within"' in page
        else "undecided",
        "its word": re.search('<p class="word">(.*?)</p>', page)[1].lower(),
    }


@pytest.mark.parametrize("number", [*range(10), *(pytest.param(k, marks=pytest.mark.slow) for k in range(10, 100))])
def test_python_and_every_export_say_the_same(number):
    found = audit(generated_case(number), methods=["rates"], budget=80_000, progress=False)
    fair = "large differences ruled out" if number % 10 == 8 else "undecided"
    expected = "not assessed" if number % 5 == 0 else "difference found" if number % 2 else fair
    assert {found.verdict, *verdicts(found).values()} == {expected}


# evidence


PLAIN, ADDED = ("x0", "x1", "x2", "x3"), ("role", "other debts", "match", "other sex")  # some as methods call theirs


@settings(max_examples=40)
@given(n=st.integers(30, 200), seed=st.integers(0, 99), k=st.integers(1, 4), names=st.sampled_from([ADDED, PLAIN]))
def test_each_row_that_is_shown_is_like_five_people_in_the_columns_that_are_shown(n, seed, k, names):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({names[i]: rng.integers(0, 3 + 40 * (i % 2), n) for i in range(k)}).assign(
        sex=rng.choice(["f", "m", "x"], n, p=[0.5, 0.45, 0.05])
    )
    shown = shown_rows(finding(table), table, "binned")
    if shown is None:
        assert (table["sex"].iloc[:6].map(table["sex"].value_counts()) < 10).any()
        return
    everyone = pd.DataFrame({name: binned(table[name], table[name]) for name in shown})
    for row in shown.itertuples(index=False):
        assert (everyone == list(row)).all(axis=1).sum() >= 5


@pytest.mark.parametrize("where", ["everyone", "age < 30"])
def test_everything_on_request_and_people_of_a_subgroup_only_so(where):
    table, expected = people(), people().head(10).rename_axis("row").reset_index()
    of = finding(table, where=where)
    pd.testing.assert_frame_equal(shown_rows(of, table, "all"), expected)
    assert shown_rows(of, table, "none") is None
    assert (shown_rows(of, table, "binned") is None) == (where == "age < 30")


def test_what_evidence_adds_takes_no_column_of_the_table():
    names = ["favourable", "other sex", "match", "row"]
    table = people().assign(**{name: [f"{name} {k % 3}" for k in range(400)] for name in names})
    audited = audit(case(lambda rows: rows["sex"] == "man", table), methods=["fliptest", "themis"])
    shown = [each.evidence for each in audited.findings if each.population == "people" and len(each.evidence)]
    assert len(shown) >= 2
    for rows in shown:
        pd.testing.assert_frame_equal(rows[names], table.loc[rows.index, names], check_dtype=False)
        assert rows["favourable_"].isin([True, False]).all()
    json.loads(audited.to_json(rows="all"))


AGES = pd.Series([np.nan, *range(100)])


@pytest.mark.parametrize(
    ("values", "everyone", "words"),
    [
        (
            [1, 20, 21, 50, 80, 100],
            pd.Series(range(1, 101)),
            ["up to 20", "up to 20", "20 to 40", "40 to 60", "60 to 80", "above 80"],
        ),
        ([0.0, 1.0], pd.Series([0, 1] * 50), ["0", "1"]),  # whatever type the evidence has
        (pd.array([True, None], dtype="boolean"), pd.Series([True, False] * 50), ["True", "(missing)"]),
        (AGES[:2], AGES, ["(missing)", "up to 19"]),
    ],
)
def test_numbers_are_shown_as_ranges_between_quintiles_and_few_values_by_name(values, everyone, words):
    assert binned(pd.Series(values), everyone).tolist() == words


def test_a_column_that_the_table_does_not_have_is_binned_by_itself():
    evidence = people(10).assign(counterpart=[f"p{i}" for i in range(10, 20)])
    evidence[["other sex", "its score", "role"]] = "man", 0.7318, "person"
    evidence.attrs["others"] = {"other sex": "sex"}
    shown = shown_rows(finding(people(), evidence=evidence), people(), "binned")
    # Row labels of other people are labels, too; another value of a column is binned like the column.
    names = {"counterpart": "(rare)", "other sex": "man", "role": "person", "its score": "about 0.7"}
    assert {name: set(shown[name]) for name in names} == {name: {value} for name, value in names.items()}


# comparison


def case(decide, table=None, **options):
    """Return a case of a function of the table."""
    table = people() if table is None else table
    return Case(decide, table, **({"sensitive_features": "sex", "pos_label": True} | options))


def fair(rows):
    return rows["age"] > 40


def old(rows):
    return fair(rows) & (rows["sex"] == "man")


def test_a_gap_that_is_closed_is_better_and_one_that_opens_is_worse():
    men, women = fair(people()).groupby(people()["sex"]).mean()[["man", "woman"]]
    closed, opened, same, turned = (
        compare(case(before), case(after))
        for before, after in (
            (old, fair),
            (fair, old),
            (old, old),
            (old, lambda rows: fair(rows) & (rows["sex"] == "woman")),  # a gap that changes its sign only
        )
    )
    [[better], [worse], [mirrored]] = (each.to_frame().to_dict("records") for each in (closed, opened, turned))
    assert [each["verdict"] for each in (better, worse, mirrored)] == ["better", "worse", "undecided"]
    assert (better["where"], better["before"], better["after"]) == (
        "sex: man minus woman", pytest.approx(men), pytest.approx(men - women)
    )  # fmt: skip
    assert better["low"] <= better["change"] <= better["high"] < 0
    assert mirrored["low"] < 0 < mirrored["high"]
    assert repr(same) == "ModelComparison: 0 better, 0 worse, 1 ruled out and 0 undecided"
    direction = "In the other direction: selection rate difference, sex: man minus woman, from 0."
    others = "Among the others, a change as large as 5 percentage points is ruled out in 0 and undecided in 1."
    assert (direction in turned.summary, others in turned.summary) == (True, True)
    assert not re.search("other direction|Among the others", closed.summary)
    assert "The change of a difference between groups is the change in its absolute value." in closed.summary
    assert "y_true is not known in both cases" in closed.summary


def test_with_true_labels_errors_are_compared_for_everyone_and_each_group():
    truth = fair(people()).to_numpy()
    rows = compare(case(old, y_true=truth), case(fair, y_true=truth)).to_frame()
    errors = rows.loc[rows["measure"] == "error rate", ["where", "after", "verdict"]]
    assert errors.to_numpy().tolist() == [
        ["everyone", 0, "better"],
        ["sex = man", 0, "ruled out"],
        ["sex = woman", 0, "better"],
    ]
    assert rows["measure"].tolist().count("true positive rate difference") == 1


def test_a_few_changed_rows_of_the_same_labels_are_said():
    table = people()
    changed = table.assign(age=table["age"].where(np.arange(len(table)) != 3, 99))
    compared = compare(case(old, table), case(fair, changed))
    said = f"People one by one: row labels are the same, but age differs in 1 of {len(table):,} rows"
    assert not compared.is_paired and said in " ".join(compared.not_compared)
    others = compare(case(old, table), case(fair, people(seed=1)))
    assert not any("row labels are the same" in text for text in others.not_compared)


@pytest.mark.parametrize("is_paired", [True, False])
def test_every_interval_holds_its_estimate_within_the_range(is_paired):
    rng, seen = np.random.default_rng(0), []
    for shares in [(0, 1), (1, 0), (0, 0), (1, 1), *rng.choice([0, 0.1, 0.5, 0.9, 1], (20, 2))]:
        table = people(24).assign(first=rng.random(24) < shares[0], second=rng.random(24) < shares[1])
        other = table if is_paired else table.reset_index()
        truth = np.append([True, False], np.ones(22, dtype=bool) if rng.random() < 0.5 else rng.random(22) < 0.5)
        cases = case(lambda t: t["first"], table, y_true=truth), case(lambda t: t["second"], other, y_true=truth)
        seen.append(compare(*cases).to_frame())
    rows = pd.concat(seen)
    assert rows.eval("low <= change <= high").all()
    assert rows[["low", "change", "high"]].abs().max().max() <= 1
    assert rows["change"].min() < -0.8, "changes that the plain interval would not hold"


def test_other_labels_of_the_same_people_are_refused_and_missing_ones_left_out():
    truth = pd.Series(np.random.default_rng(0).random(400) < 0.5, people().index)
    exchanged = truth.copy()  # as many of each kind
    exchanged[[*truth[truth].index[:40], *truth[~truth].index[-40:]]] ^= True
    message = "expected the y_true of case_a, since the people are the same, found other labels of 80 of 400"
    for table in (people(), people().iloc[::-1]):
        with pytest.raises(ValueError, match=message):
            compare(case(fair, y_true=truth), case(old, table, y_true=exchanged.reindex(table.index)))
    some = truth.astype(object).where(people()["age"] < 60, None)
    compared = compare(case(fair, y_true=truth), case(old, y_true=some)).to_frame()
    assert compared.query("where == 'everyone'")["n"].item() == (people()["age"] < 60).sum()


def labelled(labels):
    """Return a case of a model that gives the second label to people above 40, its favourable one."""
    labels = np.array(labels)
    return case(lambda rows: np.where(rows["age"] > 40, *labels[::-1]), pos_label=labels.tolist()[1])


@pytest.mark.parametrize(("second", "is_said"), [(("0", "1"), True), ((False, True), False), (("no", "yes"), True)])
def test_favourable_labels_of_other_kinds_are_taken_as_the_same(second, is_said):
    assert ("taken to mean the same" in compare(labelled((0, 1)), labelled(second)).summary) is is_said


@pytest.mark.parametrize(("n", "is_compared"), [(9, False), (10, True)])
def test_groups_of_at_least_ten_are_compared_and_of_the_others_it_is_said(n, is_compared):
    table = people().assign(sex=lambda rows: ["unknown"] * n + [*rows["sex"].iloc[n:]])
    compared = compare(*(case(decide, table, y_true=fair(table).to_numpy()) for decide in (old, fair)))
    rows = compared.to_frame()[["measure", "where"]].to_numpy().tolist()
    rate, gap = "selection rate difference", "sex: unknown minus all others"
    assert [[rate, gap] in rows, ["error rate", "sex = unknown"] in rows] == [is_compared] * 2
    said = f"{rate}, {gap}, with fewer than 10 people in a group.", "sex = unknown, with fewer than 10 people."
    assert [text in compared.not_compared for text in said] == [not is_compared] * 2


def gaps(first, second, *, is_paired, share_draws, n=300):
    """Yield the decisions of two models in two groups of 60, by their rates."""
    rng, inside = np.random.default_rng(0), np.arange(120) < 60
    for _ in range(n):
        draws = rng.random((2, 120))
        decisions = [draws[0] < np.where(inside, *first), draws[0 if share_draws else 1] < np.where(inside, *second)]
        yield [[each[some] for each in decisions] for some in (inside, ~inside)], is_paired


def bounds_of(pairs):
    """Return the bounds of the change of each gap."""
    return np.array([gap_bounds(*groups, 0.95, is_paired=is_paired) for groups, is_paired in pairs]).T


@pytest.mark.parametrize("is_paired", [True, False])
@pytest.mark.parametrize(
    ("first", "second", "change"),
    [((0.6, 0.3), (0.5, 0.4), -0.2), ((0.5, 0.5), (0.6, 0.3), 0.3), ((0.5, 0.4), (0.4, 0.9), 0.4)],
)
def test_intervals_hold_the_true_change_of_a_gap(first, second, change, is_paired):
    low, high = bounds_of(gaps(first, second, is_paired=is_paired, share_draws=is_paired))
    assert ((low <= change) & (change <= high)).mean() >= binom.ppf(0.01, len(low), 0.95) / len(low)


@pytest.mark.parametrize("is_paired", [True, False])
@pytest.mark.parametrize("second", [(0.6, 0.4), (0.4, 0.6)])
def test_equal_gaps_are_called_different_no_more_often_than_stated(second, is_paired):
    low, high = bounds_of(gaps((0.6, 0.4), second, is_paired=is_paired, share_draws=False))
    assert ((low > 0) | (high < 0)).mean() <= binom.ppf(0.99, len(low), 0.05) / len(low)


@pytest.mark.parametrize("second", [(0.5, 0.4), (0.3, 0.6), (0.4, 0.4)])
def test_a_gap_is_called_different_where_its_interval_leaves_out_no_change(second):
    pairs = gaps((0.6, 0.3), second, is_paired=False, share_draws=False, n=40)
    found = pd.DataFrame([gap(*groups, is_paired=is_paired) for groups, is_paired in pairs])
    is_other = found["p_value"] <= 0.05
    assert 0 < is_other.sum() < len(found)
    assert (is_other == ((found["low"] > 0) | (found["high"] < 0))).all()


@pytest.mark.parametrize("alpha", [0.05, 0.0025, 0.0005])
@pytest.mark.parametrize("n", [LEAST_COMPARED, 100])
def test_equal_rates_of_a_small_sample_and_a_large_one_seldom_differ_at_any_level(n, alpha):
    """A group of few people in the newer table, of many in the older one: all numbers of hits are enumerated."""
    many, is_odd = 10_000, []
    for rate in (0.04, 0.1, 0.2):
        first, hits = np.arange(many) < rate * many, np.arange(n + 1)
        both = [change_bounds(first, np.arange(n) < k, 1 - alpha, is_paired=False) for k in hits]
        is_odd.append(binom.pmf(hits, n, rate)[[low > 0 or high < 0 for low, high in both]].sum())
    assert max(is_odd) <= alpha


@pytest.mark.parametrize("alpha", [0.05, 0.0025, 0.0005])
def test_a_change_of_the_margin_is_seldom_ruled_out_at_any_level(alpha):
    """Of 100 people each gains with a chance of 5%, and nobody loses."""
    ruled_out = []
    for hits in range(101):
        ends = change_bounds(np.zeros(100, dtype=bool), np.arange(100) < hits, 1 - 2 * alpha, is_paired=True)
        ruled_out.append(max(map(abs, ends)) < 0.05)
    assert binom.pmf(np.arange(101), 100, 0.05)[ruled_out].sum() <= alpha


def test_bounds_of_a_change_of_many_people_are_those_of_normal_estimates(rng):
    first, second = rng.random(20_000) < 0.4, rng.random(20_000) < 0.5
    for is_paired in (True, False):
        error = np.std(1.0 * second - first) if is_paired else np.sqrt(first.var() + second.var())
        estimate, half = second.mean() - first.mean(), 1.96 * error / np.sqrt(20_000)
        ends = change_bounds(first, second, 0.95, is_paired=is_paired)
        assert ends == pytest.approx((estimate - half, estimate + half), abs=0.03 * half)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (lambda t: t, True),
        (lambda t: t.sample(frac=1, random_state=0), True),
        (lambda t: t.drop(columns="age"), True),
        (lambda t: t.assign(extra=1), True),
        (lambda t: t.astype({"age": float, "sex": "category"}), True),
        (lambda t: t.assign(age=t["age"] + 1), False),
        (lambda t: t.astype({"pay": "float32"}), True),
        (lambda t: t.astype({"pay": "Float32"}), True),
        (lambda t: t.reset_index(drop=True), False),
        (lambda t: t.head(10), False),
        (lambda t: t.assign(age=t["age"].astype(float).where(t["age"] > 20)), False),
        (lambda t: t[[]].assign(other=1), False),
        (lambda t: pd.concat([t, t]), False),  # row labels that occur twice are nobody's
    ],
)
def test_the_same_people_have_the_same_labels_and_values(change, same):
    table = people().assign(pay=np.arange(len(people())) / 3)
    assert are_same_people(table, change(table)) is same


# impact


def counts(people, selected, names=None, **more):
    return pd.DataFrame({"people": people, "selected": selected, **more}, index=names or list("abcdef")[: len(people)])


def test_rates_and_ratios_by_hand():
    table = impact_table(counts([400, 500, 10], [120, 200, 9]))
    # 10 are less than 2% of 910, and none is compared with a small group.
    assert table[["selection rate", "small", "impact ratio"]].to_numpy().tolist() == [
        [0.3, False, pytest.approx(0.75)],
        [0.4, False, 1],
        [0.9, True, pytest.approx(2.25)],
    ]
    interval = binomtest(120, 400).proportion_ci(0.95)
    assert table.loc["a", ["rate low", "rate high"]].tolist() == pytest.approx([interval.low, interval.high])
    assert table.loc["a", "ratio low"] < 0.75 < table.loc["a", "ratio high"] < 1
    assert table.loc["b", ["ratio low", "ratio high"]].isna().all(), "the group that others are compared with"
    by_size = impact_table(counts([400, 10], [120, 9]), smallest_share=0, smallest_size=11)
    assert by_size["small"].tolist() == [False, True]


LABELS = {
    "labelled": [60, 80],
    "positives": [20, 40],
    "true positives": [10, 30],
    "negatives": [40, 40],
    "false positives": [10, 0],
}


@pytest.mark.parametrize(
    ("given", "options", "expected"),
    [
        *(
            (counts([100, 100, 50], [40, 50, 50], ["f", "m", name]), options, {"impact ratio": [0.8, 1, np.nan]})
            for name, options in (("(missing)", {"unknown": ["(missing)"]}), (None, {}))
        ),
        (
            counts([100, 100], [40, 50], **LABELS),
            {},
            {"true positive rate": [0.5, 0.75], "false positive rate": [0.25, 0], "missing labels": [40, 20]},
        ),
        (
            counts([100, 100, 0], [0, 0, 0]),
            {},
            {"impact ratio": [np.nan] * 3, "selection rate": [0, 0, np.nan]},
        ),
    ],
)
def test_unknown_groups_labels_and_groups_of_nobody(given, options, expected):
    table = impact_table(given, **options)
    pd.testing.assert_frame_equal(table[list(expected)], pd.DataFrame(expected, table.index), check_dtype=False)
    assert ("true positive rate" in table) == ("labelled" in given)
    assert (table["share"] == given["people"].to_numpy() / given["people"].sum()).all()
    assert set(table.index) <= {*given.index, UNKNOWN}


def test_a_missing_name_in_one_of_several_levels_is_unknown_too():
    names = pd.MultiIndex.from_tuples([("f", "a"), ("m", "a"), ("m", np.nan), ("m", "declined")])
    table = impact_table(counts([100] * 4, [40, 50, 90, 80]).set_axis(names), unknown=["declined"])
    expected = {"f, a": 0.8, "m, a": 1, "m, (unknown)": np.nan, "m, declined": np.nan}
    assert table["impact ratio"].to_dict() == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "Int64", "Float64", "float32"])
def test_counts_of_any_type_of_number(dtype):
    found, expected = (impact_table(counts([100, 120], [40, 90]).astype(kind)) for kind in (dtype, int))
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


NO_COUNTS = [
    (counts([], []), "expected one row for each group"),
    (counts([10, 10], [5, 5], ["a", "a"]), "expected each group once, found 'a' twice"),
    (counts([10], [11]), "expected at most as many selected as people, found 11 of 10 in 'a'"),
    *(
        (counts([10, 10], [5, bad]), "expected counts, finite and of at least 0, in column 'selected'")
        for bad in (-1, np.nan, np.inf, -np.inf, None, pd.NA, True, "5", 5j, pd.Timestamp("2026-01-01"))
    ),
    (counts(pd.array([10, None], "Int64"), [5, 5]), "expected counts, .*, in column 'people'"),
    (counts([10, np.inf], [5, 5]), "expected counts, .*, in column 'people'"),
    (counts([10, 10], pd.array([True, False], "boolean")), "expected counts, .*, in column 'selected'"),
    (counts([10, 10], pd.array([5, None], "Float64")), "expected counts, .*, in column 'selected'"),
    (counts([10, 10], [5, 5], labelled=[5, np.inf]), "expected counts, .*, in column 'labelled'"),
    (counts([10, 10], [5, 5]).set_axis(["people", "people"], axis=1), "expected each column once"),
    (counts([0], [0]), "expected some people"),
    (counts([10], [5], labelled=[11]), "expected at most as many labelled as people"),
    (pd.DataFrame({"people": [1]}), "expected a column 'selected'"),
    (
        counts([10], [5], labelled=[9], positives=[5], negatives=[5]),
        "at most as many positives and negatives together as labelled, found 10 of 9 in 'a'",
    ),
    (
        counts([10], [5], **{"true positives": [3], "false positives": [3]}),
        "true positives and false positives together as selected, found 6 of 5 in 'a'",
    ),
]
LABELS_THAT_EXCLUDE_EACH_OTHER = [
    (("no", "yes"), ("yes", "no")),
    ((0, 1), (1, 0)),
    ((-1, 1), (1, -1)),
    ((False, True), (True, False)),
    ((0, 1), ("1", "0")),
]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *((lambda table=table: impact_table(table), message) for table, message in NO_COUNTS),
        *(
            (
                lambda labels=labels, others=others: compare(labelled(labels), labelled(others)),
                f"expected the pos_label of case_a, {labels[1]!r}, found {others[1]!r}",
            )
            for labels, others in LABELS_THAT_EXCLUDE_EACH_OTHER
        ),
        (
            lambda: compare(labelled((1, 0)), case(lambda rows: rows["age"] / 100, pos_label=None)),
            r"expected the pos_label of case_a, 0, found none \(scores speak for 1\)",
        ),
        (
            lambda: compare(case(lambda rows: 1.5 * rows["age"], pos_label=None), case(fair)),
            "case_a: expected decisions, found a model of numbers",
        ),
    ],
)
def test_tables_of_counts_and_comparisons_that_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_report_names_no_group_of_fewer_than_five_people():
    names = [f"person {k}" for k in range(200)]
    table = pd.DataFrame({"name": names, "sex": ["f", "m"] * 100, "points": np.arange(200) % 9})
    table["town"] = ["a"] * 150 + ["b"] * 47 + ["tiny"] * 3
    own = {"sensitive_features": ["name", "sex", "town"], "features": ["points"]}
    report = audit(case(lambda rows: rows["points"] > 3, table, **own), methods=["rates"], progress=False)
    assert {name: report.groups[name]["people"].to_dict() for name in ("name", "town")} == {
        "name": {"(200 of fewer than 5 people)": 200},
        "town": {"a": 150, "b": 47, "(1 of fewer than 5 people)": 3},
    }
    named = [sum(name in text for name in names) for text in (report.to_html(rows="none"), report.to_json(rows="none"))]
    assert max(named) <= 3, "in what was not assessed"


@pytest.mark.parametrize("make", [pd.Categorical, lambda codes: list(map(str, codes))])
def test_codes_that_are_categories_are_listed_unless_few_people_have_them(make):
    table = pd.DataFrame({"race": make([1, 3] * 50 + [4] * 5 + [7] * 4), "points": range(109)})
    report = audit(Case(lambda t: t["points"] > 50, table, sensitive_features="race"), methods=["rates"])
    columns = json.loads(report.to_json())["columns"]
    assert columns["race"] == {"type": "category", "categories": ["1", "3", "4"], "left_out": 1}


def test_no_sentence_says_what_became_of_fewer_than_five_people():
    table = people(40).assign(sex=["f"] * 36 + ["x"] * 4)
    report = audit(case(lambda rows: rows["sex"] == "x", table), methods=["themis"], budget=2_000, progress=False)
    said = [*report.to_frame()["sentence"], report.summary, report.to_html(rows="none"), report.to_json(rows="none")]
    assert "of f lose by their sex" in said[0] and not any("of x gain" in text for text in said)
    groups = [group["group"] for group in json.loads(said[-1])["findings"][0]["by_group"]]
    assert groups == ["f", "(1 of fewer than 5 people)"]
