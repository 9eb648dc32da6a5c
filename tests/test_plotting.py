import matplotlib.pyplot as plt
import numpy as np
import pytest

from fairlab import plotting


def draw():
    figure, axes = plotting.panels(2, 3, width=2, height=1.5, extra_width=0.5, sharey=True)
    for k, axis in enumerate(axes):
        axis.plot([0, k], label=f"line {k}", **plotting.LINES[k % len(plotting.LINES)])
    return figure


@pytest.fixture
def figure():
    return draw()


def test_panels_stand_row_by_row_and_are_closed(figure):
    assert figure.get_size_inches().tolist() == [6.5, 3.0]
    assert len(figure.axes) == 6
    assert figure.number not in plt.get_fignums()
    assert not any(axis.spines["top"].get_visible() for axis in figure.axes)


def test_a_legend_stands_above_or_beside(figure):
    plotting.legend_above(figure, figure.axes[0])
    plotting.legend_above(figure, handles=figure.axes[1].lines + figure.axes[2].lines, n_columns=1)
    assert [[text.get_text() for text in legend.texts] for legend in figure.legends] == [
        ["line 0"],
        ["line 1", "line 2"],
    ]
    plotting.legend_beside(figure.axes[2])
    figure.draw_without_rendering()
    axis = figure.axes[2]
    assert axis.get_legend().get_window_extent().x0 > axis.get_window_extent().x1


def test_a_figure_drawn_again_gives_the_same_bytes(tmp_path):
    first, second = (plotting.save(draw(), tmp_path / name, salt="a") for name in ("section-5.5_a", "section-5.5_b"))
    assert [path.name for path in first] == ["section-5.5_a.png", "section-5.5_a.svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_a_figure_as_html_needs_no_other_file(figure):
    page = plotting.as_html(figure, alt="six lines")
    assert page.startswith('<img alt="six lines" src="data:image/png;base64,iVBOR')


def _seen_without_green(colour):
    """Return a colour as seen by people without the pigment for green (Viénot, Brettel and Mollon 1999)."""
    linear = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]) ** 2.2
    return np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]]) @ linear


def test_lines_and_bars_are_told_apart_without_colour():
    for kinds in (plotting.LINES, [{"color": color, "hatch": hatch} for color, hatch in plotting.BARS]):
        marks = [tuple(value for name, value in kind.items() if name != "color") for kind in kinds]
        assert len(set(marks)) == len(kinds)
        seen = [_seen_without_green(kind["color"]) for kind in kinds]
        distances = [np.abs(a - b).max() for k, a in enumerate(seen) for b in seen[:k]]
        assert min(distances) > 0.1
