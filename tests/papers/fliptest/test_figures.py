import numpy as np
import pandas as pd
import pytest

from fairlab.fliptest import flipset
from fairlab.papers.fliptest import figures

RNG = np.random.default_rng(0)
WOMEN = pd.DataFrame({"work": RNG.normal(size=60), "sex": RNG.integers(0, 2, 60).astype(float)})
IMAGES = WOMEN + RNG.normal(size=(60, 2))
FLIPS = flipset(lambda table: (np.asarray(table)[:, 0] > 0).astype(int), WOMEN, IMAGES)


def test_marginals_count_everyone_and_both_flipsets_and_are_drawn_as_shares():
    table = figures.marginal_table(WOMEN, FLIPS)
    totals = table.groupby("feature", sort=False)[["everyone", "positive", "negative"]].sum()
    assert totals.to_numpy().tolist() == [[60, FLIPS.n_positive, FLIPS.n_negative]] * 2
    assert table.loc[table["feature"] == "sex", ["low", "high"]].to_numpy().tolist() == [[-0.5, 0.5], [0.5, 1.5]]
    axis = figures.flipset_marginals(table, everyone="women").axes[0]
    everyone, advantaged, disadvantaged = (stairs.get_data() for stairs in axis.patches)
    assert np.isclose(everyone.values.sum(), 100)
    assert advantaged.edges[:-1][advantaged.values > 0].min() > -0.2  # work is positive in F+, not in F-
    assert disadvantaged.edges[1:][disadvantaged.values > 0].max() < 0.2


def test_bands_have_their_names_whatever_values_are_there():
    ages = pd.DataFrame({"age": [20, 20, 10, 40]})
    flip = flipset(lambda table: np.ones(len(table), dtype=int), ages, ages)
    bands = {"age": {10: "under 20", 20: "20–29", 30: "30–39", 40: "40–49"}}
    table = figures.marginal_table(ages, flip, bands=bands)
    assert table["everyone"].tolist() == [1, 2, 0, 1]


def test_lines_join_the_pairs_of_each_flipset():
    pairs = figures.transport_pairs(WOMEN, IMAGES, FLIPS, n_lines=10)
    everyone, flipped = figures.transport_lines(pairs, coef=[1.0, 0.5], intercept=0.2).axes
    sizes = [[len(lines.get_segments()) for lines in axis.collections] for axis in (everyone, flipped)]
    assert sizes == [[10], [min(10, FLIPS.n_positive), min(10, FLIPS.n_negative)]]
    start, end = flipped.collections[0].get_segments()[0]
    [row] = np.flatnonzero(WOMEN.eq(start).all(axis=1))
    assert FLIPS.positive[row]
    assert (IMAGES.to_numpy()[row] == end).all()


@pytest.mark.parametrize(("coef", "intercept"), [([1.0, 0.5], 0.2), ([2.0, 0.0], 0.3)])
def test_the_boundary_is_where_the_score_is_zero(coef, intercept):
    figure = figures.transport_lines(figures.transport_pairs(WOMEN, IMAGES, FLIPS), coef=coef, intercept=intercept)
    [boundary] = [line for line in figure.axes[1].lines if line.get_label() == "decision boundary"]
    if coef[1]:
        x, y = boundary.get_xy1()
        points = [(x, y), (x + 1, y + boundary.get_slope())]
    else:
        points = [(x, 7.0) for x in boundary.get_xdata()]
    assert np.allclose(np.dot(points, coef) + intercept, 0)


def test_features_stand_in_the_order_of_the_means_over_maps():
    means = {"GAN 0": ("GAN", 0.1), "GAN 1": ("GAN", 0.3), "published": ("published", 9.0)}
    rows = [
        (name, kind, feature, times * mean)
        for name, (kind, mean) in means.items()
        for feature, times in (("work", 2), ("sex", 1))
    ]
    table = pd.DataFrame(rows, columns=["map", "kind", "feature", "mean_difference"])
    table = table.assign(flipset="positive", mean_sign=table["mean_difference"] / 10)
    axis = figures.transparency_rankings(table, flipset="positive", labels={"sex": "sex (1 male)"}).axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["work", "sex (1 male)"]
    _, mean, published = axis.lines[1:]
    assert mean.get_xdata().tolist() == pytest.approx([0.4, 0.2])
    assert published.get_xdata().tolist() == [18, 9]


def test_predictions_before_and_after_are_densities():
    before, after = RNG.normal(0, 1, 200), RNG.normal(3, 1, 200)
    table = figures.density_table(before, {"GAN": after})
    grid = table["prediction"]
    for column, mean in (("before", 0), ("after", 3)):
        assert np.trapezoid(table[column], grid) == pytest.approx(1, abs=0.05)
        assert grid[table[column].idxmax()] == pytest.approx(mean, abs=0.5)


def test_maps_of_one_feature_show_pairs_by_their_number_and_lines_by_value():
    x, exact = np.array([2, 0, 0, 2, 0, 9]), np.array([1, 0, 0, 1, 1, 4])
    table = figures.one_feature_table(x, exact, {"GAN 0": np.array([1.2, 0.1, 0.1, 1.2, 0.1, 5])}, most=5)
    axis = figures.maps_of_one_feature(table, xlabel="x", ylabel="y").axes[0]
    [dots] = axis.collections
    assert dots.get_offsets().tolist() == [[0, 0], [0, 1], [2, 1]]
    assert np.allclose(dots.get_sizes() / dots.get_sizes().max(), [1, 0.5, 1])
    assert [line.get_xydata().tolist() for line in axis.lines] == [[[0, 0.1], [2, 1.2]], [[0, 0], [2, 2]]]
