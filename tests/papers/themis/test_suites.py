import pytest

from fairlab.cases import Schema, SchemaError
from fairlab.data.registry import project_registry
from fairlab.papers.themis.suites import SuiteError, score_suite, stored_suites
from fairlab.paths import EXPERIMENTS
from fairlab.suite.published import read_paper

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
    score = score_suite(path, SCHEMA, "gender", measure="group")
    assert (score.score, score.percent, score.samples, score.dropped) == (0.25, 25, 6, 0)
    # Race 0: one of two; 1: two of two; 2: one of two.
    assert score_suite(path, SCHEMA, "race", measure="group").score == 0.5


def test_causal_suites_by_hand(suite):
    lines = ["1,0,0,1", "1,1,0,0", "1,2,0,0", "2,0,0,1", "2,1,0,1", "2,2,0,1", "3,0,1,0", "3,1,1,0", "3,2,1,1"]
    score = score_suite(suite("\n".join(lines)), SCHEMA, "race", measure="causal")
    assert (score.score, score.samples, score.dropped, score.stretches) == (pytest.approx(2 / 3), 3, 0, 2)
    assert score.characteristics == ("race",)


def test_blocks_count_from_the_top_and_the_rest_is_dropped(suite):
    lines = ["1,0,0,1", "1,0,1,0", "2,0,0,1", "2,0,1,1", "3,0,0,0"]
    score = score_suite(suite("\n".join(lines)), SCHEMA, "gender", measure="causal")
    assert (score.score, score.samples, score.dropped, score.stretches) == (0.5, 2, 1, 1)
    # A line too many shifts all later blocks, as in two of the stored suites.
    shifted = score_suite(suite("\n".join([lines[0], *lines])), SCHEMA, "gender", measure="causal")
    assert (shifted.score, shifted.samples, shifted.dropped) == (pytest.approx(2 / 3), 3, 0)


def test_what_the_scripts_print_is_never_below_their_floor(suite):
    score = score_suite(suite("1,0,0,1\n1,0,1,1\n"), SCHEMA, "gender", measure="causal")
    assert (score.score, score.percent, score.stretches) == (0, 0.01, 0)
    assert score.to_frame()["percent"].tolist() == [0.01]


@pytest.mark.parametrize(
    "text", ["1,0,0, 1\n1,0,1, 0\n", "1,0,0,,1\n1,0,1,,0\n", "1,0,0 1\n1,0,1,0\n\n", "1 0 0 1.0\n1,0,1,0"]
)
def test_forms_of_lines(suite, text):
    assert score_suite(suite(text), SCHEMA, "gender", measure="causal").score == 1


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
    with pytest.raises(SuiteError, match=message):
        score_suite(suite(text), SCHEMA, "gender", measure="causal")


def test_bad_questions(suite):
    with pytest.raises(ValueError, match="measure is 'both', expected one of group, causal"):
        score_suite(suite("1,0,0,1"), SCHEMA, "gender", measure="both")
    with pytest.raises(SchemaError, match="'age' is not in the schema"):
        score_suite(suite("1,0,0,1"), SCHEMA, "age", measure="group")


def test_stored_suites_are_registered_and_their_scores_printed():
    suites = stored_suites()
    figures = [suite.artefact for suite in suites]
    # 64 cells less the 5 without a suite; 20 sets less 3.
    assert (figures.count("figure-1"), figures.count("figure-2")) == (59, 17)
    assert len({suite.path for suite in suites}) == len(suites)
    registry, paper = project_registry(), read_paper(EXPERIMENTS / "themis" / "published.yaml")
    for suite in suites:
        assert suite.path in registry.files
        assert suite.id in paper.artefact(suite.artefact).values
    by_id = {suite.id: suite for suite in suites}
    assert by_id["a.census.gender.race.group"].path.endswith("/A98")
    assert by_id["h.census.unaware.gender.causal"].path.endswith("/H9causal")
    assert by_id["c.credit.gender.gender.causal"].path.endswith("/Ccausalcredit")
    assert by_id["b.census.gender.gender_marital_race"].characteristics == ("sex", "marital-status", "race")


def test_a_stored_suite_scores_a_copy(suite):
    stored = next(s for s in stored_suites() if s.id == "e.census.unaware.gender.causal")
    line = "1,2,3,4,5,6,1,{race},{sex},7,8,9,10,{output}"
    path = suite("\n".join(line.format(race=0, sex=sex, output=sex) for sex in (0, 1)))
    assert stored.score(path).percent == 100
