from dataclasses import dataclass

import pandas as pd
import pytest
from matplotlib.figure import Figure

from fairlab.cases import Finding, Result


@dataclass(frozen=True, repr=False)
class Gap(Finding):
    who: str
    where: str
    effect: float
    interval: tuple[float, float]
    evidence: pd.DataFrame

    def to_frame(self):
        return self.evidence

    def plot(self):
        return Figure()


def gap(n_rows):
    return Gap("sex", "age < 30", 0.12345, (0.05, 0.2), pd.DataFrame({"id": range(n_rows)}))


def test_a_finding_reads_as_one_line():
    assert gap(1).summary == "sex, age < 30: 0.123 [0.05, 0.2]"
    assert repr(gap(1)) == "Gap: sex, age < 30: 0.123 [0.05, 0.2]"


def test_in_a_notebook_the_table_follows_its_first_rows_only():
    html = gap(3)._repr_html_()
    assert "Gap: sex, age &lt; 30" in html
    assert html.count("<tr") == 1 + 3
    assert "more rows" not in html
    html = gap(25)._repr_html_()
    assert html.count("<tr") == 1 + 10
    assert "15 more rows" in html


def test_a_result_needs_a_line_a_table_and_a_figure():
    with pytest.raises(TypeError, match=r"abstract methods .*plot.*summary.*to_frame"):
        Result()
