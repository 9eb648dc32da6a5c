import subprocess
import sys

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
    favourable = harder_for_women(TABLE)
    by_sex = favourable.groupby(TABLE["sex"]).agg(["sum", "size"])
    assert rates.effect == "selection rate difference, f minus m"
    assert rates.estimate == pytest.approx(
        favourable[TABLE["sex"] == "f"].mean() - favourable[TABLE["sex"] == "m"].mean()
    )
    table = [[n, size - n] for n, size in by_sex.to_numpy()]
    assert rates.p_value == pytest.approx(fisher_exact(table).pvalue)
    assert rates.low < rates.estimate < rates.high < 0
    assert flips.effect == "excess decision flips in matched pairs, f and m"
    assert flips.p_value < 0.01
    assert flips.low > 0
    assert (rates.n, result.n_queries, result.skipped) == (400, 0, ())


def test_evidence_is_people_and_their_counterparts():
    rates, flips = examined(harder_for_women).findings
    for finding in (rates, flips):
        evidence = finding.evidence
        assert len(evidence)
        assert set(evidence.index) <= set(TABLE.index)
        pd.testing.assert_frame_equal(evidence[TABLE.columns.tolist()], TABLE.loc[evidence.index])
        for _, match in evidence.groupby("match"):
            assert match["role"].tolist() == ["person", "counterpart", "counterpart"]
            sexes, decisions = match["sex"].tolist(), match["favourable"].tolist()
            assert sexes[0] != sexes[1] == sexes[2]
            assert decisions[0] != decisions[1] == decisions[2]
        assert "people against their counterparts: " in evidence.attrs["in_words"]
    # Of the difference, flips in its direction.
    assert (rates.evidence.loc[rates.evidence["sex"] == "m", "favourable"]).all()
    assert not (rates.evidence.loc[rates.evidence["sex"] == "f", "favourable"]).any()


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
    table = TABLE.assign(town=[f"town {i}" for i in range(len(TABLE))])
    (reason,) = examined(lambda rows: rows["age"] > 40, "town", table=table).skipped
    assert reason.startswith(f"town: fewer than {FEWEST} people are town ")
    assert reason.endswith(" (1) and 397 more.")
    assert reason.count("(1)") == 3
    letters = table.assign(town=np.r_[["a"] * 180, ["b"] * 180, list("cdef") * 10])
    (reason,) = examined(lambda rows: rows["age"] > 40, "town", table=letters).skipped
    assert reason == f"town: fewer than {FEWEST} people are c (10), d (10), e (10) and 1 more."


def test_missing_values_are_a_group():
    result = examined(lambda rows: rows["job"].isna(), "job")
    estimates = result.to_frame().set_index("effect")["estimate"].filter(like="rate")
    assert len(estimates) == 3
    assert estimates.iloc[-1] == 1


def test_the_same_again():
    first, again = (examined(harder_for_women).to_frame() for _ in range(2))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(examined(harder_for_women, random_state=1).to_frame())


def test_what_cannot_be_examined():
    numbers = examined(lambda rows: rows["income"] * 1.0)
    assert numbers.findings == ()
    assert "decision_threshold= of the case makes decisions of them" in numbers.skipped[0]
    alone = examined(lambda rows: rows["sex"] == "f", features=["sex"])
    assert len(alone.findings) == 1
    assert alone.skipped == ("Flips by sex: the model gets no other feature to match people on.",)
    case = Case(harder_for_women, TABLE, sensitive_features="sex")
    case.queries.is_deterministic = False
    noisy = run("fliptest", case, budget=0)
    assert [finding.effect[:9] for finding in noisy.findings] == ["selection"]
    assert noisy.skipped[0].startswith("Flips: the model answers the same row differently")


def test_nobody_favoured():
    rates, flips = examined(lambda rows: (rows["age"] > 100) | (rows["age"] == TABLE["age"].iloc[0])).findings
    assert rates.low <= rates.estimate <= rates.high
    assert flips.low <= flips.estimate <= flips.high


def test_names_of_the_evidence_give_way():
    evidence = examined(harder_for_women, table=TABLE.assign(match=1)).findings[0].evidence
    assert "match_" in evidence.columns
    assert (evidence["match"] == 1).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": -1}, "budget: expected an integer, at least 0, found -1"),
        ({"budget": 0, "confidence_level": 95}, "confidence_level: expected a number between 0 and 1, found 95"),
        ({"budget": 2.5}, "budget: expected an integer"),
        ({"budget": 0, "random_state": -1}, "random_state: expected"),
    ],
)
def test_bad_options(options, message):
    case = Case(harder_for_women, TABLE, sensitive_features="sex")
    with pytest.raises(ValueError, match=message):
        run("fliptest", case, **options)


def test_no_tensorflow():
    code = (
        "import sys, pandas as pd\n"
        "from fairlab.cases import Case\n"
        "from fairlab.auditing import run\n"
        "table = pd.DataFrame({'sex': ['f', 'm'] * 40, 'age': range(80)})\n"
        "run('fliptest', Case(lambda rows: rows['age'] > 40, table, sensitive_features='sex'), budget=0)\n"
        "assert 'tensorflow' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_columns_of_every_kind():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "member": rng.random(200) < 0.5,
            "age": rng.integers(18, 80, 200),
            "children": pd.array(rng.choice([0, 1, None], 200), dtype="Int64"),
            "owner": pd.array(rng.choice([True, False, None], 200), dtype="boolean"),
            "grade": pd.Categorical(rng.choice(list("abc"), 200), ordered=True),
            "job": pd.array(rng.choice(["x", "y", None], 200), dtype="string"),
            "income": np.where(rng.random(200) < 0.1, np.nan, rng.normal(size=200)),
        },
        index=["same label"] * 200,
    )
    result = examined(lambda rows: rows["age"] > 40, ["member", "age", "children", "owner", "grade", "job"], table)
    frame = result.to_frame()
    assert set(frame["sensitive_features"]) == {"member", "age", "children", "owner", "grade", "job"}
    assert (frame.loc[frame["effect"].str.startswith("excess"), "sensitive_features"].value_counts() >= 1).all()
    assert frame[["estimate", "low", "high", "p_value"]].notna().all(axis=None)
    assert frame.query("sensitive_features == 'age'")["p_value"].min() < 1e-6
    assert frame.query("sensitive_features != 'age'")["p_value"].min() > 0.001
