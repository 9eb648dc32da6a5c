import numpy as np
import pytest

from fairlab.data import load
from fairlab.data.variants.individual_simulation import draw


def test_what_the_authors_arrays_have():
    dataset = load("individual-simulation")
    assert dataset.sensitive_features["group"].value_counts().to_dict() == {"majority": 359, "minority": 41}
    assert dataset.target.mean() == 0.4775
    assert dataset.provenance.source == "generated"


def test_draw_order():
    np.random.seed(3)  # noqa: NPY002
    x = np.random.normal(scale=0.25, size=(50, 2))  # noqa: NPY002
    majority = np.random.choice([False, True], p=[0.1, 0.9], size=50)  # noqa: NPY002
    noise = np.random.standard_normal(50) * 0.01  # noqa: NPY002
    table = draw(50, seed=3)
    for row, (first, second), is_majority, error in zip(table.itertuples(), x, majority, noise, strict=True):
        assert row.group == ("majority" if is_majority else "minority")
        assert row.x1 == pytest.approx(first + (-1.5 if is_majority else 1.5))
        assert row.x2 == second
        assert row.label == ((-0.2 if is_majority else 0.2) * first - 0.01 * second + error > 0)


def test_bad_sizes_are_refused():
    with pytest.raises(ValueError, match="n_points: expected a positive integer, found 0"):
        draw(0)
