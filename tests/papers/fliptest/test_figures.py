import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from fairlab.fliptest import flipset, transparency_report
from fairlab.papers.fliptest.ensembles import by_map
from fairlab.papers.fliptest.figures import (
    MAPS,
    by_dimension,
    density_table,
    flips_by_features,
    flipset_marginals,
    maps_of_one_feature,
    marginal_table,
    one_feature_table,
    prediction_densities,
    published_sizes,
    transparency_rankings,
    transport_lines,
    transport_pairs,
)
from fairlab.plotting import PUBLISHED

RNG = np.random.default_rng(0)
WOMEN = pd.DataFrame({"work": RNG.normal(size=60), "sex": RNG.integers(0, 2, 60).astype(float)})
IMAGES = WOMEN + RNG.normal(size=(60, 2))


def hire(table):
    return (np.asarray(table)[:, 0] > 0).astype(int)


FLIPS = flipset(hire, WOMEN, IMAGES)
REPORT = transparency_report(FLIPS, WOMEN, IMAGES)
BOUNDARY = {"coef": [1.0, 0.5], "intercept": 0.2}


def text(figure):
    return " ".join(t.get_text() for legend in figure.legends for t in legend.get_texts())


def test_figures_are_drawn_from_what_a_csv_keeps(tmp_path):
    drawn = {
        flipset_marginals: (marginal_table(WOMEN, FLIPS), {}),
        transport_lines: (transport_pairs(WOMEN, IMAGES, FLIPS), BOUNDARY),
        transparency_rankings: (by_map({"exact": REPORT}).assign(kind="exact"), {}),
    }
    for draw, (table, options) in drawn.items():
        table.to_csv(tmp_path / "numbers.csv", index=False)
        draw(pd.read_csv(tmp_path / "numbers.csv"), **options).savefig(tmp_path / "picture.png")
    assert plt.get_fignums() == []


def test_marginals_count_everyone_and_both_flipsets():
    table = marginal_table(WOMEN, FLIPS)
    totals = table.groupby("feature", sort=False)[["everyone", "positive", "negative"]].sum()
    assert totals.to_numpy().tolist() == [[60, FLIPS.n_positive, FLIPS.n_negative]] * 2
    sex = table[table["feature"] == "sex"]
    assert sex[["low", "high", "everyone"]].to_numpy().tolist() == [
        [-0.5, 0.5, (WOMEN["sex"] == 0).sum()],
        [0.5, 1.5, (WOMEN["sex"] == 1).sum()],
    ]


def test_marginals_are_drawn_as_shares():
    figure = flipset_marginals(marginal_table(WOMEN, FLIPS), everyone="women", labels={"work": "work (years)"})
    assert f"women ({len(WOMEN)})" in text(figure)
    assert f"({FLIPS.n_positive})" in text(figure)
    assert [axis.get_xlabel() for axis in figure.axes] == ["work (years)", "sex"]
    everyone, advantaged, disadvantaged = (stairs.get_data() for stairs in figure.axes[0].patches)
    assert np.isclose(everyone.values.sum(), 100)
    assert advantaged.edges[:-1][advantaged.values > 0].min() > -0.2  # work is positive in F+, not in F-
    assert disadvantaged.edges[1:][disadvantaged.values > 0].max() < 0.2


def test_bands_have_their_names_whatever_values_are_there():
    ages = pd.DataFrame({"age": [20, 20, 10, 40]})
    flip = flipset(lambda table: np.ones(len(table), dtype=int), ages, ages)
    bands = {"age": {10: "under 20", 20: "20–29", 30: "30–39", 40: "40–49"}}
    table = marginal_table(ages, flip, bands=bands)
    assert table["everyone"].tolist() == [1, 2, 0, 1]
    [axis] = flipset_marginals(table).axes
    assert [label.get_text() for label in axis.get_xticklabels()] == list(bands["age"].values())
    assert axis.get_xticks().tolist() == [0, 1, 2, 3]


def test_published_sizes_stand_beside_ours():
    figure = flipset_marginals(marginal_table(WOMEN, FLIPS).assign(published_positive=1215))
    assert f"({FLIPS.n_positive}; published 1,215)" in text(figure)


def test_an_empty_flipset_keeps_its_place_in_the_legend():
    figure = flipset_marginals(marginal_table(WOMEN, flipset(hire, WOMEN, WOMEN)))
    assert "disadvantaged (0)" in text(figure)


def test_lines_join_the_pairs_of_each_flipset():
    figure = transport_lines(transport_pairs(WOMEN, IMAGES, FLIPS, n_lines=10), **BOUNDARY)
    everyone, flipped = figure.axes
    assert [len(lines.get_segments()) for lines in everyone.collections] == [10]
    sizes = [min(10, FLIPS.n_positive), min(10, FLIPS.n_negative)]
    assert [len(lines.get_segments()) for lines in flipped.collections] == sizes
    start, end = flipped.collections[0].get_segments()[0]
    (row,) = np.flatnonzero(WOMEN.eq(start).all(axis=1))
    assert FLIPS.positive[row]
    assert (IMAGES.to_numpy()[row] == end).all()


def test_the_boundary_is_where_the_score_is_zero():
    pairs = transport_pairs(WOMEN, IMAGES, FLIPS)
    for coef, intercept in (([1.0, 0.5], 0.2), ([2.0, 0.0], 0.3)):
        figure = transport_lines(pairs, coef=coef, intercept=intercept)
        (boundary,) = [line for line in figure.axes[1].lines if line.get_label() == "decision boundary"]
        if coef[1]:
            point, slope = boundary.get_xy1(), boundary.get_slope()
            points = [point, (1.0, point[1] + slope)]
        else:
            points = [(x, 7.0) for x in boundary.get_xdata()]
        assert np.allclose([np.dot(coef, point) + intercept for point in points], 0)


