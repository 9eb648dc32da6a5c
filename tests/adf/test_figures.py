import pandas as pd

from fairlab.adf.figures import MARKS, growth_curves
from fairlab.plotting import check

RUN = pd.DataFrame({"method": "ADF", "series": "ours", "run": 0, "seeds": [1, 2], "inputs": [3, 5]})
FRAME = pd.concat(
    [RUN, RUN.assign(run=1), RUN.assign(series="published"), RUN.assign(method="Aequitas")], ignore_index=True
).assign(discriminatory=1)


def test_growth_has_a_panel_per_method_and_a_curve_per_run():
    figure = growth_curves(FRAME)
    check(figure)
    first, second = figure.axes
    assert (len(first.lines), len(second.lines)) == (4, 2)
    assert first.lines[0].get_ydata().tolist() == [3, 5]
    assert [axis.lines[0].get_color() for axis in figure.axes] == [MARKS[name]["color"] for name in ("ADF", "Aequitas")]
    assert [points.get_offsets().tolist() for points in first.collections] == [[[1, 3], [2, 5]], [[1, 1], [2, 1]]]
    assert [len(points.get_offsets()) for points in second.collections] == [0, 0]
