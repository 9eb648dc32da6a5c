import xml.etree.ElementTree as ElementTree
from collections import Counter

from fairlab.suite.site import poster as posters
from fairlab.suite.site.papers import names
from fairlab.suite.site.picture import SHAPES
from fairlab.suite.site.poster import COLOUR_OF, poster, write_poster
from fairlab.suite.site.wording import slug

SVG = "{http://www.w3.org/2000/svg}"


def test_every_row_is_a_mark_beside_those_of_the_legend(card):
    drawn = ElementTree.fromstring(poster(card.rows, names()))
    marks = Counter(use.get("href") for use in drawn.iter(f"{SVG}use"))
    verdicts = Counter(row.verdict for row in card.rows)
    of_the_legend = Counter(
        "agrees" if row.column == "inferred" else row.verdict for row in {r.column: r for r in card.rows}.values()
    )
    assert marks == Counter({f"#{slug(verdict)}": n + of_the_legend[verdict] for verdict, n in verdicts.items()})
    assert set(COLOUR_OF) == set(SHAPES)
    width = float(drawn.get("width"))
    assert all(float(use.get("x")) + 10 <= width for use in drawn.iter(f"{SVG}use"))


def test_a_changed_row_changes_the_picture(card, row, changed):
    rows = [changed if own is row else own for own in card.rows]
    assert poster(rows, names()) != poster(card.rows, names())
    assert poster(card.rows, names()) == poster(card.rows, names())


def test_it_is_written_where_the_readme_has_it(card, tmp_path, monkeypatch):
    monkeypatch.setattr(posters, "FIGURES", tmp_path)
    assert write_poster(card.rows).read_text() == poster(card.rows, names())
