import numpy as np
import pandas as pd
from audited import finding, people, report

from fairlab.auditing import figures
from fairlab.cases import MethodResult


def test_a_panel_for_each_method_and_a_line_for_each_finding():
    figure = report().plot()
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["FlipTest", "FairTest"], "as they ran"
    assert [len(axis.get_yticks()) for axis in figure.axes] == [2, 2]


def test_what_is_left_out_is_said():
    table = people()
    many = [finding(table, 0.001, i / 100) for i in range(20)]
    figure = report(MethodResult("FlipTest", many, (), 0, 0)).plot()
    assert figure.axes[0].get_title(loc="left") == "FlipTest (8 more not shown)"


def test_an_estimate_without_an_interval_and_odd_names_can_be_drawn():
    odd = finding(people(), np.nan, 0.3, low=np.nan, high=np.nan, effect="$\\frac{a}$ of _x_ $")
    report(MethodResult("FlipTest", (odd,), (), 0, 0)).plot().canvas.draw()


def test_changes_are_drawn_one_a_line():
    rows = pd.DataFrame(
        {"where": ["a", "b"], "measure": "gap", "change": [-0.1, 0.1], "low": [-0.2, 0.0], "high": [0.0, 0.2]}
    ).assign(verdict=["better", "no clear difference"])
    assert len(figures.changes(rows).axes[0].get_yticks()) == 2
