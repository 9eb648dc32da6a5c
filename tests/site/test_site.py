"""The site: its rows, pages of papers and notebooks, reference, and how it is built."""

import json
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter

import nbformat
import pytest
from graded_labs import secrets
from nbformat import v4
from toy_project import fill

from fairlab.data.project import project
from fairlab.labs.course import cards
from fairlab.labs.masters import exercises, read
from fairlab.site import building
from fairlab.site.answers import answer_of, holds_of
from fairlab.site.places import ADDRESSES, on_site
from fairlab.site.rows import HTML, PAGES, artefact_name, bar, place
from fairlab.suite.comparison import Comparison, short_line
from fairlab.suite.experiment import Experiment
from fairlab.suite.published import load_paper, paper_keys
from fairlab.suite.run import publish, run_folder
from fairlab.suite.scorecard import scorecard
from fairlab.suite.tables import grouped
from fairlab.suite.verdicts import LOOKS

ROOT = project().root


@pytest.fixture(scope="session")
def card():
    """The project's scorecard."""
    return Comparison.from_json((ROOT / "REPRODUCTION.json").read_bytes())


@pytest.fixture(scope="session")
def row(card):
    """A row with a number, an interval and a relative difference."""
    judged = (row for row in card.rows if row.kind == "number" and row.verdict == "agrees" and row.low is not None)
    return next(row for row in judged if row.relative_difference)


@pytest.fixture(scope="session")
def changed(row):
    """The same row with another outcome."""
    update = {"ours": 98765.4321, "low": 98765.0, "high": 98766.0, "verdict": "differs", "reason": "<changed> & told"}
    return row.model_copy(update=update | {"relative_difference": 3.21})


@pytest.fixture(scope="module")
def site(card):
    """What pages are made from."""
    return {"card": card, "papers": {key: building.paper_of(key, card) for key in paper_keys()}}


def line(row):
    return ElementTree.fromstring(HTML.line(row, "ADF"))


def elements(text, *names):
    """Return the elements of some names in HTML."""
    return [one for one in ElementTree.fromstring(f"<all>{text}</all>").iter() if one.tag in names]


def test_every_row_of_the_scorecard_is_there_once_below_its_table_or_figure(card, site):
    page = HTML.scorecard(site)
    assert [key for key in paper_keys() if card.of(key).headline() not in page] == []
    groups = elements(page, "details")
    found = {group.get("id"): [row.get("id") for row in group.iter("tr") if row.get("id")] for group in groups}
    assert [id for ids in found.values() for id in ids] == [row.address for row in card.rows]
    assert all(id.startswith(f"{group}:") for group, ids in found.items() for id in ids)


def test_row_has_number_trials_verdict_run_and_citation(row):
    texts = {cell.get("data-label"): "".join(cell.itertext()) for cell in line(row)}
    parts = {
        "row": row.id,
        "our result": f"{row.n_trials} trial",
        "verdict": row.verdict,
        "reason": grouped(row.reason),
    }
    assert [label for label, part in parts.items() if part not in texts[label]] == []
    cited = rf"fairlab \S+, {re.escape(row.address)}\. Published .*{artefact_name(row.artefact)}"
    run = rf"\[{row.data} data, {row.profile}, seed {row.seed}, commit {row.commit[:7]}\]\."
    assert re.search(f"{cited}.*{run}$", texts["reason"], re.DOTALL)
    assert float(line(row).get("data-size")) == float(f"{abs(row.relative_difference):.6g}")


def test_a_changed_row_changes_and_is_escaped(row, changed):
    for text in (HTML.line(changed, "ADF"), HTML.short_table([changed])):
        cells = "".join(ElementTree.fromstring(text).itertext())
        assert "98,765.4" in cells and "differs" in cells
    assert "<changed> & told" in "".join(line(changed).itertext())
    assert "#mark-differs" in HTML.marks([changed]) and "#mark-differs" not in HTML.marks([row])


def test_every_row_is_a_mark_that_leads_to_it(card, site):
    page = HTML.field(site)
    assert re.findall(r'href="scorecard\.html#([^"]+)"', page) == [row.address for row in card.rows]
    parts = ['href="papers/adf.html#table-4"', *(card.of(key).headline() for key in paper_keys())]
    assert [part for part in parts if part not in page] == []
    assert HTML.symbols().count("<symbol") == len(LOOKS)


def test_the_plot_has_every_pair_of_numbers_at_its_place_and_says_what_it_is(card, site):
    pairs = [row for row in card.rows if isinstance(row.published, float) and isinstance(row.ours, float)]
    marks = {mark.get("href").partition("#")[2]: mark for mark in elements(HTML.plot(site), "a")}
    assert set(marks) == {row.address for row in pairs}
    for row in pairs:
        title, use = marks[row.address]
        assert row.id in title.text
        at = [float(use.get(name)) for name in "xy"]
        assert at == pytest.approx([place(row.published) - 0.8, 99.2 - place(row.ours)])
    assert [place(number) for number in (0, 1e-9, 1, -100, 1e8, 1e12)] == [0, 0, 33.3, 50, 100, 100]


