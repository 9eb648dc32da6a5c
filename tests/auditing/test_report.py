import json

import numpy as np
import pytest
from audited import finding, people, report

from fairlab.cases import MethodResult


def test_the_family_is_every_finding_with_a_test_of_every_method():
    found = report()
    # Holm by hand: 0.001 * 3, 0.02 * 2, 0.9 * 1; the finding without a test does not count and is never significant.
    assert found.n_tests == 3
    assert found.corrected_p_values == pytest.approx([0.003, 0.04, 0.9, np.nan], nan_ok=True)
    assert found.is_significant.tolist() == [True, True, False, False]
    assert found.expected_false_alarms == pytest.approx(0.15)


def test_a_finding_that_is_significant_by_itself_may_not_be_among_many():
    table = people()
    many = [finding(table, 0.02), *(finding(table, 0.5) for _ in range(9))]
    assert report(MethodResult("FlipTest", many, (), 0, 0)).significant == ()


def test_significant_findings_come_first_and_the_table_says_which():
    frame = report().to_frame()
    columns = ["method", "sensitive_features", "where", "effect", "estimate", "low", "high", "p_value", "significant"]
    assert set(columns) <= set(frame.columns)
    assert frame["method"].tolist() == ["FairTest", "FlipTest", "FlipTest", "FairTest"]
    assert frame["significant"].tolist() == [True, True, False, False]
    assert frame["raw_p_value"].tolist()[:3] == [0.001, 0.02, 0.9]


def test_a_report_reads_as_one_line_and_shows_a_page():
    assert repr(report()) == "Report: 2 of 4 findings are significant at 0.95; 900 queries, 2 s"
    assert "2 of 4 findings are significant" in report()._repr_html_()


def test_a_report_of_nothing_is_a_report():
    empty = report(MethodResult("Themis", (), ("It has nothing to vary.",), 0, 0.0))
    assert empty.to_frame().empty
    assert "significant" in empty.to_frame()
    assert "No method came to a finding" in empty.summary
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
    assert found.summary.startswith("Not assessed: race and age, of which no statistical test was possible. people was")
    assert repr(found).startswith("Report: not assessed: race and age; 0 of 2 findings are significant")
    text = found.to_html()
    assert text.index("was tested on") < text.index("race was not assessed. FlipTest: race: fewer") < text.index("<h2>")
    assert json.loads(found.to_json())["not_assessed"]["age"] == ["Themis: No score."]
    stands_for = MethodResult("Themis", (finding(table, 0.5, sensitive_features="age (through job)"),), (), 0, 0.0)
    assert report(stands_for).not_assessed == {"sex": ()}
    found = report(stands_for)
    found.case.sensitive_features = ("age",)
    assert found.not_assessed == {}


def test_json_holds_everything_and_no_more_than_was_asked_for(tmp_path):
    path = tmp_path / "audit.json"
    text = report().to_json(path, rows="none")
    content = json.loads(path.read_text())
    assert path.read_text() == text
    assert content["findings"][3]["p_value"] is None, "JSON has no nan"
    assert content["significant"] == 2
    assert content["skipped"] == [{"method": "FairTest", "reason": "Ages above 90: too few people."}]
    assert "evidence" not in text
    assert 'p3"' not in report().to_json()
    assert json.loads(report().to_json(rows="all"))["findings"][0]["evidence"][3]["row"] == "p3"


def test_rows_are_asked_for_by_name():
    with pytest.raises(ValueError, match=r"rows: expected one of none, binned, all, found 'some'$"):
        report().to_html(rows="some")
    with pytest.raises(ValueError, match="rows: expected one of"):
        report().to_json(rows=True)
