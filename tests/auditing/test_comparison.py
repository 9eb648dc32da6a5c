import numpy as np
import pandas as pd
import pytest
from audited import people

from fairlab import Case, compare
from fairlab.auditing.comparison import difference, gap
from fairlab.auditing.pairing import are_same_people


def case(decide, table=None, **options):
    """Return a case of a function of the table."""
    table = people() if table is None else table
    return Case(decide, table, **({"sensitive_features": "sex", "pos_label": True} | options))


def old(rows):
    return (rows["age"] > 40) & (rows["sex"] == "man")


def fair(rows):
    return rows["age"] > 40


def test_a_gap_that_is_closed_is_better_and_one_that_opens_is_worse():
    table = people()
    closing = compare(case(old), case(fair))
    [row] = closing.to_frame().to_dict(orient="records")
    men, women = ((table["age"] > 40)[table["sex"] == sex].mean() for sex in ("man", "woman"))
    assert (row["where"], row["verdict"]) == ("sex: man minus woman", "better")
    assert (row["before"], row["after"]) == (pytest.approx(men), pytest.approx(men - women))
    assert row["low"] <= row["change"] <= row["high"] < 0
    assert compare(case(fair), case(old)).to_frame()["verdict"].tolist() == ["worse"]
    assert repr(compare(case(old), case(old))) == "ModelComparison: 0 better, 0 worse and 1 no clear difference"


def test_a_gap_that_changes_its_sign_only_is_no_change():
    mirrored = compare(case(old), case(lambda rows: (rows["age"] > 40) & (rows["sex"] == "woman")))
    [row] = mirrored.to_frame().to_dict(orient="records")
    assert row["low"] < 0 < row["high"]
    assert row["verdict"] == "no clear difference"


def test_with_true_labels_errors_are_compared_for_everyone_and_each_group():
    truth = (people()["age"] > 40).to_numpy()
    frame = compare(case(old, y_true=truth), case(fair, y_true=truth)).to_frame()
    errors = frame[frame["measure"] == "error rate"][["where", "after", "verdict"]]
    assert errors.to_numpy().tolist() == [
        ["everyone", 0, "better"],
        ["sex = man", 0, "no clear difference"],
        ["sex = woman", 0, "better"],
    ]
    assert (frame["measure"] == "true positive rate difference").sum() == 1


def test_other_people_are_compared_as_independent_samples():
    other = people(seed=1).rename(lambda name: f"q{name}")
    paired, independent = compare(case(old), case(fair)), compare(case(old), case(fair, other))
    assert (paired.is_paired, independent.is_paired) == (True, False)
    assert "two independent samples" in independent.summary
    assert paired.to_frame().eval("high - low").item() < independent.to_frame().eval("high - low").item()


def test_small_groups_and_unknown_labels_are_not_compared_and_it_is_said():
    table = people()
    table.loc[["p0", "p2"], "sex"] = "unknown"
    compared = compare(case(old, table), case(fair, table))
    assert not compared.to_frame()["where"].str.startswith("sex: unknown").any()
    assert "fewer than 10 people" in compared.summary
    assert "y_true is not known in both cases" in compared.summary


@pytest.mark.parametrize("is_paired", [True, False])
def test_intervals_hold_the_true_change_of_a_gap(is_paired):
    # Rates of the first and second model in two groups: the gap shrinks from 0.3 to 0.1.
    rng = np.random.default_rng(0)
    rates, held, n_trials = {"in": (0.6, 0.5), "out": (0.3, 0.4)}, 0, 400
    for _ in range(n_trials):
        draws = {}
        for group, (first, second) in rates.items():
            shared = rng.random(60), rng.random(60)
            draws[group] = shared[0] < first, shared[0 if is_paired else 1] < second
        decisions = [np.concatenate([draws["in"][k], draws["out"][k]]) for k in (0, 1)]
        inside = [np.arange(120) < 60] * 2
        row = gap(decisions, inside, [~mask for mask in inside], is_paired=is_paired)
        held += row["low"] <= -0.2 <= row["high"]
    assert held / n_trials >= 0.94


def test_equal_gaps_are_called_different_no_more_often_than_stated():
    rng = np.random.default_rng(0)
    group = np.arange(200) < 100
    alarms = 0
    for _ in range(400):
        rates = np.where(group, 0.6, 0.4)
        decisions = [rng.random(200) < rates for _ in range(2)]
        alarms += gap(decisions, [group] * 2, [~group] * 2, is_paired=True)["p_value"] <= 0.05
    assert alarms / 400 <= 0.07


def test_a_difference_of_pairs_by_hand():
    first, second = np.array([True] * 3 + [False] * 5), np.array([False] * 2 + [True] * 6)
    gained, lost = (5 + 1) / 10, (2 + 1) / 10
    expected = gained - lost, (gained + lost - (gained - lost) ** 2) / 10
    assert difference(first, second, is_paired=True) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (lambda t: t, True),
        (lambda t: t.sample(frac=1, random_state=0), True),
        (lambda t: t.drop(columns="age"), True),
        (lambda t: t.assign(extra=1), True),
        (lambda t: t.astype({"age": float, "sex": "category"}), True),
        (lambda t: t.assign(age=t["age"] + 1), False),
        (lambda t: t.reset_index(drop=True), False),
        (lambda t: t.head(10), False),
        (lambda t: t.assign(age=t["age"].astype(float).where(t["age"] > 20)), False),
        (lambda t: t[[]].assign(other=1), False),
    ],
)
def test_the_same_people_have_the_same_labels_and_values(change, same):
    assert are_same_people(people(), change(people())) is same


def test_row_labels_that_occur_twice_are_nobodys():
    twice = pd.concat([people(), people()])
    assert not are_same_people(twice, twice)
