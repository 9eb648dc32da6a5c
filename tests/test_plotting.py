import matplotlib.pyplot as plt
import numpy as np
import pytest

from fairlab import plotting


def draw():
    figure, axes = plotting.panels(2, 3, width=2, height=1.5, sharey=True)
    for k, axis in enumerate(axes):
        axis.plot([0, k], label=f"line {k}", **plotting.LINES[k % len(plotting.LINES)])
        axis.set_xlabel("time (s)")
    figure.supylabel("way (m)")
    return figure


@pytest.fixture
def figure():
    return draw()


def test_panels_stand_row_by_row_and_are_closed(figure):
    assert figure.get_size_inches().tolist() == [6.0, 3.0]
    assert len(figure.axes) == 6
    assert figure.number not in plt.get_fignums()
    assert not any(axis.spines["top"].get_visible() for axis in figure.axes)


def test_a_figure_drawn_again_gives_the_same_bytes(tmp_path):
    first, second = (plotting.save(draw(), tmp_path / name, salt="a") for name in ("section-5.5_a", "section-5.5_b"))
    assert [path.name for path in first] == ["section-5.5_a.png", "section-5.5_a.svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_marks_stand_below_everything_else(figure, tmp_path):
    figure.axes[0].text(0, -1.5, "far below", transform=figure.axes[0].transAxes)
    plotting.save(figure, tmp_path / "a", marks=[plotting.SURROGATE_MARK, "small"])
    boxes = [text.get_window_extent() for text in figure.texts[-2:]]
    others = [axis.get_tightbbox() for axis in figure.axes] + [figure.axes[0].texts[0].get_window_extent()]
    assert boxes[0].y1 < min(box.y0 for box in others)
    assert boxes[1].y1 < boxes[0].y0
    assert figure.texts[-2].get_color() == plotting.VERMILION != figure.texts[-1].get_color()


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ((0.4, 9), ["0.5", "1", "2", "5"]),
        ((0.4, 40), ["1", "3", "10", "30"]),
        ((900, 2e6), ["1k", "10k", "100k", "1M"]),
    ],
)
def test_a_logarithmic_axis_has_few_numbers_in_full(figure, limits, expected):
    axis = figure.axes[0]
    axis.set(xscale="log", xlim=limits)
    plotting.log_ticks(axis.xaxis)
    figure.draw_without_rendering()
    seen = [tick for tick in axis.get_xticks() if limits[0] <= tick <= limits[1]]
    assert [axis.xaxis.get_major_formatter()(tick) for tick in seen] == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda figure: figure.set_size_inches(7.3, 3), r"at most 7 inches wide, found 7\.\d\d"),
        (lambda figure: figure.axes[1].set_title("tiny", fontsize=6.5), r"at least 7 points, found 'tiny' with 6\.5"),
        (lambda figure: figure.axes[2].tick_params(labelsize="x-small"), "at least 7 points"),
        (lambda figure: figure.supylabel(""), "the y axis has no label"),
        (
            lambda figure: [axis.set(xlabel="", title="A") for axis in figure.axes[::3]],
            "the x axis of 'A' has no label",
        ),
    ],
)
def test_a_figure_that_breaks_a_rule_is_refused(figure, tmp_path, change, message):
    plotting.check(figure)
    change(figure)
    with pytest.raises(ValueError, match=message):
        plotting.save(figure, tmp_path / "a")
    assert not list(tmp_path.iterdir())


def _seen_without_green(colour):
    """Return a colour as seen by people without the pigment for green (Viénot, Brettel and Mollon 1999)."""
    linear = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]) ** 2.2
    return np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]]) @ linear


def test_lines_can_be_distinguished_without_colour():
    marks = [tuple(value for name, value in kind.items() if name != "color") for kind in plotting.LINES]
    assert len(set(marks)) == len(plotting.LINES)
    seen = [_seen_without_green(kind["color"]) for kind in plotting.LINES]
    assert min(np.abs(a - b).max() for k, a in enumerate(seen) for b in seen[:k]) > 0.1
