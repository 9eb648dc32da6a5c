import matplotlib.pyplot as plt
import pandas as pd
import pytest

from fairlab.themis.figures import score_intervals

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
    for k, figure in enumerate([score_intervals(SCORES, threshold=0.5), score_intervals(SCORES[:1])]):
        figure.savefig(tmp_path / f"{k}.png")
    assert plt.get_fignums() == []


def test_every_set_has_a_line_and_every_score_its_interval():
    axis = score_intervals(SCORES, threshold=0.5).axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["sex", "sex, race"]
    lines = {line.get_label(): list(line.get_xdata()) for line in axis.lines}
    assert lines == {"group score": [0.1], "causal score": [0.3, 0.6], "threshold": [0.5, 0.5]}
    ends = [path.vertices[:, 0].tolist() for drawn in axis.collections for path in drawn.get_paths()]
    assert ends == [[0.0, 0.2], [0.2, 0.4], [0.5, 0.7]]


def test_sets_may_be_named_as_a_table_of_numbers_has_them():
    read_back = SCORES.assign(characteristics=SCORES["characteristics"].str.join(", "))
    names = [
        [label.get_text() for label in score_intervals(of).axes[0].get_yticklabels()] for of in (SCORES, read_back)
    ]
    assert names[0] == names[1]


def test_tables_that_cannot_be_drawn():
    for table in (pd.DataFrame(), pd.DataFrame({"score": [1.0]}), [0.5]):
        with pytest.raises(ValueError, match="table: expected a DataFrame with rows and the columns measure, char"):
            score_intervals(table)
