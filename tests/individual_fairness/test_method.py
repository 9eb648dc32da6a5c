import keras
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from fairlab.auditing import run
from fairlab.cases import Case
from fairlab.networks import FeedForward

RNG, N = np.random.default_rng(0), 1_000
GROUP = RNG.choice(["a", "b"], N)
PEOPLE = pd.DataFrame(
    {
        "group": GROUP,
        "income": RNG.normal(50_000, 15_000, N),
        "job": np.where(RNG.random(N) < 0.6, np.where(GROUP == "a", "cook", "smith"), RNG.choice(["cook", "clerk"], N)),
        "age": RNG.integers(20, 70, N),
    },
    index=[f"p{k}" for k in range(N)],
)
FEATURES = ["income", "job", "age"]


class Model:
    classes_ = np.array(["no", "yes"])

    def __init__(self, *, direct=0.0, job=0.0):
        self.direct, self.job = direct, job

    def predict_proba(self, rows):
        odds = (rows["income"] - 50_000) / 15_000 + self.job * (rows["job"] == "smith")
        odds = np.asarray(odds + (self.direct * (rows["group"] == "b") if "group" in rows else 0), dtype=float)
        return np.column_stack([expit(-odds), expit(odds)])


REPAID = pd.Series(np.where(RNG.random(N) < expit((PEOPLE["income"] - 50_000) / 15_000), "yes", "no"), PEOPLE.index)


def examined(model, features=FEATURES, budget=20_000, table=PEOPLE, **options):
    options = {"pos_label": "yes", "y_true": REPAID, "sensitive_features": "group"} | options
    found = run("individual_fairness", Case(model, table, features=features, **options), budget=budget)
    assert found.n_queries <= budget
    return found


def only(found):
    [finding] = found.findings
    assert finding.low <= finding.estimate <= finding.high
    return finding


def test_a_model_that_takes_a_proxy_and_one_that_takes_nothing_from_what_shows_the_group():
    fair, unfair = only(examined(Model())), only(examined(Model(job=3.0)))
    assert (fair.p_value > 0.5, fair.low, fair.n, fair.estimate < 1.1) == (True, 1, 500, True)
    assert fair.sentence.endswith(" times with group shuffled") and "shuffled" not in fair.effect
    assert (unfair.p_value <= 0.001, unfair.low > 1.25) == (True, True)


def test_a_model_that_takes_the_group_itself():
    finding = only(examined(Model(direct=2.0), features=["group", *FEATURES]))
    assert finding.p_value < 1e-6
    # Known exactly: everyone's own value is changed, and nothing else matters.
    odds, label = (PEOPLE["income"] - 50_000) / 15_000 + 2 * (GROUP == "b"), np.where(REPAID == "yes", 1, -1)
    fall = np.maximum(0, label * 2 * np.where(GROUP == "b", 1, -1))
    truth = (np.logaddexp(0, fall - label * odds) / np.logaddexp(0, -label * odds)).mean()
    assert finding.low < truth < finding.high
    evidence, rows = finding.evidence, PEOPLE.loc[finding.evidence.index]
    assert (len(evidence), (evidence["its ratio of losses"] > 1).all()) == (10, True)
    assert (evidence["other group"] != evidence["group"]).all()
    pd.testing.assert_frame_equal(evidence[FEATURES], rows[FEATURES])
    np.testing.assert_allclose(evidence["its score"], Model(direct=2.0).predict_proba(rows)[:, 1], rtol=1e-9)


@pytest.mark.parametrize(("n_columns", "warned"), [(12, False), (13, True)])
def test_few_rows_for_many_columns_are_named(n_columns, warned):
    columns = [f"x{j}" for j in range(n_columns)]
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(60, n_columns)), columns=columns)
    table["group"] = ["a", "b"] * 30
    model = lambda rows: expit(rows["x0"].to_numpy())  # noqa: E731
    options = {"y_true": None, "pos_label": None, "decision_threshold": 0.5}
    warnings = examined(model, columns, table=table, **options).warnings
    assert ("from 60 rows" in " ".join(warnings)) == warned


def test_without_labels_its_own_decisions_are_the_labels():
    found = examined(Model(direct=2.0), features=["group", *FEATURES], y_true=None)
    assert only(found).p_value < 0.001 and "no true labels" in found.warnings[0]


def test_a_network_is_attacked_as_the_plain_loop_attacks_it():
    network = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, "tanh"), keras.layers.Dense(1, "sigmoid")])
    kernel, output = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 1))
    network.set_weights([np.float32(each) for each in (kernel, np.zeros(4), output, np.zeros(1))])
    table = pd.DataFrame(RNG.normal(size=(400, 3)), columns=list("xyz")).assign(group=[0, 1] * 200)
    table["x"] += table["group"]
    X, y = table[list("xyz")].to_numpy(), RNG.random(400) < 0.5
    finding = only(examined(network, list("xyz"), 60_000, table, y_true=y.astype(int), pos_label=1))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    across = LogisticRegression(C=1, tol=1e-10).fit(Z, table["group"]).coef_[0]
    across /= np.linalg.norm(across)
    sign, moved = np.where(y, 1, -1), Z.copy()

    def losses(Z):
        return np.logaddexp(0, -sign * (np.tanh((Z * X.std(axis=0) + X.mean(axis=0)) @ kernel) @ output)[:, 0])

    for _ in range(40):  # steps of 0.05, each by differences along the only direction in which points may move
        rise = (losses(moved + 1e-6 * across) - losses(moved)) / 1e-6
        moved = moved + 0.05 * rise[:, None] * across
    assert (finding.estimate, finding.n) == (pytest.approx((losses(moved) / losses(Z)).mean(), rel=1e-3), 400)


