from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from fairlab.cases import Finding, MethodResult, Result


def gap(n_rows=1, **changes):
    evidence = pd.DataFrame({"id": range(n_rows)})
    found = Finding("Gaps", "sex", "age < 30", "difference of rates", 0.12345, 0.05, 0.2, 0.01, evidence, 40)
    return replace(found, **changes)


def test_a_finding_reads_as_one_line():
    assert gap().summary == "Gaps, sex, age < 30: difference of rates 0.123 [0.05, 0.2]"
    assert repr(gap()) == "Finding: " + gap().summary


def test_a_finding_is_one_row_without_its_evidence():
    frame = gap(5).to_frame()
    assert frame.columns.tolist() == [
        "method",
        "sensitive_features",
        "where",
        "effect",
        "estimate",
        "low",
        "high",
        "p_value",
        "n",
        "sentence",
    ]
    assert frame.loc[0, ["estimate", "p_value", "n"]].tolist() == [0.12345, 0.01, 40]


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
    html = gap()._repr_html_()
    assert "Finding: Gaps, sex, age &lt; 30" in html
    assert html.count("<tr") == 1 + 1
    assert "more rows" not in html
    html = MethodResult("Gaps", [gap()] * 25, [], 0, 0.0)._repr_html_()
    assert html.count("<tr") == 1 + 10
    assert "15 more rows" in html


def test_a_result_lists_what_was_found_and_what_was_skipped():
    result = MethodResult(
        "Gaps", [gap(), gap(sensitive_features="race")], ["race is missing for 3 people."], 1200, 0.25
    )
    assert result.summary == "Gaps: 2 findings, 1 skipped (1,200 model queries, 0.2 s)"
    assert result.to_frame()["sensitive_features"].tolist() == ["sex", "race"]
    assert isinstance(result.findings, tuple)
    nothing = MethodResult("Gaps", (), (), 0, 0.0)
    assert nothing.to_frame().columns.tolist() == gap().to_frame().columns.tolist()
    assert len(nothing.to_frame()) == 0


def test_figures_have_a_line_for_each_finding():
    for result, n_lines in ((gap(), 1), (MethodResult("Gaps", [gap(), gap()], (), 0, 0.0), 2)):
        figure = result.plot()
        assert isinstance(figure, Figure)
        assert len(figure.axes[0].get_yticks()) == n_lines
    assert isinstance(MethodResult("Gaps", (), (), 0, 0.0).plot(), Figure)


def test_a_result_needs_a_line_a_table_and_a_figure():
    with pytest.raises(TypeError, match=r"abstract methods .*plot.*summary.*to_frame"):
        Result()
