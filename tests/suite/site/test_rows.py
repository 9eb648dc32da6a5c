import re
import xml.etree.ElementTree as ElementTree

import pytest

from fairlab.paths import project
from fairlab.suite.comparison import Comparison, short_line
from fairlab.suite.published import paper_keys
from fairlab.suite.site.pages import finding_of, names, page_text
from fairlab.suite.site.rows import HTML, anchor, artefact_name, bar, grouped, off_most, place
from fairlab.suite.verdicts import LOOKS

ROOT = project().root
WORST = {"number": "differs", "claim": "fails"}


@pytest.fixture(scope="module")
def site(card):
    """What pages are made from."""
    heads = {key: page_text(key)[0] for key in paper_keys()}
    return {"card": card, "names": names(), "heads": heads, "sentences": {key: finding_of(key, card) for key in heads}}


def line(row):
    return ElementTree.fromstring(HTML.line(row, names()))


def elements(text, *names):
    """Return the elements of some names in HTML."""
    return [one for one in ElementTree.fromstring(f"<all>{text}</all>").iter() if one.tag in names]


def test_every_row_of_the_scorecard_is_there_once_below_its_table_or_figure(card, site):
    groups = elements(HTML.scorecard(site), "details")
    found = {group.get("id"): [row.get("id") for row in group.iter("tr") if row.get("id")] for group in groups}
    assert [id for ids in found.values() for id in ids] == [anchor(row) for row in card.rows]
    assert all(id.startswith(f"{group}:") for group, ids in found.items() for id in ids)


def test_row_has_number_trials_verdict_run_and_citation(row):
    texts = {cell.get("data-label"): "".join(cell.itertext()) for cell in line(row)}
    run = f"{row.data} data, {row.profile}, seed {row.seed}, commit {row.commit[:7]}"
    assert row.id in texts["row"]
    assert f"{row.n_trials} trial" in texts["our result"]
    assert row.verdict in texts["verdict"]
    assert grouped(row.reason) in texts["reason"]
    assert re.search(
        rf"fairlab \S+, {re.escape(anchor(row))}\. Published .*{artefact_name(row.artefact)}", texts["reason"]
    )
    assert texts["reason"].endswith(f"[{run}].")
    assert float(line(row).get("data-size")) == float(f"{abs(row.relative_difference):.6g}")


def test_a_changed_row_changes_and_is_escaped(row, changed):
    for text in (HTML.line(changed, names()), HTML.short_table([changed])):
        cells = "".join(ElementTree.fromstring(text).itertext())
        assert "98,765.4" in cells
        assert "differs" in cells
    assert "<changed> & told" in "".join(line(changed).itertext())
    assert "#mark-differs" in HTML.marks([changed])
    assert "#mark-differs" not in HTML.marks([row])


def test_every_row_is_a_mark_that_leads_to_it(card, site):
    assert re.findall(r'href="scorecard\.html#([^"]+)"', HTML.field(site)) == [anchor(row) for row in card.rows]
    assert 'href="papers/adf.html#table-4"' in HTML.field(site)
    assert HTML.symbols().count("<symbol") == len(LOOKS)


def test_the_plot_has_every_pair_of_numbers_at_its_place_and_says_what_it_is(card, site):
    pairs = [row for row in card.rows if isinstance(row.published, float) and isinstance(row.ours, float)]
    marks = {mark.get("href").partition("#")[2]: mark for mark in elements(HTML.plot(site), "a")}
    assert set(marks) == {anchor(row) for row in pairs}
    for row in pairs:
        title, use = marks[anchor(row)]
        assert row.id in title.text
        assert float(use.get("x")) == pytest.approx(place(row.published) - 0.8)
        assert float(use.get("y")) == pytest.approx(99.2 - place(row.ours))
    assert [place(number) for number in (0, 1e-9, 1, -100, 1e8, 1e12)] == [0, 0, 33.3, 50, 100, 100]


@pytest.mark.parametrize("key", paper_keys())
def test_the_bar_of_a_paper_adds_up_to_all_of_its_rows_and_hatches_the_inferred_ones(card, key):
    own = card.of(key)
    assert sum(part["n"] for part in bar(own)) == len(own.rows)
    assert sum(part["width"] for part in bar(own)) == pytest.approx(100)
    assert sum(part["n"] for part in bar(own) if part["inferred"]) == sum(row.is_inferred for row in own.rows)
    off = [part["n"] for part in bar(own) if part["colour"] == "vermilion" and not part["inferred"]]
    assert sum(off) == sum(row.verdict in ("differs", "fails") and not row.is_inferred for row in own.rows)


@pytest.mark.parametrize("key", paper_keys())
def test_the_sentence_on_a_paper_is_true_of_its_rows_and_gone_if_they_change(card, key):
    """Its condition is beside it in ``docs/papers``; where this fails, the rows no longer bear the sentence out."""
    fallback = f"{short_line(card.of(key))}."
    assert finding_of(key, card) != fallback
    assert finding_of(key, card) in HTML.findings(
        {
            "card": card,
            "names": names(),
            "sentences": {key: finding_of(key, card)} | dict.fromkeys(set(paper_keys()) - {key}, ""),
        }
    )
    worse = Comparison(row.model_copy(update={"verdict": WORST[row.kind]}) for row in card.rows)
    assert finding_of(key, worse) == f"{short_line(worse.of(key))}."
    assert finding_of(key, Comparison([])) == "nothing judged."


def test_the_numbers_of_the_sentences_are_those_of_the_rows(card):
    def count(key, *verdicts, table=""):
        return sum(row.verdict in verdicts and row.artefact.startswith(table) for row in card.of(key).rows)

    judged = ("exact", "agrees", "near", "compatible", "same conclusion", "differs")
    assert f"{count('fairtest', 'exact', 'agrees')} of {count('fairtest', *judged)} judged" in finding_of(
        "fairtest", card
    )
    assert f"{count('fliptest', 'surrogate')} of {len(card.of('fliptest').rows)} results" in finding_of(
        "fliptest", card
    )
    assert f"all {count('individual_fairness', *judged)} judged" in finding_of("individual_fairness", card)
    assert f"{count('themis', 'differs', table='figure-3')} of 100" in " ".join(finding_of("themis", card).split())


def test_numbers_are_easy_to_compare(card):
    assert grouped("12359.6 [1200, 0.12345]") == "12,359.6 [1,200, 0.12345]"
    worst = off_most(card.of("adf").rows)
    assert abs(worst.relative_difference) == max(
        abs(row.relative_difference or 0) for row in card.of("adf").rows if row.verdict == "differs"
    )
    assert f'Off most: <a href="scorecard.html#{anchor(worst)}"' in HTML.remarks(card.of("adf").rows, {})
    assert off_most([row for row in card.rows if row.verdict != "differs"]) is None


def test_picture_page_and_site_say_the_same(card, site):
    """Of the committed files; ``fairlab scorecard --write`` makes them."""
    drawn = ElementTree.parse(ROOT / "figures" / "verdicts.svg").find("{http://www.w3.org/2000/svg}title")
    assert drawn.text == card.headline()
    assert card.headline() in (ROOT / "REPRODUCTION.md").read_text(encoding="utf-8")
    for key, name in site["names"].items():
        assert card.of(key).headline() in HTML.field(site)
        assert card.of(key).headline() in HTML.scorecard(site)
        assert name in HTML.findings(site)
