import numpy as np
import pandas as pd
import pytest

from fairlab.cases import CaseError, Schema
from fairlab.data.registry import project_registry
from fairlab.papers.themis import suites as suites_module
from fairlab.papers.themis.instances import INPUT_SPACES
from fairlab.papers.themis.suites import (
    TABLE,
    SuiteCounts,
    as_table,
    count_suite,
    score_suite,
    stored_suites,
)
from fairlab.paths import project
from fairlab.suite.published import read_paper
from fairlab.suite.verdicts import Ours, Pair, judge

EXPERIMENTS = project().experiments

SCHEMA = Schema.from_dict({"x": range(9), "race": range(3), "gender": range(2)})


@pytest.fixture
def suite(tmp_path):
    def write(text):
        path = tmp_path / "suite"
        path.write_text(text)
        return path

    return write


def test_group_suites_by_hand(suite):
    # Women (0): 3 of 4 positive; men (1): 1 of 2. Outputs of system A are 1.0 and -1.0.
    path = suite("1,0,0,1.0\n2,1,0,1.0\n3,2,0,1.0\n4,0,0,-1.0\n5,1,1,1.0\n6,2,1,-1.0\n")
    counts = count_suite(path, SCHEMA, "gender", measure="group")
    assert counts == SuiteCounts("group", ("gender",), 6, (4, 2), (3, 1))
    assert score_suite(counts) == 0.25
    # Race 0: one of two; 1: two of two; 2: one of two.
    assert score_suite(count_suite(path, SCHEMA, "race", measure="group")) == 0.5


def test_causal_suites_by_hand(suite):
    lines = ["1,0,0,1", "1,1,0,0", "1,2,0,0", "2,0,0,1", "2,1,0,1", "2,2,0,1", "3,0,1,0", "3,1,1,0", "3,2,1,1"]
    counts = count_suite(suite("\n".join(lines)), SCHEMA, "race", measure="causal")
    assert counts == SuiteCounts("causal", ("race",), 9, (3,), (2,), 0, 2)
    assert score_suite(counts) == pytest.approx(2 / 3)


def test_blocks_count_from_the_top_and_the_rest_is_dropped(suite):
    lines = ["1,0,0,1", "1,0,1,0", "2,0,0,1", "2,0,1,1", "3,0,0,0"]
    counts = count_suite(suite("\n".join(lines)), SCHEMA, "gender", measure="causal")
    assert counts == SuiteCounts("causal", ("gender",), 5, (2,), (1,), 1, 1)
    # A line too many shifts all later blocks, as in two of the stored suites.
    shifted = count_suite(suite("\n".join([lines[0], *lines])), SCHEMA, "gender", measure="causal")
    assert shifted == SuiteCounts("causal", ("gender",), 6, (3,), (2,), 0, 1)


def test_nothing_changed_is_a_score_of_0(suite):
    counts = count_suite(suite("1,0,0,1\n1,0,1,1\n"), SCHEMA, "gender", measure="causal")
    assert (counts.hits, counts.stretches) == ((0,), 0)
    assert score_suite(counts) == 0


@pytest.mark.parametrize(
    "text", ["1,0,0, 1\n1,0,1, 0\n", "1,0,0,,1\n1,0,1,,0\n", "1,0,0 1\n1,0,1,0\n\n", "1 0 0 1.0\n1,0,1,0"]
)
def test_forms_of_lines(suite, text):
    assert count_suite(suite(text), SCHEMA, "gender", measure="causal").hits == (1,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no line"),
        ("\n\n", "no line"),
        ("1,0,0,1\n1,0,1\n", "line 2 has 3 fields, expected 4"),
        ("1,0,0,1\n\n1,0,1,1\n", "line 2 has 0 fields, expected 4"),
        ("1,0,0,1\n1,0,1,1,0\n", "line 2 has 5 fields, expected 4"),
        ("1,0,0,yes\n", "expected numbers .*yes"),
        ("1,0,0,1\n", "1 lines, a block of gender has 2"),
    ],
)
def test_files_that_are_no_suite(suite, text, message):
    with pytest.raises(ValueError, match=message):
        count_suite(suite(text), SCHEMA, "gender", measure="causal")


