import numpy as np
import pandas as pd
import pytest

from fairlab.papers.themis import cells, recording, searches
from fairlab.papers.themis.instances import INSTANCES
from fairlab.paths import EXPERIMENTS
from fairlab.suite.published import read_paper


class Notes:
    """What an experiment is told, instead of one: records by id, claims by id with their detail."""

    def __init__(self):
        self.paper = read_paper(EXPERIMENTS / "themis" / "published.yaml")
        self.records, self.claims, self.skips = {}, {}, []

    def published(self, artefact):
        values = self.paper.artefact(artefact).values
        rows = [[value.printed, value.value] for value in values.values()]
        return pd.DataFrame(rows, index=pd.Index(values, name="id"), columns=["printed", "value"])

    def record(self, artefact, id, values, *, reading="as_published", note=""):
        assert id in self.paper.artefact(artefact).values
        assert (artefact, id, reading) not in self.records
        self.records[artefact, id, reading] = np.atleast_1d(values).tolist()

    def claim(self, artefact, id, holds, *, detail=""):
        assert id in self.paper.artefact(artefact).claims
        self.claims[id] = (bool(holds), detail)

    def skip(self, artefact, id, reason):
        self.skips.append(id)

    def left_out(self, artefact):
        recorded = {id for of, id, _ in self.records if of == artefact}
        return set(self.paper.artefact(artefact).values) - recorded - set(self.skips)


@pytest.fixture
def notes():
    return Notes()


def printed_scores(notes, artefact):
    """Return one trial with the printed scores."""
    score = notes.published(artefact)["value"] / 100
    return pd.DataFrame({"id": score.index, "score": score.to_numpy(), "low": 0.0, "high": 1.0})


def test_the_printed_scores_make_their_own_claims_hold(notes, people):
    fresh = {reading: [printed_scores(notes, "figure-1")] for reading in cells.READINGS}
    recording.scores(notes, fresh, people["census"], people)
    assert notes.left_out("figure-1") == notes.left_out("section-5.1") == set()
    assert all(holds for holds, _ in notes.claims.values()), notes.claims
    assert notes.records["section-5.1", "census.characteristics", "as_published"] == [13]
    assert notes.records["figure-1", "b.census.gender.gender.causal", "as_described"] == pytest.approx([11.27])


def test_claims_of_figure_1_can_fail(notes, people):
    trial = printed_scores(notes, "figure-1").assign(score=0.06)
    recording.scores(notes, {key: [trial, trial] for key in cells.READINGS}, people["census"], people)
    failing = {id for id, (holds, _) in notes.claims.items() if not holds}
    assert failing == set(notes.claims) - {"twelve-aware"}
    assert notes.records["figure-1", "b.census.gender.gender.causal", "as_published"] == [6, 6]


def test_claims_of_figure_2(notes):
    trial = printed_scores(notes, "figure-2")
    recording.characteristics(notes, {key: [trial] for key in cells.READINGS})
    assert notes.left_out("figure-2") == set()
    assert all(holds for holds, _ in notes.claims.values()), notes.claims
    other = Notes()
    low = trial.assign(score=0.01)
    low.loc[low["id"].str.endswith("gender_race"), "high"] = 0.1
    low.loc[low["id"].str.endswith(".gender"), "low"] = 0.2
    recording.characteristics(other, {key: [low] for key in cells.READINGS})
    assert not any(holds for holds, _ in other.claims.values())


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
