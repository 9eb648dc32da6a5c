import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from fairlab.papers.themis.figures import programs_by_scores, pruning_counts, scores_beside_printed, threshold_lines

SCORES = pd.DataFrame(
    {
        "cell": ["a", "a", "b", "b"],
        "series": ["printed", "as released"] * 2,
        "score": [3.0, 0.0, 98.0, 40.0],
        "low": [np.nan, 0.0, np.nan, 30.0],
        "high": [np.nan, 1.0, np.nan, 50.0],
        "measure": ["group", "group", "causal", "causal"],
    }
)
TESTS = pd.DataFrame(
    {
        "measure": ["group", "causal"],
        "row": ["a.census", "a.census"],
        "without": [1000, 100],
        "with": [10, 100],
        "printed without": [2000, np.nan],
        "printed with": [20, np.nan],
    }
)
SHARES = pd.DataFrame(
    {"measure": ["group"] * 2 + ["causal"] * 2, "system": "A", "threshold": [0.5, 0.6] * 2, "share": [0.1, 1, 0.5, 1]}
)
PROGRAMS = pd.DataFrame({"group": [0.0, 0.5], "causal": [1.0, 0.5], "programs": [4, 100]})


def test_figures_leave_nothing_open_and_can_be_saved(tmp_path):
    figures = [
        scores_beside_printed(SCORES),
        scores_beside_printed(SCORES, by="measure"),
        pruning_counts(TESTS),
        threshold_lines(SHARES),
        programs_by_scores(PROGRAMS, title="all"),
    ]
    assert plt.get_fignums() == []
    for k, figure in enumerate(figures):
        figure.savefig(tmp_path / f"{k}.png")


def test_scores_below_the_floor_are_drawn_at_it():
    axis = scores_beside_printed(SCORES).axes[0]
    drawn = {line.get_label(): line.get_xdata().tolist() for line in axis.lines}
    assert drawn == {"printed": [3.0, 98.0], "as released": [0.01, 40.0]}
    assert [label.get_text() for label in axis.get_yticklabels()] == ["a", "b"]


def test_panels_by_measure():
    axes = scores_beside_printed(SCORES, by="measure").axes
    assert [axis.get_title() for axis in axes] == ["group", "causal"]
    with pytest.raises(
        ValueError, match="series: expected printed, stored suite, as released, as described, found ours"
    ):
        scores_beside_printed(SCORES.replace({"series": {"printed": "ours"}}))


def test_both_ends_of_a_search_are_drawn():
    axis = pruning_counts(TESTS).axes[0]
    assert [float(line.get_xdata()[0]) for line in axis.lines] == [10, 1000, 20, 2000]


def test_more_programs_make_a_larger_point():
    [points] = programs_by_scores(PROGRAMS, title="all").axes[0].collections
    assert points.get_offsets().tolist() == [[0.0, 1.0], [0.5, 0.5]]
    assert points.get_sizes()[1] > points.get_sizes()[0]
