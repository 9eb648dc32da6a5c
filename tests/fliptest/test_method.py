import numpy as np
import pandas as pd
import pytest

from fairlab.auditing import audit, run
from fairlab.cases import Case
from fairlab.fliptest.counterparts import LEAST_MATCHED

RNG, N = np.random.default_rng(0), 400
TABLE = pd.DataFrame(
    {
        "sex": RNG.choice(["f", "m"], N),
        "race": RNG.choice(["a", "b", "c"], N, p=[0.6, 0.35, 0.05]),
        "age": RNG.integers(18, 80, N),
        "income": RNG.normal(3e4, 1e4, N),
        "job": RNG.choice(["cook", "clerk", None], N),
    },
    index=[f"p{i}" for i in RNG.permutation(N)],
)


def harder_for_women(rows):
    return rows["age"] > np.where(rows["sex"] == "f", 60, 40)


def examined(model, sensitive_features="sex", table=TABLE, **options):
    return run("fliptest", Case(model, table, sensitive_features=sensitive_features, **options), budget=0)


def test_a_clear_rule_is_found_with_who_loses_by_it():
    result = examined(harder_for_women)
    [flips] = result.findings
    assert (flips.measure, flips.population, result.n_queries, result.skipped) == ("excess_flip_rate", "people", 0, ())
    assert flips.effect == "excess decision flips in matched pairs, f and m (0: chance explains them)" and flips.low > 0
    assert flips.p_value == flips.test(0) < 0.02 < flips.test(flips.estimate)
    assert 0 < flips.smallest(0.05, 0) < flips.smallest(0.01, 0.005) < 1
    assert flips.by_group["lose"]["f"] > 0 == flips.by_group["lose"]["m"]
    assert flips.by_group["people"].sum() * 3 == flips.n
    assert "of f lose by it (decision unfavourable, otherwise favourable); " in flips.sentence
    assert flips.sentence.endswith(flips.evidence.attrs["in_words"])
    assert "people against their counterparts: " in flips.sentence


def test_evidence_is_people_and_their_counterparts():
    evidence = examined(harder_for_women).findings[0].evidence
    pd.testing.assert_frame_equal(evidence[list(TABLE)], TABLE.loc[evidence.index])
    roles, sexes, decisions = (evidence[name].to_numpy().reshape(-1, 3) for name in ("role", "sex", "favourable"))
    assert (roles == ["person", "counterpart", "counterpart"]).all()
    assert all((matches[:, 1:] != matches[:, :1]).all() for matches in (sexes, decisions))
    assert (evidence["match"].value_counts() == 3).all()
    assert not decisions[0, 0], "those who lose come first"


def test_more_groups_than_two():
    result = examined(lambda rows: rows["race"] == "b", ["race", "sex"])
    effects = [each.effect for each in result.findings if each.who == "race"]
    named = "excess decision flips in matched pairs, {} and everyone else (0: chance explains them)"
    assert effects == [named.format("a"), named.format("b")]
    n = (TABLE["race"] == "c").sum()
    assert n < LEAST_MATCHED and result.skipped == (f"race: fewer than {LEAST_MATCHED} people are c ({n}).",)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_what_coarse_matches_hide_is_not_ruled_out(rng):
    numbers = pd.DataFrame(rng.normal(size=(900, 10)), columns=list("abcdefghij")).assign(sex=[0, 1] * 450)
    flips_a_sixth = Case(lambda rows: rows["a"] + 0.4 * (rows["sex"] - 0.5) > 0, numbers, sensitive_features="sex")
    report = audit(flips_a_sixth, methods=["fliptest"], progress=False)
    [coarse], [row] = report.findings, report.frame.itertuples()
    assert (coarse.estimate < 0.05, coarse.p_value_within(0.05), coarse.sentence[-15:]) == (True, 1, "of 29.7% in all")
    assert (row.answer, row.people_needed) == ("undecided", np.inf)
    jobs = pd.DataFrame({"job": np.tile(list("abcde"), 600), "sex": [0, 1] * 1_500})
    [exact] = run("fliptest", Case(lambda rows: rows["job"] > "b", jobs, sensitive_features="sex"), budget=0).findings
    assert exact.p_value_within(0.1) < 0.05  # nearly all have counterparts with their job


def in_towns(towns):
    return TABLE.assign(town=list(towns))


@pytest.mark.parametrize(
    ("table", "sensitive_features", "n_findings", "skipped"),
    [
        (in_towns("k" * 30 + "a" * 370), "town", 1, ()),
        (in_towns("k" * 29 + "a" * 371), "town", 0, ("town: fewer than 30 people are k (29).",)),
        (
            in_towns("a" * 180 + "b" * 180 + "cdef" * 10),
            "town",
            2,
            ("town: fewer than 30 people are c (10), d (10), e (10) and 1 more.",),
        ),
        (
            in_towns("k" * 30 + "abcdefghij" * 37),
            "town",
            10,
            ("town: only the 10 largest groups are compared, not k.",),
        ),
        (in_towns("abcdefghij" * 40), "town", 10, ()),
        (in_towns("a" * 370 + "cde" * 10), "town", 1, ("town: fewer than 30 people are c (10), d (10), e (10).",)),
        (in_towns("a" * 370 + "bc" * 15), "town", 1, ("town: fewer than 30 people are b (15), c (15).",)),
        (TABLE[["sex"]], "sex", 0, ("Flips by sex: there is no other feature to match people on.",)),
    ],
)
def test_groups_of_at_least_thirty_are_matched_and_the_ten_largest(table, sensitive_features, n_findings, skipped):
    result = examined(lambda rows: rows["sex"] == "f", sensitive_features, table=table)
    assert (len(result.findings), result.skipped) == (n_findings, skipped)
