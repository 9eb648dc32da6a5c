import numpy as np
import pandas as pd
import pytest
from audited import people

from fairlab import Case, compare
from fairlab.auditing.comparison import difference, gap


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
    men = (table["age"] > 40)[table["sex"] == "man"].mean()
    women = (table["age"] > 40)[table["sex"] == "woman"].mean()
    assert row["where"] == "sex: man minus woman"
    assert row["before"] == pytest.approx(men)
    assert row["after"] == pytest.approx(men - women)
    assert row["verdict"] == "better"
    assert row["low"] <= row["change"] <= row["high"] < 0
    assert compare(case(fair), case(old)).to_frame()["verdict"].tolist() == ["worse"]
    assert closing.is_paired
    assert "compared one by one" in closing.summary


def test_the_same_model_is_neither_better_nor_worse():
    same = compare(case(old), case(old))
    [row] = same.to_frame().to_dict(orient="records")
    assert row["change"] == 0
    assert row["low"] < 0 < row["high"]
    assert row["verdict"] == "no clear difference"
    assert repr(same) == "ModelComparison: 0 better, 0 worse and 1 no clear difference"


def test_a_gap_that_changes_its_sign_only_is_no_change():
    mirrored = compare(case(old), case(lambda rows: (rows["age"] > 40) & (rows["sex"] == "woman")))
    [row] = mirrored.to_frame().to_dict(orient="records")
    assert row["low"] < 0 < row["high"]
    assert row["verdict"] == "no clear difference"


def test_with_true_labels_errors_are_compared_for_everyone_and_each_group():
    truth = (people()["age"] > 40).to_numpy()
    frame = compare(case(old, y_true=truth), case(fair, y_true=truth)).to_frame()
    errors = frame[frame["measure"] == "error rate"].set_index("where")
    assert errors.index.tolist() == ["everyone", "sex = man", "sex = woman"]
    assert errors["after"].tolist() == [0, 0, 0]
    assert errors["verdict"].tolist() == ["better", "no clear difference", "better"]
    assert (frame["measure"] == "true positive rate difference").sum() == 1


def test_people_are_paired_by_label_whatever_their_order():
    table = people()
    shuffled = table.sample(frac=1, random_state=1)
    frames = [compare(case(old), case(fair, other)).to_frame() for other in (table, shuffled)]
    pd.testing.assert_frame_equal(*frames)


def test_other_people_are_compared_as_independent_samples():
    table = people()
    other = people(seed=1).rename(lambda name: f"q{name}")
    independent = compare(case(old), case(fair, other))
    assert not independent.is_paired
    assert "two independent samples" in independent.summary
    widths = [c.to_frame().eval("high - low").item() for c in (compare(case(old), case(fair, table)), independent)]
    assert widths[0] < widths[1]


def test_small_groups_and_unknown_labels_are_not_compared_and_it_is_said():
    table = people()
    table.loc[["p0", "p2"], "sex"] = "unknown"
    compared = compare(case(old, table), case(fair, table))
    assert not compared.to_frame()["where"].str.startswith("sex: unknown").any()
    assert "fewer than 10 people" in compared.summary
    assert "y_true is not known in both cases" in compared.summary


def test_wrong_cases_are_refused():
    with pytest.raises(TypeError, match=r"case_b: expected a fairlab.Case, found DataFrame"):
        compare(case(old), people())
    with pytest.raises(ValueError, match=r"case_b: expected a sensitive column of case_a \(sex\), found job"):
        compare(case(old), case(old, sensitive_features="job"))
    with pytest.raises(ValueError, match="confidence_level: expected a number between 0 and 1"):
        compare(case(old), case(fair), confidence_level=95)


def test_a_comparison_is_shown_with_its_names_escaped():
    table = people().assign(sex=lambda t: t["sex"].where(t["sex"] == "man", "<i>woman"))
    html = compare(case(old, table), case(fair, table))._repr_html_()
    assert "<i>" not in html
    assert "&lt;i&gt;woman" in html
    assert compare(case(old), case(fair)).plot() is not None


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
