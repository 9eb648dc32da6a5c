from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest

from fairlab.cases import Finding, MethodResult


def gap(n_rows=1, **changes):
    evidence = pd.DataFrame({"id": range(n_rows)})
    found = Finding("Gaps", "sex", "age < 30", "difference of rates", 0.12345, 0.05, 0.2, 0.01, evidence, 40)
    return replace(found, **changes)


def test_findings_are_compared_and_hashed_by_their_numbers():
    assert gap(1) == gap(2) != gap(n=41)
    assert len({gap(1), gap(2), gap(n=41)}) == 2
    with pytest.raises(FrozenInstanceError):
        gap().estimate = 0


def test_impossible_numbers_are_refused():
    assert np.isnan(gap(p_value=np.nan).p_value)
    with pytest.raises(ValueError, match=r"low: expected at most high \(0\.2\), found 0\.3"):
        gap(low=0.3)
    with pytest.raises(ValueError, match=r"p_value: expected a number within 0 and 1, or nan, found 1\.5"):
        gap(p_value=1.5)


def test_in_a_notebook_the_table_follows_its_first_rows_only():
    assert "Finding: Gaps, sex, age &lt; 30" in gap()._repr_html_()
    html = MethodResult("Gaps", [gap()] * 25, [], 0, 0.0)._repr_html_()
    assert html.count("<tr") == 1 + 10
    assert "15 more rows" in html


def test_a_result_lists_what_was_found_and_what_was_skipped():
    result = MethodResult(
        "Gaps", [gap(), gap(sensitive_features="race")], ["race is missing for 3 people."], 1200, 0.25
    )
    assert result.summary == "Gaps: 2 findings, 1 skipped (1,200 model queries, 0.2 s)"
    frame, nothing = result.to_frame(), MethodResult("Gaps", (), (), 0, 0.0).to_frame()
    assert frame["sensitive_features"].tolist() == ["sex", "race"]
    assert frame.loc[0, ["estimate", "p_value", "n"]].tolist() == [0.12345, 0.01, 40]
    assert nothing.empty
    assert nothing.columns.tolist() == frame.columns.tolist() == gap().to_frame().columns.tolist()
