import numpy as np
import pandas as pd
import pytest

from fairlab.data import DataUnavailableError
from fairlab.papers.themis import cells, claims, recording, searches
from fairlab.papers.themis.instances import INSTANCES
from fairlab.paths import EXPERIMENTS
from fairlab.suite.published import read_paper


class Notes:
    """What an experiment is told, instead of one: records by id, claims by id with their detail."""

    def __init__(self):
        self.paper = read_paper(EXPERIMENTS / "themis" / "published.yaml")
        self.records, self.claims, self.skips = {}, {}, {}

    def published(self, artefact):
        values = self.paper.artefact(artefact).values
        rows = [[value.printed, value.value] for value in values.values()]
        return pd.DataFrame(rows, index=pd.Index(values, name="id"), columns=["printed", "value"])

    def record(self, artefact, id, values, *, reading="as_published", note="", data=None):
        assert id in self.paper.artefact(artefact).values
        assert (artefact, id, reading) not in self.records
        self.records[artefact, id, reading] = np.atleast_1d(values).tolist()

    def claim(self, artefact, id, holds, *, detail="", data=None):
        assert id in self.paper.artefact(artefact).claims
        self.claims[id] = (bool(holds), detail)

    def skip(self, artefact, id, reason):
        self.skips[id] = reason

    def left_out(self, artefact):
        recorded = {id for of, id, _ in self.records if of == artefact}
        return set(self.paper.artefact(artefact).values) - recorded - set(self.skips)


@pytest.fixture
def notes():
    return Notes()


def test_the_counts_of_section_5_1(notes, people, monkeypatch, tmp_path):
    german = tmp_path / "german.data"
    german.write_text("a row\n" * 7)
    monkeypatch.setattr(recording, "fetch_file", lambda file: german)
    recording.overview(notes, people["census"], people)
    assert notes.left_out("section-5.1") == set()
    assert notes.claims["twelve-aware"][0]
    assert notes.records["section-5.1", "census.characteristics", "as_published"] == [13]
    assert notes.records["section-5.1", "german.individuals", "as_published"] == [7]

    def refuse(file):
        raise DataUnavailableError("not here", ())

    monkeypatch.setattr(recording, "fetch_file", refuse)
    other = Notes()
    recording.overview(other, people["census"], people)
    assert "fairlab data fetch german/german.data" in other.skips["german.individuals"]


@pytest.mark.parametrize("artefact", ["figure-1", "figure-2"])
def test_suites_are_recorded_as_published_and_fresh_runs_as_described(notes, artefact):
    suites = cells.scores_of_suites(artefact)
    fresh = [pd.DataFrame({"id": suites.index, "score": score}) for score in (0.2, 0.4)]
    answers = {
        id: claims.Answer(None if number == 0 else number % 2 == 0, "a detail")
        for number, id in enumerate(notes.paper.artefact(artefact).claims)
    }
    record = {"figure-1": recording.scores, "figure-2": recording.characteristics}[artefact]
    record(notes, suites, fresh, answers)
    assert notes.left_out(artefact) == set()
    for id, score in suites["score"].items():
        assert notes.records[artefact, id, "as_described"] == pytest.approx([20, 40])
        if pd.isna(score):
            assert (artefact, id, "as_published") not in notes.records
            assert f"fairlab data fetch {suites.loc[id, 'path']} (academic use only)" in notes.skips[id]
        else:
            assert notes.records[artefact, id, "as_published"] == [score]
    first, second, third, *_ = answers
    assert notes.skips[first].startswith(
        "rests on stored suites that are not at hand: a detail; the numbers of this figure"
    )
    assert notes.claims[second] == (False, "on the stored suites: a detail")
    assert notes.claims[third][0]


def all_searches(share):
    """Return a search for every instance in which sets score so much a member, on three characteristics."""
    sets = [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]
    tables = {}
    for number, instance in enumerate(INSTANCES):
        scores = [min(1.0, (share + number / 100) * len(names)) for names in sets]
        tests = [10 ** len(names) for names in sets]
        table = pd.DataFrame({"characteristics": sets * 2, "score": scores * 2, "tests": tests * 2})
        tables[instance] = table.assign(measure=["group"] * 7 + ["causal"] * 7)
    return tables


def test_claims_of_figure_3(notes):
    repetitions = [all_searches(0.3), all_searches(0.3)]
    table = searches.beside_printed(repetitions, notes.published("figure-3"))
    recording.pruning(notes, repetitions, table, searches.count_by_threshold(repetitions[0]))
    assert notes.left_out("figure-3") == notes.left_out("section-5.4") == set()
    assert {id: holds for id, (holds, _) in notes.claims.items()} == {
        "pruning-helps": True,
        "group-gains-more-on-average": False,  # both measures are alike here
        "two-to-three-orders": False,
        "lower-threshold-fewer-tests": True,
        "more-discrimination-more-pruning": True,
    }
    assert len(notes.records["figure-3", "group.a.census.factor", "as_published"]) == 2
    assert notes.records["figure-3", "causal.e.census.without", "as_published"] == [235_625]
    assert notes.records["figure-3", "causal.e.census.without", "as_described"] == [3 * 10 + 3 * 100 + 1000] * 2


def test_claims_of_the_theorems(notes):
    violations = pd.DataFrame(
        {"group: subset higher": [0, 0], "causal: subset higher": [0, 2], "group above causal": [0, 0]}
    )
    ordered = pd.DataFrame({"violations": [0, 0], "ordered pairs": [5, 6]})
    recording.theorems(notes, violations, ordered)
    assert {id for id, (holds, _) in notes.claims.items() if not holds} == {"causal-monotone"}
    assert notes.claims["causal-monotone"][1] == "2 violations in 2 input spaces"
    assert notes.claims["pruning-monotone"] == (True, "0 violations in 11 ordered pairs of programs")


def test_the_examples_of_section_3(notes):
    recording.your_program(notes, 0.1, 0.42)
    assert notes.left_out("section-3") == set()
    assert notes.records["section-3", "race_example.group_score", "as_published"] == [0.42]
