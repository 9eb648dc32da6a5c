"""Records and claims of every experiment, and the tables of published scores beside ours."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairlab.cases import Schema
from fairlab.data import DataUnavailableError
from fairlab.data.registry import project_registry
from fairlab.papers.themis import recording, searches
from fairlab.papers.themis import suites as suites_module
from fairlab.papers.themis.instances import INPUT_SPACES, INSTANCES
from fairlab.papers.themis.recording import scores_of_suites
from fairlab.papers.themis.suites import TABLE, SuiteCounts, as_table, count_suite, score_suite, stored_suites
from fairlab.suite.published import load_paper
from fairlab.suite.verdicts import Ours, judge

PAPER = load_paper("themis")


def printed(artefact):
    values = PAPER.artefact(artefact).values
    return pd.Series({id: float(value.value) for id, value in values.items()}, name="value")


@pytest.mark.parametrize("available", [True, False])
def test_the_counts_of_section_5_1(recorded, monkeypatch, tmp_path, available):
    german = tmp_path / "german.data"
    german.write_text("a row\n" * 7)

    def fetch(file):
        if not available:
            raise DataUnavailableError("not here", ())
        return german

    monkeypatch.setattr(recording, "fetch_file", fetch)
    people = SimpleNamespace(features=pd.DataFrame(0, range(5), range(14)))
    exp = recorded("themis/overview", people, dict.fromkeys(INPUT_SPACES, people))
    assert exp.records["section-5.1", "census.characteristics", "as_published"] == [13]
    assert exp.records.get(("section-5.1", "german.individuals", "as_published")) == ([7] if available else None)


@pytest.mark.parametrize(("experiment", "artefact"), [("scores", "figure-1"), ("characteristics", "figure-2")])
def test_suites_are_recorded_as_published_and_fresh_runs_as_described(recorded, experiment, artefact):
    suites, claims = scores_of_suites(artefact), list(PAPER.artefact(artefact).claims)
    fresh = [pd.DataFrame({"id": suites.index, "score": score}) for score in (0.2, 0.4)]
    answers = {id: ((None, False, True)[min(k, 2)], "a detail") for k, id in enumerate(claims)}
    exp = recorded(f"themis/{experiment}", suites, fresh, answers)
    described, published = (
        {id: values for (_, id, of), values in exp.records.items() if of == reading}
        for reading in ("as_described", "as_published")
    )
    assert described == dict.fromkeys(suites.index, pytest.approx([20, 40]))
    assert published == {id: [score] for id, score in suites["score"].dropna().items()}
    assert "stored suites that are not available" in exp.skipped[artefact, claims[0]]
    assert exp.failed == {claims[1]}


def all_searches(share):
    """Return a search for every instance in which sets score so much a member, on three characteristics."""
    sets = [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]
    tables = {}
    for number, instance in enumerate(INSTANCES):
        scores = [min(1.0, (share + number / 100) * len(names)) for names in sets]
        tests = [10 ** len(names) for names in sets]
        table = pd.DataFrame({"sensitive_features": sets * 2, "score": scores * 2, "tests": tests * 2})
        tables[instance] = table.assign(measure=["group"] * 7 + ["causal"] * 7)
    return tables


def test_claims_of_figure_3(recorded):
    repetitions = [all_searches(0.3), all_searches(0.3)]
    table = searches.beside_printed(repetitions, printed("figure-3").to_frame())
    exp = recorded("themis/pruning", repetitions, table)
    # Both measures are alike here.
    assert exp.failed == {"group-gains-more-on-average", "two-to-three-orders"}
    assert len(exp.records["figure-3", "group.a.census.factor", "as_published"]) == 2
    exp.check_records({("figure-3", "causal.e.census.without"): [235_625]})
    assert exp.records["figure-3", "causal.e.census.without", "as_described"] == [3 * 10 + 3 * 100 + 1000] * 2


def test_claims_of_the_theorems(recorded):
    columns = {"group: subset higher": "group-monotone", "causal: subset higher": "causal-monotone"}
    columns |= {"group above causal": "group-le-causal", "violations": "pruning-monotone"}
    for broken in [None, *columns]:
        counts = pd.DataFrame({column: [0, 2 * (column == broken)] for column in [*columns, "ordered pairs"]})
        failed = {columns[broken]} if broken else set()
        assert recorded("themis/theorems", counts, counts).failed == failed


PUBLISHED = pd.DataFrame(
    {"printed": ["3.78", "<0.01", "40", "2"], "value": [3.78, 0.01, 40.0, 2.0]},
    index=["a.x.group", "a.x.causal", "b.x.group", "b.x.causal"],
)
SCORES = pd.DataFrame(
    {
        "id": ["b.x.causal", "b.x.group", "a.x.group", "a.x.causal", "other"],
        "score": [0.03, 0.3, 0.01, 0.0, 0.5],
        "low": [0.01, 0.2, 0.0, 0.0, 0.4],
        "high": [0.05, 0.35, 0.02, 0.01, 0.6],
    }
)


def test_published_scores_stand_beside_ours_in_percent():
    suites = pd.DataFrame({"score": [3.779, 0.012, np.nan, 2.04]}, index=PUBLISHED.index)
    table = recording.beside_printed(PUBLISHED, suites, dict.fromkeys(recording.FRESH, SCORES))
    assert table["less than"].tolist() == [False, True, False, False]
    np.testing.assert_allclose(table["as released"], [1, 0, 30, 3])
    np.testing.assert_allclose(table["as described high"], [2, 1, 35, 5])
    relation = recording.relation_to_printed(table)["as released"].to_dict()
    assert relation == {"above it": 2, "printed as below 0.01": 1, "in the interval": 1}
    # Printed: 3.78 > 0.01 and 40 > 2. Ours: a's group is within reach, b's lower end 20 is above 5.
    above = {"printed": 2, "stored suite": 1, "as released": 1, "as described": 1}
    assert recording.group_above_causal(table).to_dict() == above, "a suite that is missing does not count"


def test_means_over_trials_are_in_percent():
    means = recording.mean_scores([SCORES, SCORES.assign(score=SCORES["score"] + 0.02)])
    assert means.loc["b.x.causal"].tolist() == pytest.approx([4, 1, 5])


def all_scores(value):
    ids = [id for instance in INSTANCES for size in (1, 2) for id in instance.sets(size)]
    scores = pd.DataFrame({"id": ids, "score": [value(id.rpartition(".")[2].split("_")) for id in ids]})
    return scores.assign(low=scores["score"] - 0.01, high=scores["score"] + 0.01)


N_CENSUS = sum(instance.data == "census" for instance in INSTANCES)


def test_singles_stand_beside_what_is_published_of_them():
    scores = all_scores(lambda words: len(words[0]) / 100)
    table = recording.singles_beside(scores, pd.Series({"g.census.unaware.race": 36.1})).set_index("instance")
    of_g = table.loc["g.census.unaware"].set_index("characteristic")
    assert of_g.loc["age", "score"] == pytest.approx(3)
    assert of_g["printed"].dropna().to_dict() == {"race": 36.1}
    assert table.loc["g.credit.unaware", "score"].isna().sum() == 4


def test_pairs_beyond_their_parts():
    joint = recording.beyond_parts(all_scores(lambda words: 0.5 if words == ["gender", "race"] else 0.1))
    assert (joint["pair"][:N_CENSUS] == "gender_race").all()
    np.testing.assert_allclose(joint["excess"], [30.0] * N_CENSUS + [-10.0] * (len(joint) - N_CENSUS))


def test_supersets_below_by_their_intervals():
    n_compared, below = recording.supersets_below(all_scores(lambda words: 0.1 * len(words)))
    assert (n_compared, below) == (sum(2 * len(instance.sets(2)) for instance in INSTANCES), [])
    _, below = recording.supersets_below(all_scores(lambda words: 0.3 if words == ["race"] else 0.1))
    assert all(small.endswith(".race") and "race" in large for small, large in below)
    assert len(below) == 5 * N_CENSUS


def of_figure_2(score):
    return recording.of_figure_2(score, printed("figure-2").index)


JUDGES = {"figure-1": recording.of_figure_1, "figure-2": of_figure_2}
LEFT_OPEN = {  # by the counted suites
    "b-gender-causal-far-above-group",
    "b-gender-discriminates-race",
    "aware-still-discriminate",
    "b-gender-more-in-combination",
}


@pytest.mark.parametrize("artefact", JUDGES)
def test_the_printed_scores_make_their_own_claims_hold(artefact):
    answers = recording.in_a_word(JUDGES[artefact](printed(artefact)))
    assert answers == dict.fromkeys(PAPER.artefact(artefact).claims, "holds")


def test_the_stored_suites_decide_what_they_can():
    answers = recording.of_figure_1(scores_of_suites("figure-1")["score"])
    answers |= of_figure_2(scores_of_suites("figure-2")["score"])
    words = recording.answers_beside({"suites": answers})["suites"].to_dict()
    assert words == {id: "not decided" if id in LEFT_OPEN else "holds" for id in answers}
    assert answers["aware-not-better"][1].startswith("the unaware system is lower in 18 of 24 cells")
    assert answers["all-at-least-five"][1] == "17 of 17 sets, the least 5.80%"


@pytest.mark.parametrize(
    ("artefact", "changes", "failed"),
    [
        ("figure-1", {"b.census.gender.gender.causal": 10.0}, "b-gender-causal-far-above-group"),
        ("figure-1", {"b.census.gender.race.causal": 11.2}, "b-gender-discriminates-race"),
        ("figure-1", {"b.census.gender.gender.causal": 10.9}, "aware-still-discriminate"),
        ("figure-2", {"b.census.gender.gender_marital_race": 22.3}, "b-gender-more-in-combination"),
        ("figure-2", {"e.census.unaware.marital": 4.9}, "all-at-least-five"),
    ],
)
def test_claims_of_figures_1_and_2_can_fail(artefact, changes, failed):
    score = printed(artefact)
    score.update(pd.Series(changes))
    assert JUDGES[artefact](score)[failed][0] is False


def test_most_of_all_is_decided_only_if_what_is_missing_cannot_turn_it():
    score = printed("figure-1") * 0 + 1.0
    aware = [id for id in score.index if id[0] in recording.COUNTERPARTS]
    lower = score.mask(score.index.str.contains("unaware"), 0.5)
    unknown = lower.mask(lower.index.isin(aware[:15]))  # 15 of 30 are lower, 15 are not known
    judged = [recording.of_figure_1(of)["aware-not-better"][0] for of in (score, lower, unknown)]
    assert judged == [False, True, None]
    large = score.mask(score.index.str.endswith("gender.group"), 9.0)  # one of the scores of each instance
    unknown = score.mask(score.index.str.endswith("causal"))
    judged = [recording.of_figure_1(of)["many-do-not-discriminate"][0] for of in (score, large, unknown)]
    assert judged == [True, False, None]


# suites

SCHEMA = Schema.from_dict({"x": range(9), "race": range(3), "gender": range(2)})


def written(folder, text):
    """Return the path of a suite of this text."""
    (folder / "suite").write_text(text)
    return folder / "suite"


def counts(path, names, measure="causal"):
    return count_suite(path, SCHEMA, names, measure=measure)


def test_group_suites_by_hand(tmp_path):
    # Women (0): 3 of 4 positive; men (1): 1 of 2. Outputs of system A are 1.0 and -1.0.
    path = written(tmp_path, "1,0,0,1.0\n2,1,0,1.0\n3,2,0,1.0\n4,0,0,-1.0\n5,1,1,1.0\n6,2,1,-1.0\n")
    by_gender = counts(path, "gender", "group")
    assert by_gender == SuiteCounts("group", ("gender",), 6, (4, 2), (3, 1))
    # Race 0: one of two; 1: two of two; 2: one of two.
    assert (score_suite(by_gender), score_suite(counts(path, "race", "group"))) == (0.25, 0.5)


RACES = ["1,0,0,1", "1,1,0,0", "1,2,0,0", "2,0,0,1", "2,1,0,1", "2,2,0,1", "3,0,1,0", "3,1,1,0", "3,2,1,1"]
GENDERS = ["1,0,0,1", "1,0,1,0", "2,0,0,1", "2,0,1,1", "3,0,0,0"]


@pytest.mark.parametrize(
    ("name", "lines", "expected", "score"),
    [
        ("race", RACES, (9, (3,), (2,), 0, 2), 2 / 3),
        ("gender", GENDERS, (5, (2,), (1,), 1, 1), 1 / 2),  # blocks count from the top and the rest is dropped
        # A line too many shifts all later blocks, as in two of the stored suites.
        ("gender", [GENDERS[0], *GENDERS], (6, (3,), (2,), 0, 1), 2 / 3),
        ("gender", ["1,0,0,1", "1,0,1,1"], (2, (1,), (0,), 0, 0), 0),
    ],
)
def test_causal_suites_by_hand(tmp_path, name, lines, expected, score):
    found = counts(written(tmp_path, "\n".join(lines)), name)
    assert (found, score_suite(found)) == (SuiteCounts("causal", (name,), *expected), pytest.approx(score))


@pytest.mark.parametrize(
    "text", ["1,0,0, 1\n1,0,1, 0\n", "1,0,0,,1\n1,0,1,,0\n", "1,0,0 1\n1,0,1,0\n\n", "1 0 0 1.0\n1,0,1,0"]
)
def test_forms_of_lines(tmp_path, text):
    assert counts(written(tmp_path, text), "gender").hits == (1,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n\n", "no line"),
        ("1,0,0,1\n1,0,1\n", "line 2 has 3 fields, expected 4"),
        ("1,0,0,1\n\n1,0,1,1\n", "line 2 has 0 fields, expected 4"),
        ("1,0,0,yes\n", "expected numbers .*yes"),
        ("1,0,0,1\n", "1 lines, a block of gender has 2"),
    ],
)
def test_files_that_are_no_suite(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        counts(written(tmp_path, text), "gender")


PATHS = {
    "a.census.gender.race.group": "figure1/A98",
    "h.census.unaware.gender.causal": "figure1/H9causal",
    "c.credit.gender.gender.causal": "figure1/Ccausalcredit",
    "b.census.gender.gender_marital_race": "figure2/Bcausalmrg.txt",
}


def test_every_suite_is_registered_and_every_printed_score_has_one():
    suites, artefacts = stored_suites(), load_paper("themis").artefacts
    for artefact in ("figure-1", "figure-2"):
        assert {suite.id for suite in suites if suite.artefact == artefact} == set(artefacts[artefact].values)
    assert {suite.path for suite in suites} <= set(project_registry().files)
    assert PATHS.items() <= {suite.id: suite.path.removeprefix("themis_suites/") for suite in suites}.items()


def test_stored_suites_are_scored_from_their_counts():
    table = scores_of_suites("figure-1")
    assert (len(table), table["score"].notna().sum()) == (64, 59)
    row = table.loc["a.census.race.race.causal"]
    assert row[["samples", "changed", "stretches"]].tolist() == [533, 6, 1]
    assert row["in random order"] == pytest.approx(6 * 528 / 533)
    assert table.loc["b.census.gender.gender.causal", ["samples", "score"]].isna().all()


def test_the_table_counts_the_registered_files_and_gives_every_printed_digit():
    paper, counted = load_paper("themis"), 0
    hashes = pd.read_csv(TABLE).groupby("path")["sha256"].unique()
    for suite in stored_suites():
        found = suite.counts()
        if found is None:
            assert (suite.file.sha256, len(suite.file.git_blob_sha1)) == (None, 40)
            continue
        counted += 1
        assert hashes[suite.path].tolist() == [suite.file.sha256]
        assert (found.measure, set(found.characteristics)) == (suite.measure, set(suite.characteristics))
        schema = INPUT_SPACES[suite.data]
        size = schema.n_assignments(schema.positions(suite.characteristics))
        lines = sum(found.n) if suite.measure == "group" else found.n[0] * size + found.dropped
        assert lines == found.lines
        percent = 100 * score_suite(found)
        published = paper.artefact(suite.artefact).values[suite.id]
        assert judge(published, Ours(np.array([percent])))[0] == "exact", suite.id
    assert counted == 76


def test_the_table_can_be_written_and_read(monkeypatch, tmp_path):
    both = {
        "x": SuiteCounts("group", ("race", "sex"), 6, (4, 2), (3, 1)),
        "y": SuiteCounts("causal", ("sex",), 5, (2,), (1,), 1, 1),
    }
    path = tmp_path / "table.csv"
    as_table(both, {"x": "1" * 64, "y": "2" * 64}).to_csv(path, index=False)
    monkeypatch.setattr(suites_module, "TABLE", path)
    assert suites_module._table.__wrapped__() == both


def test_a_suite_that_was_fetched_is_counted(tmp_path, monkeypatch):
    [stored] = [each for each in stored_suites() if each.path == "themis_suites/figure1/F9causal"]
    line = "1,2,3,4,5,6,1,{race},{sex},7,8,9,10,{output}"
    path = written(tmp_path, "\n".join(line.format(race=0, sex=sex, output=sex) for sex in (0, 1)))
    monkeypatch.setattr(suites_module, "local_copy", lambda file: path)
    assert stored.counts() is None, "another file than the registered one"
    monkeypatch.setattr(suites_module, "find_fault", lambda file, copy: None)
    assert stored.counts().hits == (1,)
