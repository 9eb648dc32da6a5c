import numpy as np
import pandas as pd

from fairlab.auditing import run
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
    assert flips.effect == "excess decision flips in matched pairs, f and m (0: chance explains them)"
    assert flips.low > 0
    assert flips.p_value == flips.test(0) < 0.01 < flips.test(flips.estimate)
    assert 0 < flips.smallest(0.05, 0) < flips.smallest(0.01, 0.005) < 1
    assert flips.by_group["lose"]["f"] > 0 == flips.by_group["lose"]["m"]
    assert flips.by_group["people"].sum() * 3 == flips.n
    assert "of f lose by it (decision unfavourable, otherwise favourable); " in flips.sentence


def test_evidence_is_people_and_their_counterparts():
    evidence = examined(harder_for_women).findings[0].evidence
    pd.testing.assert_frame_equal(evidence[list(TABLE)], TABLE.loc[evidence.index])
    roles, sexes, decisions = (evidence[name].to_numpy().reshape(-1, 3) for name in ("role", "sex", "favourable"))
    assert (roles == ["person", "counterpart", "counterpart"]).all()
    assert all((matches[:, 1:] != matches[:, :1]).all() for matches in (sexes, decisions))
    assert (evidence["match"].value_counts() == 3).all()
    assert "people against their counterparts: " in evidence.attrs["in_words"]
    assert not decisions[0, 0], "those who lose come first"


def test_more_groups_than_two():
    result = examined(lambda rows: rows["race"] == "b", ["race", "sex"])
    effects = [each.effect for each in result.findings if each.who == "race"]
    named = "excess decision flips in matched pairs, {} and everyone else (0: chance explains them)"
    assert effects == [named.format("a"), named.format("b")]
    n = (TABLE["race"] == "c").sum()
    assert n < LEAST_MATCHED
    assert result.skipped == (f"race: fewer than {LEAST_MATCHED} people are c ({n}).",)


def test_of_many_small_groups_three_are_named():
    table = TABLE.assign(town=np.r_[["a"] * 180, ["b"] * 180, list("cdef") * 10])
    (reason,) = examined(lambda rows: rows["age"] > 40, "town", table=table).skipped
    assert reason == f"town: fewer than {LEAST_MATCHED} people are c (10), d (10), e (10) and 1 more."
