import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from fairlab.fliptest import flipset, transparency_report
from fairlab.fliptest.figures import (
    flipset_marginals,
    transparency_bars,
    transport_lines,
)

RNG = np.random.default_rng(0)
WOMEN = pd.DataFrame({"work": RNG.normal(size=60), "sex": RNG.integers(0, 2, 60).astype(float)})
IMAGES = WOMEN + RNG.normal(size=(60, 2))


def hire(table):
    return (np.asarray(table)[:, 0] > 0).astype(int)


FLIPS = flipset(hire, WOMEN, IMAGES)


def text(figure):
    return " ".join(t.get_text() for legend in figure.legends for t in legend.get_texts())


def test_figures_leave_nothing_open_and_can_be_saved(tmp_path):
    figures = [
        flipset_marginals(WOMEN, FLIPS),
        transport_lines(WOMEN, IMAGES, FLIPS, coef=[1.0, 0.0], intercept=0.0),
        transparency_bars({"map": transparency_report(FLIPS, WOMEN, IMAGES)}),
    ]
    assert plt.get_fignums() == []
    for i, figure in enumerate(figures):
        figure.savefig(tmp_path / f"{i}.png")


def test_marginals_show_all_three_sets_as_densities():
    figure = flipset_marginals(WOMEN, FLIPS, everyone="women", labels={"work": "work (years)"})
    assert f"women ({len(WOMEN)})" in text(figure)
    assert f"({FLIPS.n_positive})" in text(figure)
    assert [axis.get_xlabel() for axis in figure.axes] == ["work (years)", "sex"]
    bars = figure.axes[0].containers[0]
    assert np.isclose(sum(bar.get_height() * bar.get_width() for bar in bars), 1)
    advantaged, disadvantaged = figure.axes[0].patches[-2:]  # work is positive in F+, not in F-
    assert advantaged.get_xy()[advantaged.get_xy()[:, 1] > 0, 0].min() > -0.2
    assert disadvantaged.get_xy()[disadvantaged.get_xy()[:, 1] > 0, 0].max() < 0.2


def test_an_empty_flipset_keeps_its_place_in_the_legend():
    figure = flipset_marginals(WOMEN, flipset(hire, WOMEN, WOMEN))
    assert "disadvantaged (0)" in text(figure)


def test_lines_join_the_pairs_of_each_flipset():
    figure = transport_lines(WOMEN, IMAGES, FLIPS, coef=[1.0, 0.5], intercept=0.2, n_lines=10)
    everyone, flipped = figure.axes
    assert [len(lines.get_segments()) for lines in everyone.collections] == [10]
    sizes = [min(10, FLIPS.n_positive), min(10, FLIPS.n_negative)]
    assert [len(lines.get_segments()) for lines in flipped.collections] == sizes
    start, end = flipped.collections[0].get_segments()[0]
    (row,) = np.flatnonzero(WOMEN.eq(start).all(axis=1))
    assert (IMAGES.to_numpy()[row] == end).all()


def test_the_boundary_is_where_the_score_is_zero():
    for coef, intercept in (([1.0, 0.5], 0.2), ([2.0, 0.0], 0.3)):
        figure = transport_lines(WOMEN, IMAGES, FLIPS, coef=coef, intercept=intercept)
        (boundary,) = [line for line in figure.axes[1].lines if line.get_label() == "decision boundary"]
        if coef[1]:
            point, slope = boundary.get_xy1(), boundary.get_slope()
            points = [point, (1.0, point[1] + slope)]
        else:
            points = [(x, 7.0) for x in boundary.get_xdata()]
        assert np.allclose([np.dot(coef, point) + intercept for point in points], 0)


def test_bars_are_in_the_order_of_the_first_report():
    report = transparency_report(FLIPS, WOMEN, IMAGES)
    figure = transparency_bars({"exact": report, "GAN": report}, flipset="positive", labels={"sex": "sex (1 male)"})
    best = report.positive["difference_rank"].idxmin()
    top = figure.axes[0].get_yticklabels()[-1].get_text()
    assert top == {"sex": "sex (1 male)"}.get(best, best)
    assert text(figure) == "exact GAN"


def test_bad_input():
    report = transparency_report(FLIPS, WOMEN, IMAGES)
    with pytest.raises(ValueError, match="expected 'positive' or 'negative', found 'both'"):
        transparency_bars({"map": report}, flipset="both")
    with pytest.raises(ValueError, match="at least one"):
        transparency_bars({})
    with pytest.raises(ValueError, match="'GAN' is over work, expected work, sex"):
        transparency_bars({"a": report, "GAN": transparency_report(FLIPS, WOMEN[["work"]], IMAGES[["work"]])})
    with pytest.raises(ValueError, match="X has 1 columns, a transport figure needs 2"):
        transport_lines(WOMEN[["work"]], IMAGES[["work"]], FLIPS, coef=[1.0], intercept=0.0)
