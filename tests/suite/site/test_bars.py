import xml.etree.ElementTree as ElementTree

import pytest
from matplotlib.colors import to_hex

from fairlab import plotting
from fairlab.paths import project
from fairlab.suite.published import paper_keys
from fairlab.suite.site import bars
from fairlab.suite.site.papers import names, paper_page
from fairlab.suite.site.rows import HTML

FIGURES = project().figures
ROOT = project().root


@pytest.mark.parametrize("key", paper_keys())
def test_the_bar_of_a_paper_adds_up_to_all_of_its_rows_and_hatches_the_inferred_ones(card, key):
    own = card.of(key)
    [axis] = bars.verdict_bars(own, names()).axes
    sizes = {patch: round(patch.get_width() * len(own.rows) / 100) for patch in axis.patches}
    assert sum(sizes.values()) == len(own.rows)
    assert sum(patch.get_width() for patch in axis.patches) == pytest.approx(100)
    hatched = {patch: size for patch, size in sizes.items() if patch.get_hatch()}
    assert sum(hatched.values()) == sum(row.is_inferred for row in own.rows)
    of_colour = [size for patch, size in sizes.items() if to_hex(patch.get_facecolor()).upper() == plotting.VERMILION]
    off = [row for row in own.rows if row.verdict in ("differs", "fails") and not row.is_inferred]
    assert sum(of_colour) == len(off)


def test_picture_page_and_site_say_the_same(card):
    """Of the committed files; ``fairlab scorecard --write`` makes them."""
    drawn = ElementTree.parse(FIGURES / "verdicts.svg").find("{http://www.w3.org/2000/svg}title")
    assert drawn.text == card.headline()
    assert card.headline() in (ROOT / "REPRODUCTION.md").read_text(encoding="utf-8")
    index = HTML.overview(card, names())
    assert card.headline() in index
    for key in paper_keys():
        assert card.of(key).headline() in index
        assert card.of(key).headline() in paper_page(key, card.rows)
