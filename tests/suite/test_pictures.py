import matplotlib.pyplot as plt
import numpy as np
import pytest

from fairlab import plotting
from fairlab.suite.pictures import SURROGATE_MARK, save


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


def test_a_figure_drawn_again_gives_the_same_bytes(tmp_path):
    first, second = (save(draw(), tmp_path / name, salt="a") for name in ("section-5.5_a", "section-5.5_b"))
    assert [path.name for path in first] == ["section-5.5_a.png", "section-5.5_a.svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_marks_stand_below_everything_else(figure, tmp_path):
    figure.axes[0].text(0, -1.5, "far below", transform=figure.axes[0].transAxes)
    save(figure, tmp_path / "a", marks=[SURROGATE_MARK, "small"])
    boxes = [text.get_window_extent() for text in figure.texts[-2:]]
    others = [axis.get_tightbbox() for axis in figure.axes] + [figure.axes[0].texts[0].get_window_extent()]
    assert boxes[0].y1 < min(box.y0 for box in others)
    assert boxes[1].y1 < boxes[0].y0
    assert figure.texts[-2].get_color() == plotting.VERMILION != figure.texts[-1].get_color()


def test_marks_stand_below_a_legend_that_is_below(tmp_path):
    figure, [axis] = plotting.panels(1, 1, width=4, height=2)
    axis.plot([0, 1], color="black", label="a line")
    axis.set(xlabel="x", ylabel="y")
    plotting.legend_below(figure)
    save(figure, tmp_path / "a", marks=[SURROGATE_MARK])
    red, _, blue = np.moveaxis(plt.imread(tmp_path / "a.png")[..., :3], 2, 0)
    of_mark, of_legend = ((red - blue > 0.5).any(axis=1), (np.maximum(red, blue) < 0.2).any(axis=1))  # rows of pixels
    assert of_mark.any()
    assert not (of_mark & of_legend).any()


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
    save(figure, tmp_path / "b")
    change(figure)
    with pytest.raises(ValueError, match=message):
        save(figure, tmp_path / "a")
    assert not list(tmp_path.glob("a*"))
