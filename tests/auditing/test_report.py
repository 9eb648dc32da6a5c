import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from audited import finding, people, report

from fairlab.auditing import wording
from fairlab.cases import MethodResult


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