def test_bad_questions(suite):
    with pytest.raises(ValueError, match="measure: expected one of group, causal, found 'both'"):
        count_suite(suite("1,0,0,1"), SCHEMA, "gender", measure="both")
    with pytest.raises(CaseError, match="'age' is not in the schema"):
        count_suite(suite("1,0,0,1"), SCHEMA, "age", measure="group")


def test_stored_suites_are_registered_and_their_scores_printed():
    suites = stored_suites()
    figures = [suite.artefact for suite in suites]
    assert (figures.count("figure-1"), figures.count("figure-2")) == (64, 20)
    assert len({suite.path for suite in suites}) == len(suites)
    paper = read_paper(EXPERIMENTS / "themis" / "published.yaml")
    for suite in suites:
        assert suite.path in project_registry().files
        assert suite.id in paper.artefact(suite.artefact).values
    by_id = {suite.id: suite for suite in suites}
    assert by_id["a.census.gender.race.group"].path.endswith("/A98")
    assert by_id["h.census.unaware.gender.causal"].path.endswith("/H9causal")
    assert by_id["c.credit.gender.gender.causal"].path.endswith("/Ccausalcredit")
    assert by_id["b.census.gender.gender_marital_race"].characteristics == ("sex", "marital-status", "race")


def test_the_table_counts_the_registered_files_and_gives_every_printed_digit():
    paper, counted = read_paper(EXPERIMENTS / "themis" / "published.yaml"), 0
    hashes = pd.read_csv(TABLE).groupby("path")["sha256"].unique()
    for suite in stored_suites():
        counts = suite.counts()
        if counts is None:
            assert (suite.file.sha256, len(suite.file.git_blob_sha1)) == (None, 40)
            continue
        counted += 1
        assert hashes[suite.path].tolist() == [suite.file.sha256]
        assert (counts.measure, set(counts.characteristics)) == (suite.measure, set(suite.characteristics))
        schema = INPUT_SPACES[suite.data]
        size = schema.n_assignments(schema.positions(suite.characteristics))
        if suite.measure == "group":
            assert (len(counts.n), sum(counts.n)) == (size, counts.lines)
        else:
            assert counts.n[0] * size + counts.dropped == counts.lines
        assert all(hits <= n for hits, n in zip(counts.hits, counts.n, strict=True))
        percent = 100 * score_suite(counts)
        published = paper.artefact(suite.artefact).values[suite.id]
        assert judge(Pair(published, Ours(np.array([percent]))))[0] == "exact", suite.id
    assert counted == 76


def test_the_table_can_be_written_and_read(monkeypatch, tmp_path):
    counts = {
        "x": SuiteCounts("group", ("race", "sex"), 6, (4, 2), (3, 1)),
        "y": SuiteCounts("causal", ("sex",), 5, (2,), (1,), 1, 1),
    }
    path = tmp_path / "table.csv"
    as_table(counts, {"x": "1" * 64, "y": "2" * 64}).to_csv(path, index=False)
    monkeypatch.setattr(suites_module, "TABLE", path)
    assert suites_module._table.__wrapped__() == counts


def test_a_suite_that_was_fetched_is_counted(suite, monkeypatch):
    [stored] = [each for each in stored_suites() if each.path == "themis_suites/figure1/F9causal"]
    monkeypatch.setattr(suites_module, "local_copy", lambda file: None)
    assert stored.counts() is None
    line = "1,2,3,4,5,6,1,{race},{sex},7,8,9,10,{output}"
    path = suite("\n".join(line.format(race=0, sex=sex, output=sex) for sex in (0, 1)))
    monkeypatch.setattr(suites_module, "local_copy", lambda file: path)
    assert stored.counts() is None, "another file than the registered one"
    monkeypatch.setattr(suites_module, "find_fault", lambda file, copy: None)
    assert stored.counts().hits == (1,)