@pytest.mark.parametrize("key", paper_keys())
def test_the_bar_of_a_paper_counts_its_rows_as_the_headline_does(card, key):
    own, parts = card.of(key), Counter()
    for part in bar(own):
        colour = "off" if part["colour"] == "vermilion" else part["apart"] or part["colour"]
        parts += {colour: part["n"], "all": part["n"], "percent": part["width"]}
    counts = own.counts()
    tallied = re.findall(r"(\d+) [\w -]+ \(unsettled\)", HTML.tally(own.rows))
    assert [parts["unsettled"], sum(map(int, tallied))] == [counts["unsettled"]] * 2
    assert ("unsettled" in HTML.bar_key(own)) == bool(counts["unsettled"])
    assert {name: parts[name] for name in ("all", "percent", "inferred", "off", "blue")} == {
        "all": len(own.rows),
        "percent": pytest.approx(100),
        "inferred": counts["inferred"],
        "off": counts["differs"] + counts["fails"],
        "blue": counts["exact"] + counts["agrees"] + counts["holds"],
    }


@pytest.mark.parametrize("key", paper_keys())
def test_the_sentence_on_a_paper_is_true_of_its_rows_and_gone_if_they_change(card, site, key):
    """It is that of the paper's overview, with three news, and with what its authors could mend."""
    answer, page = site["papers"][key]["answer"], HTML.findings(site)
    parts = [site["papers"][key]["name"], answer["verdict"].html(), *(lead.html() for lead in answer["leads"])]
    assert [part for part in parts if part not in page] == []
    assert [len(answer[part]) for part in ("new", "leads", "mend")] == [3, 3, 1]
    assert all("../scorecard.html#" in item.html("../") or "../papers/" in item.html("../") for item in answer["new"])
    worst = {"number": "differs", "claim": "fails"}
    worse = Comparison(row.model_copy(update={"verdict": worst[row.kind]}) for row in card.rows)
    assert answer_of(key, worse) is None
    assert f"{short_line(worse.of(key))}." in HTML.sentence(building.paper_of(key, worse))
    assert "nothing judged." in HTML.sentence(building.paper_of(key, Comparison([])))


def test_numbers_of_an_answer_are_those_of_the_scorecard_that_the_site_shows(card):
    own = [row for row in card.rows if row.paper == "themis"]
    new = [row.model_copy(update={"ours": 4.0}) if row.id == "mean_factor.group" else row for row in own]
    text = answer_of("themis", Comparison(new))["new"][2].html()
    assert re.findall(r">(4\.00|3\.22)</a>", text) == ["4.00"]


def test_numbers_are_easy_to_compare(card):
    assert grouped("12359.6 [1200, 0.12345]") == "12,359.6 [1,200, 0.12345]"
    rows = [
        row.model_copy(update={"relative_difference": -(row.relative_difference or 0)}) for row in card.of("adf").rows
    ]
    worst = max((row for row in rows if row.verdict == "differs"), key=lambda row: abs(row.relative_difference))
    assert f'Off most: <a href="scorecard.html#{worst.address}"' in HTML.remarks(rows, {})
    assert "Off most" not in HTML.remarks([row for row in card.rows if row.verdict != "differs"], {})


# Cells that make figures: at once, in a loop, or by a function of another cell.
CELLS = [
    'exp.figure("figure-1", lines, data=x)',
    'exp.figure("figure-1", bars, data=x, part=f"of_{part}")',
    'exp.figure("figure-1", bars, data=x, part="women")',
    'exp.figure("figure-2", maps, data=x, part="women")',
    'exp.table("figure-3", x)',
    'def draw(artefact, part):\n    exp.figure(artefact, lines, data=x, part=part)\ndraw("figure-2", "men")',
    'draw("figure-3", "men")',
]


@pytest.mark.parametrize("key", paper_keys())
def test_a_page_has_every_part_and_every_row_and_says_for_what_each_table_and_figure_holds(card, site, key):
    paper, own, holds = load_paper(key), card.of(key), holds_of(key, card)
    page = PAGES.paper(key, paper, site["papers"][key])
    parts = [
        own.headline(),
        f'href="https://doi.org/{paper.about.doi}"',
        *(f'<div id="{id}"' for id in paper.artefacts),
        *(f"### {artefact_name(id)}: {artefact.title}" for id, artefact in paper.artefacts.items()),
        *(difference.why for artefact in paper.artefacts.values() for difference in artefact.differs),
        *(f"../scorecard.html#{row.address}" for row in own.rows),
        *(text.markdown("../") for text in holds.values()),
    ]
    assert [part for part in parts if part not in page] == []
    assert set(holds) == set(paper.artefacts)
    assert not re.search("{{ |&lt;p&gt;", page), "a template, or escaped HTML"


