import numpy as np
from audited import finding, people, report

from fairlab.auditing import wording
from fairlab.cases import MethodResult


def test_the_summary_says_what_was_tested_what_was_found_how_sure_and_what_was_left_out():
    text = report().summary
    assert text.startswith(
        "people was tested on 400 people for differences by sex: FlipTest and FairTest queried it with 900 rows"
    )
    assert "2 of 4 findings are significant" in text
    assert "sex, everyone: share that flips -0.3 (interval -0.35 to -0.25, by FairTest)" in text
    assert "3 findings were tested together, corrected by Holm's method" in text
    assert "the family-wise error rate is at most 0.05" in text
    assert "uncorrected, up to 0.15 would be expected by chance alone" in text
    assert text.endswith("Not assessed: 1 point, listed with the reasons.")
    assert "\n" not in text


def test_the_opening_names_as_asking_only_methods_that_ran():
    table = people()
    ran = MethodResult("FlipTest", (finding(table),), (), 0, 0.0)
    asked = MethodResult("ADF and AEQUITAS", (), ("Nobody was found.",), 300, 0.0)
    silent = MethodResult("Themis", (), ("The model does not get sex.",), 0, 0.0)
    assert "sex: FlipTest, ADF and AEQUITAS queried it with 900 rows (at" in report(ran, silent, asked).summary
    assert "sex: FlipTest queried it with" in report(ran, silent).summary
    text = report(silent).summary
    assert "for differences by sex: it was queried with 900 rows (at" in text


def test_rows_that_were_asked_twice_are_said_apart():
    said = "with 900 rows (at most 1,000 were allowed), and 400 rows again for the determinism check, "
    assert f"{said}which the budget does not count." in report(n_queries=1300, n_repeated=400).summary


def test_nothing_significant_is_said_plainly():
    table = people()
    text = report(MethodResult("Themis", (finding(table, 0.5),), (), 0, 0)).summary
    assert "None of the 1 finding is significant: no difference could be shown." in text
    assert "Every method assessed all that it can assess." in text


def test_a_report_without_a_test_claims_no_certainty():
    text = report(MethodResult("Themis", (finding(people(), np.nan),), (), 0, 0)).summary
    said = "Not assessed: no statistical test was possible, so this audit says nothing about differences by sex. people"
    assert text.startswith(said)


def test_words_and_numbers():
    assert wording.listed(["a"]) == "a"
    assert wording.listed(["a", "b", "c"]) == "a, b and c"
    assert wording.listed([]) == ""
    assert wording.count(1, "query", "queries") == "1 query"
    assert wording.count(1200, "query", "queries") == "1,200 queries"
    assert wording.number(0.12345) == "0.123"


def test_a_finding_that_has_a_sentence_is_said_by_it():
    said = finding(people(), sentence="Another sex changes the decision for 30% of the people")
    assert wording.line(said).startswith("Another sex changes the decision for 30% of the people (interval ")


def test_a_finding_without_an_interval_says_so():
    grid = finding(people(), low=np.nan, high=np.nan)
    assert wording.line(grid) == "sex, everyone: share that flips 0.2 (no interval, by FlipTest)"
    assert '<td class="number">no interval</td>' in report(MethodResult("ADF", (grid,), (), 0, 0)).to_html()
