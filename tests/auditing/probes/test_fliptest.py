import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact

from fairlab.auditing import run
from fairlab.cases import Case
from fairlab.fliptest.counterparts import FEWEST


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "race": rng.choice(["a", "b", "c"], n, p=[0.6, 0.35, 0.05]),
            "age": rng.integers(18, 80, n),
            "income": rng.normal(3e4, 1e4, n),
            "job": rng.choice(["cook", "clerk", None], n),
        },
        index=[f"p{i}" for i in rng.permutation(n)],
    )


TABLE = people()


def harder_for_women(rows):
    return rows["age"] > np.where(rows["sex"] == "f", 60, 40)


def examined(model, sensitive_features="sex", table=TABLE, **options):
    case_options = {key: options.pop(key) for key in ("features",) if key in options}
    return run(
        "fliptest", Case(model, table, sensitive_features=sensitive_features, **case_options), budget=0, **options
    )


def test_a_clear_rule_is_found():
    result = examined(harder_for_women)
    rates, flips = result.findings
    favoured, size = harder_for_women(TABLE).groupby(TABLE["sex"]).agg(["sum", "size"]).to_numpy().T
    assert rates.effect == "selection rate difference, f minus m"
    assert rates.estimate == pytest.approx(favoured[0] / size[0] - favoured[1] / size[1])
    assert rates.p_value == pytest.approx(fisher_exact(np.stack([favoured, size - favoured])).pvalue)
    assert rates.low < rates.estimate < rates.high < 0
    assert flips.effect == "excess decision flips in matched pairs, f and m"
    assert flips.p_value < 0.01
    assert flips.low > 0
    assert (rates.n, result.n_queries, result.skipped) == (400, 0, ())


def test_evidence_is_people_and_their_counterparts():
    rates, flips = examined(harder_for_women).findings
    for evidence in (rates.evidence, flips.evidence):
        pd.testing.assert_frame_equal(evidence[TABLE.columns.tolist()], TABLE.loc[evidence.index])
        assert evidence["match"].nunique() > 0
        for _, match in evidence.groupby("match"):
            assert match["role"].tolist() == ["person", "counterpart", "counterpart"]
            for person, *counterparts in (match["sex"], match["favourable"]):
                assert person != counterparts[0] == counterparts[1]
        assert "people against their counterparts: " in evidence.attrs["in_words"]
    # Of the difference, flips in its direction.
    assert (rates.evidence["favourable"] == (rates.evidence["sex"] == "m")).all()


def test_opposite_rules_show_in_flips_alone():
    rates, flips = examined(lambda rows: (rows["age"] > 48) == (rows["sex"] == "f")).findings
    assert rates.p_value > 0.05
    assert flips.low > 0.4
    assert flips.p_value < 1e-6


def test_sensitive_columns_that_the_model_does_not_get():
    rates, flips = examined(lambda rows: rows["age"] > 40, features=["age", "income", "job"]).findings
    assert rates.p_value > 0.05
    assert flips.p_value > 0.05
    proxy = TABLE.assign(income=TABLE["income"] + np.where(TABLE["sex"] == "f", 0, 3e4))
    rates, _ = examined(lambda rows: rows["income"] > 4e4, table=proxy, features=["age", "income", "job"]).findings
    assert rates.p_value < 1e-6


def test_more_groups_than_two():
    result = examined(lambda rows: rows["race"] == "b", ["race", "sex"])
    effects = result.to_frame().query("sensitive_features == 'race'")["effect"].tolist()
    assert effects[0] == "selection rate difference, a minus everyone else"
    assert effects[2] == "selection rate difference, b minus everyone else"
    assert len(effects) == 4
    n = (TABLE["race"] == "c").sum()
    assert n < FEWEST
    assert result.skipped == (f"race: fewer than {FEWEST} people are c ({n}).",)


def test_of_many_small_groups_three_are_named():
    table = TABLE.assign(town=np.r_[["a"] * 180, ["b"] * 180, list("cdef") * 10])
    (reason,) = examined(lambda rows: rows["age"] > 40, "town", table=table).skipped
    assert reason == f"town: fewer than {FEWEST} people are c (10), d (10), e (10) and 1 more."


def test_missing_values_are_a_group():
    result = examined(lambda rows: rows["job"].isna(), "job")
    estimates = result.to_frame().set_index("effect")["estimate"].filter(like="rate")
    assert len(estimates) == 3
    assert estimates.iloc[-1] == 1