@pytest.mark.parametrize("key", paper_keys())
def test_every_claim_of_a_paper_is_in_one_fold_and_counted_as_in_the_headline(card, key):
    claimed = [row for row in card.of(key).rows if row.kind == "claim"]
    found = re.findall(r"<summary>(\w[\w ]*): (\d+)</summary>", HTML.claims(card.of(key).rows))
    folds, counts = Counter({name: int(n) for name, n in found}), Comparison(claimed).counts()
    named = {"Hold": "holds", "Fail": "fails", "Unsettled": "unsettled", "Hold by an inferred protocol": "inferred"}
    assert {fold: folds[fold] for fold in named} == {fold: counts[column] for fold, column in named.items()}
    assert folds.total() == len(claimed)


def test_the_address_to_clone_is_that_of_the_project_where_it_has_one(monkeypatch):
    assert "git clone" not in HTML.clone({})
    monkeypatch.setitem(ADDRESSES, "Repository", "https://example.org/fairlab")
    assert "<code>git clone https://example.org/fairlab</code>" in HTML.clone({})


def test_paper_without_text_has_a_page(toy):
    page = PAGES.paper("toy", load_paper("toy"), building.paper_of("toy", scorecard()))
    parts = ["# toy\n", "<strong>A toy</strong>", "### Table 1: Means", "[A toy experiment](../notebooks/toy/mean)"]
    assert [part for part in parts if part not in page] == []


@pytest.mark.parametrize(
    ("stem", "cell"),
    [
        ("figure-1", 0),
        ("figure-1_of_men", 1),
        ("figure-1_women", 2),
        ("figure-2_women", 3),
        ("figure-2_men", 5),
        ("figure-3_men", 6),
    ],
)
def test_a_figure_belongs_to_the_cell_with_its_name_and_part(stem, cell):
    assert [building.drawing_cell(stem, cells) for cells in (CELLS, ["exp.table(x)"])] == [CELLS[cell], ""]


@pytest.mark.parametrize("paper", paper_keys())
def test_every_committed_figure_is_in_the_gallery_with_its_files_and_code(site, results, paper):
    own, page = site["papers"][paper]["figures"], PAGES.gallery(site["papers"][paper])
    assert {one["stem"] for one in own} == {file.stem for file in (ROOT / "figures" / paper).glob("*.png")}
    for one in own:
        files = [one["folder"] / f"{one['stem']}.{suffix}" for suffix in ("png", "svg", "csv")]
        parts = [f"## {one['title']}\n", one["code"], *(f'href="../figures/{paper}/{file.name}"' for file in files)]
        assert [part for part in parts if part not in page] == []
        assert f'"{one["artefact"]}"' in one["code"] and all(file.exists() for file in files)


CALL = 'exp.figure("figure-1", line, data=x)'


def test_an_executed_notebook_is_shown_with_profile_date_and_commit(toy, tmp_path):
    fill(Experiment("toy/mean", profile="quick")).compare()
    shown = [v4.new_output("display_data", {kind: "of it"}) for kind in ("image/png", "text/markdown", "text/html")]
    bar = v4.new_output("stream", name="stderr", text="100%|####|")
    cells = [v4.new_markdown_cell("# As it stands"), v4.new_code_cell(CALL), v4.new_code_cell("changed = 1")]
    nbformat.write(v4.new_notebook(cells=cells), toy / "notebooks" / "toy" / "mean.ipynb")
    cells[1].outputs, cells[2].outputs, cells[2].source = [*shown, bar], shown, "changed = 0"
    nbformat.write(v4.new_notebook(cells=cells), run_folder("toy/mean", "quick") / "notebook.ipynb")
    publish(run_folder("toy/mean", "quick"))
    building.write_notebooks(tmp_path, [building.pictures("toy")[0] | {"code": CALL}])
    title, cell, figure, changed = nbformat.read(tmp_path / "notebooks" / "toy" / "mean.ipynb", as_version=4).cells
    said = ("# As it stands", "`quick` with seed 0 on ", "commit `", 'href="mean.ipynb" download')
    sizes = "| `n` | `10` | `50` | `50` |\n| `n_trials` | `2` | `3` | `5` |\n"
    assert [part for part in (*said, sizes, "\nfairlab run toy/mean -p n 25\n") if part not in title.source] == []
    assert [list(output.data) for output in cell.outputs] == [["text/html"]], "the gallery's figure stands below"
    assert 'src="../../figures/toy/figure-1.png"' in figure.source
    assert changed.outputs == [], "of other code"
    assert (tmp_path / "extra" / "notebooks" / "toy" / "mean.ipynb").exists()


