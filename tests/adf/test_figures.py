import pandas as pd

from fairlab.adf.figures import growth_curves


def test_growth_has_a_panel_per_method_and_a_curve_per_run():
    run = pd.DataFrame({"inputs": [3, 5], "discriminatory": [1, 2]}, index=[1, 2])
    figure = growth_curves({"ADF": [run, run], "Aequitas": [run]}, {"ADF": run})
    first, second = figure.axes
    assert (len(first.lines), len(second.lines)) == (4, 2)
    assert (len(first.collections), len(second.collections)) == (2, 0)
    assert first.lines[0].get_ydata().tolist() == [3, 5]
    assert second.get_xlabel() == "seeds explored"
