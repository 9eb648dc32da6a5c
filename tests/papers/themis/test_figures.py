import numpy as np
import pandas as pd

from fairlab.papers.themis.figures import (
    in_words,
    map_of_singles,
    pruning_counts,
    scores_beside_printed,
)

SCORES = pd.DataFrame(
    {
        "cell": ["a.credit.gender.age"] * 2 + ["e.census.unaware.race_marital"] * 2,
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
        "instance": ["a.census.race", "a.census.race"],
        "without": [1000, 100],
        "with": [10, 100],
        "printed without": [2000, np.nan],
        "printed with": [20, np.nan],
    }
)
SINGLES = pd.DataFrame(
    {
        "instance": ["b.census.race", "b.census.race", "a.credit.gender"],
        "characteristic": ["marital", "race", "race"],
        "score": [80.0, 0.04, 5.0],
        "printed": [36.1, np.nan, np.nan],
    }
)


def test_scores_below_the_floor_are_drawn_at_it_and_cells_are_named_in_words():
    [axis] = scores_beside_printed(SCORES.drop(columns="measure")).axes
    drawn = {line.get_label(): line.get_xdata().tolist() for line in axis.lines}
    assert drawn == {"published": [3.0, 98.0], "as released": [0.01, 40.0]}
    words = in_words("b.census.gender.gender_marital_race")
    assert words == "B, Census, fair by gender, tested for gender, marital status and race"


def test_a_map_shows_numbers_where_there_are_some_and_what_is_printed():
    axis = map_of_singles(SINGLES).axes[0]
    assert [text.get_text() for text in axis.texts] == ["80.0 (36.1)", "0.0", "5.0"]


def test_both_ends_of_a_search_are_seen_also_where_they_are_one():
    group, causal = pruning_counts(TESTS).axes
    assert [float(line.get_xdata()[0]) for line in group.lines] == [1000, 10, 2000, 20]
    bar, dot = causal.lines[:2]
    assert bar.get_xdata()[0] == dot.get_xdata()[0] == 100
    assert bar.get_markersize() > dot.get_markersize()