def test_other_notebooks_are_run_for_their_pages_once_and_say_why_where_they_fail(toy, tmp_path, monkeypatch):
    file, page = toy / "notebooks" / "your_model.ipynb", tmp_path / "notebooks" / "your_model.ipynb"
    cells = [v4.new_markdown_cell("# Title"), v4.new_code_cell("print(6 * 7)")]

    def shown():
        nbformat.write(v4.new_notebook(cells=cells), file)
        building.write_notebooks(tmp_path, [])
        return nbformat.read(page, as_version=4).cells

    title, cell = shown()
    assert cell.outputs[0].text == "42\n"
    assert "Executed for this page" in title.source
    with monkeypatch.context() as patch:
        patch.setattr(building, "execute", lambda *given: pytest.fail("the same code runs twice"))
        shown()
    with monkeypatch.context() as patch:
        patch.setattr("fairlab.suite.fingerprint.modules_fingerprint", lambda *given: "a changed library")
        patch.setattr(building, "execute", lambda given, kept, _: kept.write_bytes(given.read_bytes()))
        assert not shown()[1].outputs
    cells[1].source = "1 / 0"
    assert "ZeroDivisionError" in shown()[0].source


def test_own_results_come_before_the_committed_ones_and_are_rejected_if_corrupted(results, tmp_path):
    assert building.card_file() == ROOT / "REPRODUCTION.json"
    results.mkdir()
    (results / "REPRODUCTION.json").write_text(json.dumps([{"paper": "adf"}]))
    with pytest.raises(ValueError, match=r"0\.artefact\n  Field required"):
        building.write_sources(tmp_path / "sources")


def test_labs_have_no_solutions(tmp_path):
    building.write_labs(tmp_path)
    for card in cards():
        pages = [read(tmp_path / folder / card.notebook.name) for folder in ("labs", "extra/labs")]
        text = "\n".join(cell.source for page in pages for cell in page.cells)
        assert "YOUR CODE HERE" in text or "raise NotImplementedError" in text or not exercises(read(card.notebook))
        assert not [line for line in secrets(read(card.notebook)) if line in text]


@pytest.mark.parametrize(
    ("file", "link", "there"),
    [
        (
            "docs/guide/monitor.md",
            "[a](../../notebooks/fairtest/monitoring.ipynb)",
            "[a](../notebooks/fairtest/monitoring.ipynb)",
        ),
        ("docs/index.md", "[two\nwords](labs.md#a-course)", "[two\nwords](labs/index.md#a-course)"),
        ("CONTRIBUTING.md", "[a](docs/guide/data.md)", "[a](guide/data.md)"),
        ("docs/reproduce.md", "[a](../CONTRIBUTING.md)", "[a](contributing.md)"),
        ("docs/guide/data.md", "[a](../../src/fairlab/data/files/LICENCES.md)", "[a](../guide/licences.md)"),
        ("notebooks/labs/metric.ipynb", "[a](berkeley.ipynb)", "[a](../labs/berkeley.ipynb)"),
        (
            "notebooks/adf/cost.ipynb",
            "[1](../../experiments/adf/published.yaml#table-5:mean.x:as_specified)",
            '<a href="../../scorecard.html#adf:table-5:mean.x">1</a>',
        ),
        (
            "notebooks/adf/cost.ipynb",
            "[9 to 10](../../experiments/adf/published.yaml#figure-1:delta-to-one:smallest-bound)",
            '<a href="../../scorecard.html#adf:figure-1:delta-to-one">9 to 10</a>',
        ),
        ("docs/index.md", "![x](_static/social.png)", "![x](_static/social.png)"),
        (
            "docs/index.md",
            "[a](https://example.org/docs/x.md) [b](#plot)",
            "[a](https://example.org/docs/x.md) [b](#plot)",
        ),
        ("CONTRIBUTING.md", "as in `[1](../../no/file.yaml#x)`", "as in `[1](../../no/file.yaml#x)`"),
    ],
)
def test_links_of_files_lead_to_pages_of_the_site(file, link, there):
    assert on_site(link, ROOT / file) == there


def test_a_committed_figure_in_a_text_is_that_of_the_gallery_and_has_its_size():
    text = on_site("![Costs.](../../figures/adf/table-5.png)", ROOT / "notebooks" / "adf" / "cost.ipynb")
    assert re.fullmatch(
        r'<span class="fl-wide"><img alt="Costs." src="\.\./\.\./figures/adf/table-5\.png" width="\d+" height="\d+".*',
        text,
    )


def test_a_folder_that_is_no_site_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="expected a new folder or an earlier site"):
        building.build(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
