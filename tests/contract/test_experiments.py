"""What every experiment promises; these tests run over every experiment file they find."""

import re

import pytest

from fairlab.data.project import project
from fairlab.data.registry import project_registry
from fairlab.suite import comparison, drawing, links, run, scorecard
from fairlab.suite.catalogue import experiment_names, specification
from fairlab.suite.notebook import notebook_parameters
from fairlab.suite.published import load_paper, paper_keys

ROOT = project().root
CARD = comparison.Comparison.from_json((ROOT / "REPRODUCTION.json").read_bytes())

EVERY = pytest.mark.parametrize("name", experiment_names())
NOTEBOOKS = sorted(p for p in (ROOT / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)


@EVERY
def test_specification_is_complete(name):
    spec = specification(name)
    assert {"minutes", "gigabytes"} <= spec.model_fields_set, "rough minutes for every profile, and memory"
    assert all(any(f"{path}/".startswith(f"{files}/") for path in project_registry().files) for files in spec.files)
    reads_stored = re.search(r"\b(stored_study|subject_under_test|stored_weights)\(", spec.notebook.read_text("utf-8"))
    assert spec.files or not reads_stored, "what reads stored networks names their files"
    assert set(spec.after) <= set(experiment_names())


@EVERY
def test_a_notebook_has_the_parameters_of_the_quick_profile(name):
    expected = {"experiment": name, "profile": "quick", "seed": 0} | specification(name).parameters("quick")
    assert notebook_parameters(specification(name).notebook) == expected


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_numbers_in_the_text_are_those_of_the_scorecard(path):
    text = path.read_text(encoding="utf-8")
    assert links.set_links(text, CARD.rows) == text


@pytest.mark.parametrize("key", paper_keys())
def test_inconsistent_numbers_name_a_notebook(key):
    for artefact in load_paper(key).artefacts.values():
        for item in filter(lambda item: item.impossible, (artefact.values | artefact.claims).values()):
            named = [name for name in experiment_names() if name in item.impossible]
            assert any(artefact.id in specification(name).artefacts for name in named), item.id


def test_the_committed_page_is_that_of_the_committed_rows():
    runs = scorecard.committed_runs()
    assert (ROOT / "REPRODUCTION.md").read_text(encoding="utf-8") == scorecard.to_markdown(CARD, runs)
    known = {(name.partition("/")[0], about["profile"], about["commit"]) for name, about in runs.items()}
    assert list(runs) == experiment_names()
    assert {(row.paper, row.profile, row.commit) for row in CARD.rows if row.profile} <= known
    assert [row.address for row in scorecard.unexplained(CARD)] == [], "what differs without a reason"


def test_readme_and_its_figure_are_those_of_the_committed_rows():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"<!-- summary -->\n\n{scorecard.summary(CARD)}\n<!-- /summary -->" in readme
    assert f"<title>{CARD.headline()}</title>" in (ROOT / "figures" / "verdicts.svg").read_text(encoding="utf-8")


def test_the_committed_scorecard_has_every_published_row_as_it_is_published_and_no_fixed_parameter_differs():
    fields = ("paper", "artefact", "id", "published", "printed", "source", "derived")
    published = [
        (comparison.published_row(key, artefact, item), item)
        for key in paper_keys()
        for artefact in load_paper(key).artefacts.values()
        for item in (*artefact.values.values(), *artefact.claims.values())
    ]
    expected = [[getattr(row, field) for field in fields] for row, _ in published]
    assert [[getattr(row, field) for field in fields] for row in CARD.rows] == expected
    fixed = [row.place for row, item in published if getattr(item, "setting", False)]
    verdicts = {row.place: row.verdict for row in CARD.rows}
    assert {verdicts[place] for place in fixed} <= {"setting", "not run", "not comparable", "surrogate"}


def test_what_rests_on_people_made_up_is_nowhere_called_real():
    sources = {name: variant.source for name, variant in project_registry().variants.items()}
    made_up = {name for name in experiment_names() if "real" not in {sources[v] for v in specification(name).data}}
    of_them = {place for place, names in scorecard.writers().items() if made_up.issuperset(names)}
    rows = [row for row in CARD.rows if row.data]
    called = {(row.paper, row.artefact): row.data for row in rows if (row.paper, row.artefact) in of_them}
    for key in paper_keys():
        index = run.read_json(project().figures / key / drawing.INDEX).items()
        called |= {(key, stem): entry["data"] for stem, entry in index if entry["experiment"] in made_up}
    assert {("fairtest", "figure-2"), ("fliptest", "figure-1"), ("individual_fairness", "section-4")} <= set(called)
    assert [place for place, word in called.items() if word == "real"] == []