def test_a_network_is_not_attacked_along_what_shows_no_group(rng):
    race, sex = rng.integers(0, 3, N), rng.integers(0, 2, N)
    table = pd.DataFrame({"x": race + rng.normal(size=N), "z": rng.normal(size=N), "sex": sex, "race": race})
    labels = {"y_true": (rng.random(N) < 0.5).astype(int), "pos_label": 1, "sensitive_features": ["race", "sex"]}
    of_sex = FeedForward([np.array([[0.0, 0], [0, 2]]), np.zeros(2)])
    by_race, by_sex = examined(of_sex, ["x", "sex"], 60_000, table, **labels).findings  # three groups, one free column
    assert (by_race.estimate, by_sex.p_value < 0.05) == (pytest.approx(1), True)
    # Three groups that differ along one column only: the other one is no part of the subspace.
    of_z, of_x = (FeedForward([np.array([[0.0, x], [0, z]]), np.zeros(2)]) for x, z in ((0, 2), (2, 0)))
    fair, unfair = (
        only(examined(net, ["x", "z"], 60_000, table, **labels | {"sensitive_features": "race"}))
        for net in (of_z, of_x)
    )
    assert (fair.p_value > 0.5, fair.estimate < 1.1, unfair.low > 1.25) == (True, True, True)
    # A network that is sure of its own decisions has no gradient to follow.
    steep = [FeedForward([np.array([[0.0, x], [0, 0]]), np.zeros(2)]) for x in (1, 500)]
    options = labels | {"sensitive_features": "race", "y_true": None}
    warned = [examined(net, ["x", "z"], 60_000, table, **options).warnings for net in steep]
    assert ["loss is flat there" in " ".join(each) for each in warned] == [False, True]


@pytest.mark.parametrize(
    ("weights", "ratio"),
    [
        ({"k": 0.5}, 1.0),
        # Losses of group 0 and 1, whose decisions are favourable, at log odds of 0.5 and 2.5.
        ({"group": 2.0, "k": 0.5}, (1 + np.logaddexp(0, -0.5) / np.logaddexp(0, -2.5)) / 2),
    ],
)
def test_a_network_without_a_feature_that_could_be_moved(weights, ratio):
    network = keras.Sequential([keras.Input((len(weights),)), keras.layers.Dense(1, "sigmoid")])
    network.set_weights([np.float32([*weights.values()])[:, None], np.zeros(1, np.float32)])
    numbers = pd.DataFrame({"group": [0, 1] * 100, "k": 1.0})
    finding = only(examined(network, list(weights), table=numbers, y_true=None, pos_label=1))
    assert finding.estimate == pytest.approx(ratio, rel=1e-4) and (finding.p_value < 0.05) == (ratio > 1)


def test_numbers_and_more_than_two_groups():
    by_age, by_race = examined(
        lambda rows: expit((rows["age"] - 45) / 8.0).to_numpy(),
        table=PEOPLE.assign(race=RNG.choice(["x", "y", "z"], N)),
        features=["age", "income"],
        sensitive_features=["age", "race"],
        decision_threshold=0.5,
        y_true=None,
        pos_label=None,
    ).findings
    assert by_age.p_value < 0.001
    assert (by_race.p_value > 0.05, by_race.low) == (True, 1)


@pytest.mark.parametrize(
    ("model", "options", "reason"),
    [
        (lambda rows: np.where(rows["income"] > 50_000, "yes", "no"), {}, "labels only"),
        (lambda rows: rows["income"].to_numpy(), {"pos_label": None, "y_true": None}, "numbers, not decisions"),
        (Model(), {"budget": 50}, "needs a budget of .* rows for this model, and has 50"),
        (Model(), {"table": PEOPLE.head(59), "y_true": None}, "Individual fairness needs 60 people, the table has 59"),
        (Model(), {"table": PEOPLE.head(60).assign(group=["a", "b"] * 30), "y_true": None}, None),
        (Model(), {"y_true": REPAID.where(np.arange(N) < 29)}, "needs 30 people with a true label, the table has 29"),
        (Model(), {"y_true": REPAID.where(np.arange(N) < 30)}, None),
    ],
)
def test_what_is_skipped(model, options, reason):
    found = examined(model, **options)
    assert (len(found.findings), found.skipped == ()) == ((1, True) if reason is None else (0, False))
    assert reason is None or pd.Series(found.skipped).str.contains(reason).any()
