import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from fairlab.themis.figures import score_intervals, score_map

MAP = pd.DataFrame([[1.0, np.nan], [80.0, 5.0]], index=["a", "b"], columns=["race", "gender"])
SCORES = pd.DataFrame(
    {
        "measure": ["group", "causal", "causal"],
        "characteristics": [("sex",), ("sex",), ("sex", "race")],
        "score": [0.1, 0.3, 0.6],
        "low": [0.0, 0.2, 0.5],
        "high": [0.2, 0.4, 0.7],
    }
)


def test_figures_leave_nothing_open_and_can_be_saved(tmp_path):
    for k, figure in enumerate([score_intervals(SCORES, threshold=0.5), score_intervals(SCORES[:1]), score_map(MAP)]):
        figure.savefig(tmp_path / f"{k}.png")
    assert plt.get_fignums() == []


def test_every_set_has_a_line_and_every_score_its_interval():
    axis = score_intervals(SCORES, threshold=0.5).axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["sex", "sex, race"]
    lines = {line.get_label(): list(line.get_xdata()) for line in axis.lines}
    assert lines == {"group score": [0.1], "causal score": [0.3, 0.6], "threshold": [0.5, 0.5]}
    ends = [path.vertices[:, 0].tolist() for drawn in axis.collections for path in drawn.get_paths()]
    assert ends == [[0.0, 0.2], [0.2, 0.4], [0.5, 0.7]]


def test_a_map_shows_numbers_where_there_are_some():
    axis = score_map(MAP).axes[0]
    assert [text.get_text() for text in axis.texts] == ["1.0", "", "80.0", "5.0"]


def test_tables_that_cannot_be_drawn():
    for table in (pd.DataFrame(), pd.DataFrame({"score": [1.0]}), [0.5]):
        with pytest.raises(ValueError, match="table: expected a DataFrame with rows and the columns measure, char"):
            score_intervals(table)
    for table in (pd.DataFrame(), pd.DataFrame({"a": ["x"]}), [[1.0]]):
        with pytest.raises(ValueError, match="table: expected a DataFrame of numbers"):
            score_map(table)
