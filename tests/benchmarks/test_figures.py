import pandas as pd

from fairlab import plotting
from fairlab.benchmarks.figures import line


def test_a_line_is_drawn_as_a_figure_that_may_be_saved(tmp_path):
    figure = line(pd.DataFrame({"x": [0, 1, 2], "y": [3.0, 5.0, 4.0]}))
    assert figure.axes[0].lines[0].get_ydata().tolist() == [3, 5, 4]
    plotting.save(figure, tmp_path / "line")
