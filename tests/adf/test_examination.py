import numpy as np
import pandas as pd
import pytest

from fairlab.adf import examine, examine_adf, examine_aequitas
from fairlab.cases import Case

RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "sex": RNG.choice(["f", "m"], 160),
        "age": RNG.integers(18, 78, 160),
        "income": RNG.lognormal(3, 0.5, 160),
        "job": pd.Categorical(RNG.choice(["cook", "clerk", None], 160)),
        "member": RNG.integers(0, 2, 160).astype(bool),
    },
    index=pd.Index([f"p{k}" for k in range(160)]),
)
FEATURES = ["sex", "age", "income", "job", "member"]


def score(rows):
    """Women under 40 need a little more."""
    assert list(rows.columns) == FEATURES
    assert (rows["job"].dtype, rows["member"].dtype) == (PEOPLE["job"].dtype, bool)
    return rows["income"] / 10 + rows["member"] - 0.4 * ((rows["sex"] == "f") & (rows["age"] < 40))


def fair(rows):
    return rows["income"] / 10 + rows["age"] / 60


@pytest.fixture(scope="module")
def case():
    return Case(score, PEOPLE, sensitive="sex", threshold=2.5)


@pytest.fixture(scope="module")
def both(case):
    return examine(case, budget=4000)


def test_findings_of_both_methods(both, case):
    assert both.method == "ADF and AEQUITAS"
    assert [(finding.method, finding.where) for finding in both.findings] == [
        ("ADF", "people of the table"),
        ("ADF", "uniformly random inputs"),
        ("AEQUITAS", "uniformly random inputs"),
    ]
    assert both.not_examined == ()
    assert 0 < both.n_queries <= 4000
    for finding in both.findings:
        assert finding.sensitive == "sex"
        assert 0 < finding.low <= finding.estimate <= finding.high < 1
        assert finding.p_value == 0
    assert both.findings[1].random_per_1000 == both.findings[2].random_per_1000, "one sample for both"


def test_evidence_is_pairs_that_differ_in_the_sensitive_attribute_and_the_decision_alone(both, case):
    for finding in both.findings:
        shown = finding.evidence
        assert len(shown) == finding.n_found > 0
        changed = shown.assign(sex=shown["other sex"])
        assert (shown["sex"] != shown["other sex"]).all()
        np.testing.assert_array_equal(case.decide(shown[FEATURES]), shown["favourable"])
        np.testing.assert_array_equal(case.decide(changed[FEATURES]), ~shown["favourable"])
        assert not shown[FEATURES].drop(columns="sex").duplicated().any()


def test_people_keep_their_labels_and_inputs_are_marked(both):
    people, *inputs = (finding.evidence for finding in both.findings)
    pd.testing.assert_frame_equal(people[FEATURES], PEOPLE.loc[people.index])
    assert people["other sex"].dtype == PEOPLE["sex"].dtype
    assert not people.attrs.get("generated")
    for shown in inputs:
        assert shown.attrs["generated"] is True
        assert isinstance(shown.index, pd.RangeIndex)


def test_the_share_of_people_is_that_of_the_table(both):
    other = PEOPLE.assign(sex=PEOPLE["sex"].map({"f": "m", "m": "f"}))
    expected = ((score(PEOPLE) >= 2.5) != (score(other) >= 2.5)).mean()
    finding = both.findings[0]
    assert (finding.n, finding.estimate) == (160, pytest.approx(expected))


def test_searches_find_more_than_chance(both):
    for finding in both.findings[1:]:
        assert finding.n_asked > finding.n
        assert finding.found_per_1000 > finding.random_per_1000 > 0
        assert f"{finding.n_found:,} found" in finding.summary
        assert "by search" in repr(finding)
    assert "by search" not in both.findings[0].summary


def test_the_same_seed_gives_the_same_findings():
    first, again, third = (
        examine(Case(score, PEOPLE, sensitive="sex", threshold=2.5), budget=800, random_state=seed)
        for seed in (0, 0, 1)
    )
    pd.testing.assert_frame_equal(again.to_frame(), first.to_frame())
    for one, other in zip(again.findings, first.findings, strict=True):
        pd.testing.assert_frame_equal(one.evidence, other.evidence)
    assert not third.findings[1].evidence.equals(first.findings[1].evidence)