def reports(*means):
    rows = [{"map": f"GAN {i}", "kind": "GAN", "work": 2 * mean, "sex": mean} for i, mean in enumerate(means)]
    long = pd.DataFrame(rows).melt(id_vars=["map", "kind"], var_name="feature", value_name="mean_difference")
    return long.assign(flipset="positive", mean_sign=long["mean_difference"] / 10)


def test_features_stand_in_the_order_of_the_means_over_maps():
    table = pd.concat([reports(0.1, 0.3), reports(9.0).assign(kind="published", map="published")])
    figure = transparency_rankings(table, flipset="positive", labels={"sex": "sex (1 male)"})
    axis = figure.axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["work", "sex (1 male)"]
    maps, means, published = axis.lines[1:]
    assert maps.get_xdata().tolist() == pytest.approx([0.2, 0.6, 0.1, 0.3])
    assert means.get_xdata().tolist() == pytest.approx([0.4, 0.2])
    assert published.get_markerfacecolor() == "none"
    assert published.get_xdata().tolist() == [18, 9]
    assert text(figure) == "GAN, mean of 2 maps and each published"


def test_predictions_before_and_after_are_densities():
    rng = np.random.default_rng(0)
    before, after = rng.normal(0, 1, 200), rng.normal(3, 1, 200)
    table = density_table(before, {"GAN": after})
    grid = table["prediction"]
    for column, mean in (("before", 0), ("after", 3)):
        assert np.trapezoid(table[column], grid) == pytest.approx(1, abs=0.05)
        assert grid[table[column].idxmax()] == pytest.approx(mean, abs=0.5)
    figure = prediction_densities(table, xlabel="grade", titles={"GAN": "GAN map"}, before="as is")
    assert text(figure) == "as is under the GAN map"
    (axis,) = figure.axes
    assert axis.lines[0].get_ydata().tolist() == table["after"].tolist()
    assert axis.lines[0].get_color() == MAPS["GAN"]["color"]
    assert plt.get_fignums() == []


def stability_table():
    rows = {"map": ["exact"] * 3 + ["GAN"] * 3, "dimension": [1, 4, 4] * 2, "variance": [1, 2, 3, 4, 5, 6]}
    return pd.concat([pd.DataFrame(rows).assign(features=title) for title in "ab"])


def test_every_coordinate_is_a_point_beside_its_dimension():
    figure = by_dimension(stability_table(), quantity="variance", ylabel="y", log=True)
    assert text(figure) == "exact GAN"
    for axis in figure.axes:
        exact, gan = axis.lines
        assert exact.get_ydata().tolist() == [1, 2, 3]
        assert gan.get_ydata().tolist() == [4, 5, 6]
        assert gan.get_color() == MAPS["GAN"]["color"]
        assert np.allclose(np.sqrt(exact.get_xdata() * gan.get_xdata()), [1, 4, 4])
        assert (exact.get_xdata() < gan.get_xdata()).all()
        assert [label.get_text() for label in axis.get_xticklabels()] == ["1", "4"]
    assert figure.axes[0].get_yscale() == "log"
    assert plt.get_fignums() == []


def test_maps_of_one_feature_show_pairs_by_their_number_and_lines_by_value():
    x, exact = np.array([2, 0, 0, 2, 0, 9]), np.array([1, 0, 0, 1, 1, 4])
    learnt = np.array([1.2, 0.1, 0.1, 1.2, 0.1, 5])
    table = one_feature_table(x, exact, {"GAN 0": learnt}, most=5)
    (axis,) = maps_of_one_feature(table, xlabel="x", ylabel="y").axes
    (dots,) = axis.collections
    assert dots.get_offsets().tolist() == [[0, 0], [0, 1], [2, 1]]
    assert np.allclose(dots.get_sizes() / dots.get_sizes().max(), [1, 0.5, 1])
    gan, identity = axis.lines
    assert gan.get_xydata().tolist() == [[0, 0.1], [2, 1.2]]
    assert identity.get_xydata().tolist() == [[0, 0], [2, 2]]


def test_flips_by_features_are_means_in_percent_beside_the_print():
    rows = pd.DataFrame({"features": [4, 4, 10], "model": "C = 1", "F+": [0.01, 0.03, 0.05], "F−": [0.0, 0.02, 0.04]})
    published = pd.DataFrame([{"model": PUBLISHED["label"], "F+": 0.0167, "F−": 0.0148}])
    figure = flips_by_features(pd.concat([rows, published]))
    for axis, means, printed in zip(figure.axes, ([2, 5], [1, 4]), (1.67, 1.48), strict=True):
        line, mark, mean, trials = axis.lines
        assert np.allclose(line.get_ydata(), printed)
        assert np.allclose(mark.get_ydata(), printed)
        assert mark.get_markerfacecolor() == "none"
        assert mean.get_xdata().tolist() == [4, 10]
        assert np.allclose(mean.get_ydata(), means)
        assert len(trials.get_xdata()) == 3
    assert text(figure) == "published (number of features not reported) C = 1, mean and each map"


def test_published_sizes_by_flipset():
    published = pd.DataFrame({"value": [3.0, 5.0, 9.0]}, index=["gan.f_plus", "gan.f_minus", "f_plus"])
    assert published_sizes(published, "gan.") == {"published_positive": 3, "published_negative": 5}
