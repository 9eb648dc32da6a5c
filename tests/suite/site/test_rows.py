import re
import xml.etree.ElementTree as ElementTree

import pytest
from matplotlib.colors import to_hex

from fairlab import plotting
from fairlab.paths import project
from fairlab.suite.published import paper_keys
from fairlab.suite.site.papers import names, paper_page
from fairlab.suite.site.rows import HTML, anchor, artefact_name, verdict_bars
from fairlab.suite.verdicts import LOOKS

FIGURES = project().figures
ROOT = project().root
LARGEST_PAGE = 3_000_000


@pytest.fixture(scope="module")
def overview(card):
    return HTML.overview(card, names())


def line(row):
    return ElementTree.fromstring(HTML.line(row, names()))


def test_every_row_of_the_scorecard_is_there_once(card):
    text = HTML.scorecard(card.rows, names())
    table = ElementTree.fromstring(f"<all>{text}</all>").find("table")
    assert [found.get("id") for found in table.find("tbody")] == [anchor(row) for row in card.rows]
    assert len(text) < LARGEST_PAGE - 500_000


def test_row_has_number_trials_verdict_run_and_citation(row):
    texts = {cell.get("data-label"): "".join(cell.itertext()) for cell in line(row)}
    run = f"{row.data} data, {row.profile}, seed {row.seed}, commit {row.commit[:7]}"
    assert row.id in texts["row"]
    assert f"{row.n_trials} trial" in texts["our result"]
    assert row.verdict in texts["verdict"]
    assert texts["run"] == run
    assert row.reason in texts["reason"]
    assert re.search(
        rf"fairlab \S+, {re.escape(anchor(row))}\. Published .*{artefact_name(row.artefact)}", texts["reason"]
    )
    assert texts["reason"].endswith(f"[{run}].")
    assert float(line(row).get("data-size")) == float(f"{abs(row.relative_difference):.6g}")


def test_a_changed_row_changes_and_is_escaped(row, changed):
    for text in (HTML.line(changed, names()), HTML.short_table([changed])):
        cells = "".join(ElementTree.fromstring(text).itertext())
        assert "98765.4" in cells
        assert "differs" in cells
    assert "<changed> & told" in "".join(line(changed).itertext())
    assert "#mark-differs" in HTML.marks([changed])
    assert "#mark-differs" not in HTML.marks([row])


def test_every_row_is_a_mark_that_leads_to_it(card, overview):
    assert re.findall(r'href="scorecard\.html#([^"]+)"', overview) == [anchor(row) for row in card.rows]
    assert 'href="papers/adf.html#table-4"' in overview
    assert HTML.symbols().count("<symbol") == len(LOOKS)


@pytest.mark.parametrize("key", paper_keys())
def test_the_bar_of_a_paper_adds_up_to_all_of_its_rows_and_hatches_the_inferred_ones(card, key):
    own = card.of(key)
    [axis] = verdict_bars(own, names()).axes
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