def test_a_fair_model_gives_no_evidence():
    found = examine(Case(fair, PEOPLE, sensitive=["sex", "member"], threshold=2.5), budget=4000)
    assert len(found.findings) == 6
    for finding in found.findings:
        assert (finding.n_found, finding.estimate, finding.low, finding.p_value) == (0, 0, 0, 1)
        assert 0 < finding.high < 0.2
        assert len(finding.evidence) == 0


def test_a_small_domain_is_asked_whole():
    table = PEOPLE[["sex", "member", "job"]]
    model = lambda rows: (rows["sex"] == "m") & rows["member"] & (rows["job"] == "cook")  # noqa: E731
    [people, exact] = examine_adf(Case(_score_of(model), table, sensitive="sex", threshold=0.5), budget=4000).findings
    assert exact.where == "all inputs of the domain"
    assert exact.low == exact.estimate == exact.high == pytest.approx(1 / 6), "one of six combinations"
    assert exact.n == 6
    assert people.estimate == pytest.approx(((table["job"] == "cook") & table["member"]).mean())
    [only] = examine_aequitas(Case(model, table, sensitive="sex"), budget=2000).findings
    assert only.estimate == pytest.approx(1 / 6)


def _score_of(model):
    return lambda rows: model(rows).astype(float) * 2


def test_labels_alone_are_enough_for_aequitas_and_for_people():
    case = Case(lambda rows: score(rows) >= 2.5, PEOPLE, sensitive="sex")
    found = examine(case, budget=4000)
    assert [(finding.method, finding.where) for finding in found.findings] == [
        ("ADF", "people of the table"),
        ("AEQUITAS", "uniformly random inputs"),
    ]
    assert found.not_examined == (
        "sex: the model gives labels and no scores, whose slopes ADF follows; the people of the table were asked.",
    )


def test_what_the_model_does_not_get_has_no_direct_effect():
    model = lambda rows: rows["income"] > 20  # noqa: E731
    table = PEOPLE.assign(race=RNG.choice(["a", "b"], 160))
    case = Case(model, table, sensitive=["race", "sex"], features=FEATURES)
    found = examine(case, budget=3000)
    assert {finding.sensitive for finding in found.findings} == {"sex"}
    assert "race: the model does not get it, so that its direct effect is 0 by construction." in found.not_examined
    nothing = examine(Case(model, table, sensitive="race", features=["income"]), budget=3000)
    assert (nothing.findings, nothing.n_queries) == ((), 0)


def test_numbers_and_noise_are_not_examined():
    numbers = Case(lambda rows: rows["income"] * 10, PEOPLE, sensitive="sex")
    assert numbers.task == "numbers"
    assert examine(numbers, budget=1000).not_examined == (
        "The model gives numbers, not decisions; a threshold would make decisions of them.",
    )
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="not deterministic"):
        noise = Case(lambda rows: rng.normal(size=len(rows)), PEOPLE, sensitive="sex", threshold=0.0)
    found = examine(noise, budget=1000)
    assert (found.findings, len(found.not_examined)) == ((), 1)
    assert "answers the same row differently" in found.not_examined[0]


@pytest.mark.parametrize("budget", [0, 1, 3, 10, 50, 200])
def test_a_small_budget_is_kept(budget):
    case = Case(score, PEOPLE, sensitive=["sex", "member"], threshold=2.5)
    found = examine(case, budget=budget)
    assert found.n_queries <= budget
    if not found.findings:
        assert any(f"sex: a budget of {budget // 4} rows does not suffice" in said for said in found.not_examined)


def test_the_model_may_get_the_sensitive_attribute_alone():
    case = Case(_score_of(lambda rows: rows["sex"] == "m"), PEOPLE, sensitive="sex", features=["sex"], threshold=1.0)
    assert [finding.estimate for finding in examine(case, budget=1000).findings] == [1, 1, 1]


def test_one_row_is_no_reason_to_fail():
    table = pd.concat([PEOPLE.head(1)] * 2).assign(sex=["f", "m"])
    found = examine(Case(score, table, sensitive="sex", threshold=2.5), budget=500)
    assert found.findings[0].n == 2


def test_a_wide_number_is_varied_over_its_bins():
    case = Case(lambda rows: rows["income"] + rows["age"], PEOPLE, sensitive="income", threshold=60.0)
    people, inputs, _ = examine(case, budget=4000).findings
    assert people.estimate > 0.4
    assert set(inputs.evidence["other income"]) <= set(PEOPLE["income"])
