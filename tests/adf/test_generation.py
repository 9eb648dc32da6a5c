from itertools import product

import keras
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from fairlab.adf import (
    ADF,
    Aequitas,
    SearchResult,
    discriminatory,
    estimate_unfairness,
    majority_vote,
    retrain,
    train_networks,
)
from fairlab.adf.aequitas import Odds
from fairlab.adf.discrimination import Trace, repeated
from fairlab.adf.generation import (
    GlobalPhase,
    attribute_weights,
    choose_partner,
    cluster_labels,
    direction,
    round_robin,
    truncated_neighbours,
    with_partner,
)
from fairlab.adf.gradients import FiniteDifferences
from fairlab.auditing import run
from fairlab.auditing.answers import Answers, Slopes
from fairlab.benchmarks.adf import dense_network
from fairlab.cases import Case, Schema
from fairlab.networks import Network
from fairlab.papers.adf.trials import AequitasAsReleased

READINGS = pytest.mark.parametrize("variant", ["published", "sound"])


def check_every_instance(result, model, schema, sensitive_features):
    """Check again, apart from the search, what it reports."""
    found = result.discriminatory
    columns = schema.positions(sensitive_features)
    assert ((found >= schema.low) & (found <= schema.high)).all(), "in the domain"
    assert len(np.unique(np.delete(found, columns, axis=1), axis=0)) == len(found), "distinct"
    assert discriminatory(model, found, sensitive_features, schema=schema).all()
    first, second = result.pairs[:, 0], result.pairs[:, 1]
    assert (np.delete(first, columns, axis=1) == np.delete(second, columns, axis=1)).all()
    assert (model.predict(first) != model.predict(second)).all()


@READINGS
@pytest.mark.parametrize("sensitive_features", ["group", ("group", "sex")])
def test_every_reported_instance_is_discriminatory(network, schema, variant, sensitive_features):
    X = schema.sample(300, random_state=5)
    adf = ADF(network, schema, sensitive_features, n_local=30, variant=variant, random_state=0)
    result = adf.generate(X, n_seeds=40)
    check_every_instance(result, network, schema, sensitive_features)
    assert result.n_discriminatory > result.successful.sum() > 0
    assert (
        discriminatory(network, result.trace.inputs, sensitive_features, schema=schema).sum() == result.n_discriminatory
    )
    assert result.growth().iloc[-1].tolist() == [result.n_inputs, result.n_discriminatory]


def test_the_phases_apart_are_the_search(network, schema):
    X = schema.sample(100, random_state=5)
    adf = ADF(network, schema, "sex", n_local=20, random_state=0, variant="sound")
    phase = adf.global_search(adf.seeds(X, 30))
    whole = adf.generate(X, n_seeds=30)
    assert np.array_equal(whole.iterations, phase.iterations)
    pairs = adf.local_search(phase).pairs
    again = adf.local_search(pairs)
    check_every_instance(again, network, schema, "sex")
    assert len(again.successful) == len(pairs)


def test_budgets(network, schema):
    X = schema.sample(100, random_state=5)
    adf = ADF(network, schema, "group", n_local=200, random_state=0)
    enough = adf.generate(X, n_seeds=30, max_found=50)
    assert 50 <= enough.n_discriminatory < 50 + 30
    assert enough.n_inputs < adf.generate(X, n_seeds=30).n_inputs


def test_seeds_outside_of_the_bounds_come_inside_with_their_first_move(network, schema):
    X = schema.sample(200, random_state=5)
    X[:, 0] = 100
    with pytest.warns(UserWarning, match="outside of the bounds of the schema: a 200"):
        result = ADF(network, schema, "group", n_local=10, random_state=0).generate(X, n_seeds=40)
    outside = result.trace.inputs[:, 0] > 9
    assert (result.iterations[result.trace.seed[outside]] == 0).all()


@READINGS
def test_a_network_of_broken_weights_is_refused(schema, weights, variant):
    broken = dense_network([np.full_like(part, np.nan) for part in weights])
    with pytest.raises(ValueError, match=r"model: answers .* inputs with what is not a number"):
        ADF(broken, schema, "sex", variant=variant).generate(schema.sample(20, random_state=0))
    with pytest.raises(ValueError, match=r"model: answers .* inputs with what is not a number"):
        estimate_unfairness(broken, schema=schema, sensitive_features="sex", n=20)


def test_clusters_are_gone_through_in_turn_each_in_row_order():
    labels = np.array([2, 0, 0, 1, 2, 0])
    assert round_robin(labels, 6).tolist() == [1, 3, 0, 2, 4, 5]
    assert round_robin(labels, 4).tolist() == [1, 3, 0, 2]
    assert round_robin(labels, 99).tolist() == [1, 3, 0, 2, 4, 5]


def test_clusters_tell_far_points_apart():
    X = np.repeat([[0, 0], [9, 0], [0, 9], [9, 9]], 5, axis=0) + np.tile([[0, 1]], (20, 1))
    labels = cluster_labels(X)
    assert sorted(labels[::5]) == [0, 1, 2, 3]
    assert (labels == np.repeat(labels[::5], 5)).all()


GENDER = np.array([2])


class Gradients:
    """A network of which only the gradients matter: first those of one side, then those of the other."""

    def __init__(self, own, theirs):
        self.answers = [np.array([own], dtype=float), np.array([theirs], dtype=float)]

    def loss_gradient(self, X):
        return self.answers.pop(0)

    def margin_gradient(self, X):
        return np.ones(1), -self.answers.pop(0)


@pytest.mark.parametrize(
    ("own", "theirs", "published", "described"),
    [
        ([3, -2, 9, 0.5], [1, 2, 9, 4], [1, 0, 0, 1], [1, 0, 0, 1]),  # agreement, never along the protected attribute
        ([3, -2, 9, 0], [0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]),  # a flat partner: +1 whatever the sign
        ([0, 0, 0, 0], [1, -2, 9, 4], [0, 0, 0, 0], [0, 0, 0, 0]),  # a flat input does not move
    ],
)
def test_direction(own, theirs, published, described):
    X = np.zeros((1, 4), dtype=int)
    rng = np.random.default_rng(0)
    for variant, expected in (("published", published), ("sound", described)):
        assert direction(Gradients(own, theirs), X, X, GENDER, variant, rng).tolist() == [expected]


def test_without_a_common_direction_one_attribute_is_drawn():
    steps = [
        direction(Gradients([1, -1, 1, 1], [-1, 1, 1, -1]), np.zeros((1, 4)), None, GENDER, "published", rng)[0]
        for rng in map(np.random.default_rng, range(40))
    ]
    assert {tuple(step) for step in steps} == {(1, 0, 0, 0), (0, -1, 0, 0), (0, 0, 0, 1)}


class Logits:
    """A network of two classes whose margin is given by a function."""

    def __init__(self, margin):
        self.margin = margin

    def logits(self, X):
        return np.stack([np.zeros(len(X)), self.margin(X)], axis=1).astype(np.float32)

    def predict(self, X):
        return (self.margin(X) > 0).astype(int)


AGES = Schema.from_bounds({"a": (0, 9), "age": (1, 4)})


def test_the_partner_is_the_first_of_another_class_else_the_furthest():
    network = Logits(lambda X: X[:, 0] + np.array([0, -1, -3, 2, -5])[X[:, 1]])
    X = np.array([[2, 1], [9, 1], [9, 4]])
    partner, flips = choose_partner(network, X, schema=AGES, sensitive_features="age", variant="published")
    assert flips.tolist() == [True, False, False]
    assert AGES.values("age")[partner].tolist() == [[2], [4], [3]]


def test_a_saturated_network_has_no_partner_as_published():
    network = Logits(lambda X: 1000.0 + X[:, 1])
    for variant, expected in (("published", -1), ("sound", 1)):
        partner, flips = choose_partner(
            network, np.array([[5, 1]]), schema=AGES, sensitive_features="age", variant=variant
        )
        assert not flips.any()
        assert partner.tolist() == [expected]
    assert with_partner(np.array([[5, 1]]), np.array([-1]), schema=AGES, sensitive_features="age").tolist() == [[5, -1]]


@pytest.mark.parametrize("variant", ["published", "sound"])
def test_global_phase_counts_iterations(network, schema, variant):
    seeds = schema.sample(80, random_state=1)
    phase = ADF(network, schema, "sex", max_iter=3, variant=variant).global_search(seeds)
    at_once = (phase.inputs == seeds[phase.seed]).all(axis=1)
    assert (at_once == (phase.iterations[phase.seed] == 0)).all()
    assert 0 < at_once.sum() < len(at_once)
    assert (phase.iterations[~phase.successful] == 3).all()
    assert (np.abs(phase.inputs - seeds[phase.seed]).max(axis=1) <= phase.iterations[phase.seed]).all()


def test_partners_have_another_class_whatever_values_are_tried(network, schema):
    class OtherGroups(ADF):
        partner_schema = Schema.from_bounds(schema.bounds | {"group": (0, 5)})

    seeds = schema.sample(80, random_state=1)
    phase = OtherGroups(network, schema, "group", max_iter=3, variant="published").global_search(seeds)
    partners = phase.inputs.copy()
    partners[:, [1]] = phase.partner
    assert not np.isin(phase.partner, [1, 2, 3]).all()
    assert (network.predict(partners) != network.predict(phase.inputs)).all()


def test_weights_are_in_inverse_proportion_to_both_gradients():
    first, second = np.array([[1.0, 2, 5, 0], [0, 0, 0, 0]]), np.array([[1.0, 0, 5, 4], [0, 0, 0, 0]])
    weights = attribute_weights(first, second, GENDER)
    np.testing.assert_allclose(weights, [[0.4, 0.4, 0, 0.2], [1 / 3, 1 / 3, 0, 1 / 3]])
    flat = attribute_weights(np.array([[1.0, 0, 0, 0]]), np.zeros((1, 4)), GENDER)  # takes everything
    np.testing.assert_allclose(flat, [[0, 0.5, 0, 0.5]])


class OnlyAtFive:
    """Discriminates where the first attribute is 5, and knows no other direction."""

    n_features = 2

    def predict(self, X):
        return ((X[:, 0] == 5) & (X[:, 1] == 1)).astype(int)

    def loss_gradient(self, X):
        return np.tile([0.0, 1.0], (len(X), 1))

    def margin_gradient(self, X):
        return np.ones(len(X)), self.loss_gradient(X)


@pytest.mark.parametrize(("variant", "stayed"), [("published", 1 - np.exp(-1)), ("sound", 0)])
def test_leaving_for_what_is_not_discriminatory(variant, stayed):
    n = 4000
    start = np.tile([5, 1], (n, 1))
    search = ADF(OnlyAtFive(), AGES, "age", n_local=2, variant=variant)
    steps = search.steps(GlobalPhase(start, np.full((n, 1), 2), np.arange(n), np.zeros(n)))
    starts, first, second = steps
    assert (starts.partner >= 0).all()
    assert (np.abs(first.inputs[:, 0] - 5) == 1).all()
    # Whoever was turned back tries a neighbour of 5 again; whoever left is an even number away.
    assert (np.abs(second.inputs[:, 0] - 5) == 1).mean() == pytest.approx(stayed, abs=0.03)


def test_odds_that_are_kept_ask_for_fewer_gradients():
    class Counting(OnlyAtFive):
        asked = 0

        def margin_gradient(self, X):
            Counting.asked += 1
            return np.zeros(len(X)), np.ones(X.shape)

    for refresh, times in ((1, 10), (4, 3), (99, 1)):
        Counting.asked = 0
        steps = ADF(Counting(), AGES, "age", n_local=10, refresh=refresh).steps([[[5, 1], [5, 2]]])
        assert len(list(steps)) == 11
        assert Counting.asked == 2 * times, "both sides of the pair"


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (lambda adf, X: adf.generate(X[:1]), "n_samples=1 should be >= n_clusters=4"),
        (lambda adf, X: adf.local_search(np.zeros((1, 2, 5))), "pairs: expected integers, found float64"),
        (lambda adf, X: adf.local_search(X), r"pairs: expected shape \(n, 2, 5\)"),
        (lambda adf, X: adf.local_search(np.full((1, 2, 5), 7)), "outside of the schema"),
        (lambda adf, X: adf.generate(pd.DataFrame({"a": [1]})), "the schema has"),
        (lambda adf, X: adf.set_params(decision_threshold=0.5).generate(X), "threshold: expected none, since Network"),
        (lambda adf, X: adf.set_params(sensitive_features=adf.schema.names).generate(X), "no attribute is left"),
        (lambda adf, X: adf.set_params(schema=WIDER).generate(WIDER.sample(9)), "takes 5 columns, the schema has 6"),
    ],
)
def test_what_the_network_and_the_schema_do_not_fit_is_refused(network, schema, search, message):
    with pytest.raises(ValueError, match=message):
        search(ADF(network, schema, "sex"), schema.sample(9, random_state=0))


WIDER = Schema.from_bounds(dict.fromkeys(["a", "group", "b", "sex", "c", "d"], (0, 1)))


def test_only_negative_values_have_neighbours_by_truncation():
    X = np.array([[3, 0, 1], [-2, 5, -1]])
    neighbours, owner = truncated_neighbours(X)
    assert neighbours.tolist() == [[-1, 5, -1], [-2, 5, 0]]
    assert owner.tolist() == [1, 1]


# gradients

FOUR = Schema.from_bounds({"a": (0, 9), "sex": (0, 1), "b": (0, 9), "one": (3, 3)})


def line(X):
    return 0.3 * X[:, 0] - 0.5 * X[:, 2] + 2 * X[:, 1]


@pytest.fixture
def differences():
    return FiniteDifferences(line, FOUR, "sex", decision_threshold=1.0)


def test_slopes_of_a_line_are_its_coefficients(differences):
    X = np.array([[4, 0, 4, 3], [0, 1, 9, 3], [9, 1, 0, 3], [20, 0, -4, 3]])
    margin, gradient = differences.margin_gradient(X)
    np.testing.assert_allclose(margin, np.abs(line(X) - 1))
    sign = np.where(line(X) >= 1, 1, -1)[:, None]
    np.testing.assert_allclose(gradient, sign * [[0.3, 0, -0.5, 0]], atol=1e-9)
    other = 1 / (1 + np.exp(margin))
    np.testing.assert_allclose(differences.loss_gradient(X), -other[:, None] * gradient, atol=1e-9)


def test_a_score_at_its_threshold_has_the_class_above():
    model = FiniteDifferences(lambda X: X[:, 0] * 0.5, FOUR, "sex", decision_threshold=1.0)
    X = np.array([[1, 0, 0, 3], [2, 0, 0, 3]])
    assert model.predict(X).tolist() == [0, 1]
    assert model.logits(X).argmax(axis=1).tolist() == [0, 1]


def test_neighbours_stay_in_the_domain_and_sensitive_values_as_they_are():
    asked = []

    def score(X):
        asked.append(X)
        return line(X)

    model = FiniteDifferences(score, FOUR, "sex", decision_threshold=1.0)
    X = FOUR.sample(50, random_state=0)
    model.margin_gradient(X)
    _, neighbours = asked
    assert len(neighbours) == 50 * 2 * 3, "two for every attribute that is not sensitive"
    assert ((neighbours >= FOUR.low) & (neighbours <= FOUR.high)).all()
    np.testing.assert_array_equal(neighbours[:, 1], np.repeat(X[:, 1], 6))
    assert np.abs(neighbours - np.repeat(X, 6, axis=0)).sum(axis=1).max() == 1


@pytest.mark.parametrize("variant", ["published", "sound"])
def test_a_search_by_differences_finds_what_is_discriminatory(variant):
    wide = Schema.from_bounds(dict.fromkeys("abc", (0, 39)) | {"sex": (0, 1)})
    score = lambda X: X[:, 0] + X[:, 1] - X[:, 2] + 2.9 * X[:, 3]  # noqa: E731
    search = ADF(score, wide, "sex", decision_threshold=20.5, n_local=20, max_iter=20, variant=variant)
    result = search.generate(wide.sample(200, random_state=0), n_seeds=20)
    assert result.successful.mean() > 0.8, "of random inputs, one in fourteen is discriminatory"
    assert np.isin(result.discriminatory[:, :3] @ [1, 1, -1], [18, 19, 20]).all()
    assert discriminatory(score, result.discriminatory, "sex", schema=wide, decision_threshold=20.5).all()


TABLE = pd.DataFrame(np.random.default_rng(0).integers(0, 9, (200, 4)), columns=["a", "b", "sex", "c"])
TABLE["sex"] %= 2


def linear(weights, bias):
    layer = keras.layers.Dense(1, activation="sigmoid")
    model = keras.Sequential([keras.Input((4,)), layer])
    layer.set_weights([np.array(weights, dtype=float)[:, None], np.array([float(bias)])])
    return model


@pytest.fixture(scope="module")
def case():
    return Case(linear([0.3, -0.5, 0.9, 0.1], -0.2), TABLE, sensitive_features="sex", decision_threshold=0.5)


def test_a_networks_own_gradients_are_the_differences_of_a_line(case):
    answers = Answers(case, 10_000)
    model = Slopes(answers, "sex")
    assert case.has_gradients
    X = answers.domain.sample(50, random_state=0)
    by_differences = FiniteDifferences(answers.lead, answers.domain, "sex", decision_threshold=0.0)
    for own, other in zip(model.margin_gradient(X), by_differences.margin_gradient(X), strict=True):
        np.testing.assert_allclose(own, other, atol=1e-4)
    np.testing.assert_allclose(np.abs(model.margin_gradient(X)[1][0]), [0.3, 0.5, 0, 0.1], atol=1e-5)


def test_a_gradient_is_a_row_of_the_budget(case):
    answers = Answers(case, 60)
    X = answers.domain.sample(20, random_state=1)
    Slopes(answers, "sex").margin_gradient(X)
    assert answers.left <= 40


def test_a_networks_case_is_searched_by_its_own_gradients(case):
    found = run("adf", case, budget=1600)
    inputs, _ = found.findings
    assert found.n_queries <= 1600
    assert inputs.estimate > inputs.random_per_1000 > 0
    changed = inputs.evidence.assign(sex=inputs.evidence["other sex"])
    assert (case.decide(inputs.evidence) != case.decide(changed)).all()


# training


@pytest.fixture(scope="module")
def table():
    X = np.random.default_rng(0).integers(0, 10, (300, 4))
    return X, (X[:, 0] > 4).astype(int)


def accuracy(weights, X, y):
    return (Network(dense_network(weights)).predict(X) == y).mean()


def test_an_ensemble_learns_and_its_members_do_not_know_each_other(table):
    first, second = train_networks(*table, [1, 2], n_steps=240)
    assert max(accuracy(first, *table), accuracy(second, *table)) > 0.9
    [alone] = train_networks(*table, [2], n_steps=240)
    for together, own in zip(second, alone, strict=True):
        np.testing.assert_allclose(together, own, atol=1e-3)
    assert [part.shape for part in first[::2]] == [(4, 64), (64, 32), (32, 16), (16, 8), (8, 4), (4, 2)]


def test_majority_vote_by_hand():
    voters = [lambda X: X[:, 0], lambda X: X[:, 1], lambda X: X[:, 2]]
    assert majority_vote(voters, np.array([[0, 1, 1], [1, 0, 0], [0, 1, 2], [2, 2, 0]])).tolist() == [1, 0, 0, 2]


def test_retraining_takes_up_the_voters_labels(table):
    X, y = table
    [weights] = train_networks(X, y, [0], n_steps=240)
    added = np.random.default_rng(1).integers(20, 30, (300, 4))
    nothing, changed = retrain(
        weights, X, y, [added[:0], added], [lambda X: np.zeros(len(X), dtype=int)], n_epochs=60, random_states=[0, 0]
    )
    assert accuracy(changed, added, np.zeros(300)) > 0.9
    assert accuracy(nothing, added, np.zeros(300)) < 0.5
    assert min(accuracy(nothing, X, y), accuracy(changed, X, y)) > 0.8


# aequitas

TWO = Schema.from_bounds({"a": (0, 9), "sex": (0, 1)})


@pytest.mark.parametrize("variant", ["published", "sound"])
@pytest.mark.parametrize("strategy", ["random", "semi_directed", "fully_directed"])
def test_every_instance_that_aequitas_reports_is_discriminatory(network, schema, strategy, variant):
    search = Aequitas(network, schema, "group", strategy=strategy, n_local=20, variant=variant, random_state=0)
    result = search.generate(n_samples=60)
    assert result.n_discriminatory > result.successful.sum() > 0
    assert discriminatory(network, result.discriminatory, "group", schema=schema).all()
    assert discriminatory(network, result.trace.inputs, "group", schema=schema).sum() == result.n_discriminatory
    inputs = result.trace.inputs
    assert ((inputs >= schema.low) & (inputs <= schema.high)).all()


def one_walk_after_the_other(model, schema, sensitive_features, draws, n_local, rng, method):
    """Aequitas as it was coded, one input at a time; return the sets of inputs tried and found."""
    column = schema.positions(sensitive_features)[0]
    low, high = schema.bounds[sensitive_features]
    p, q = np.full(len(schema.bounds), 1 / len(schema.bounds)), np.full(len(schema.bounds), 0.5)

    def check(x):
        for value in range(low, high + 1):
            other = x.copy()
            other[column] = value
            if model(other[None])[0] != model(x[None])[0]:
                return True, value
        return False, x[column]

    def key(x):
        return tuple(np.delete(x, column).tolist())

    tried, found, starts = {key(x) for x in draws}, set(), []
    for x in draws:
        if check(x)[0] and key(x) not in found:
            found.add(key(x))
            starts.append(x)
    for x in starts:
        objective = check(x)[1] == 0
        for _ in range(n_local):
            j = rng.choice(len(p), 1, p=p)[0]
            down = 0.5 if x[j] in schema.bounds[schema.names[j]] else q[j]
            step = -1 if rng.random(1)[0] < down else 1
            moved = x.copy()
            moved[j] = np.clip(moved[j] + step, *schema.bounds[schema.names[j]])
            hit, value = check(moved)
            tried.add(key(moved))
            if hit:
                found.add(key(moved))
            paid = value != 0 if method is Aequitas else hit
            q[j] = np.clip(q[j] + (0.001 if paid == (step == -1) else -0.001), 0, 1)
            p[j] = max(p[j] + (0.001 if paid else -0.001), 0)
            p = p / p.sum()
            if rng.random(1)[0] < np.exp(-1) or (value == 0) <= objective:
                x, objective = moved, value == 0
    return tried, found


@pytest.mark.parametrize("method", [Aequitas, AequitasAsReleased])
def test_one_in_flight_is_the_original(network, schema, method):
    positive = Schema.from_bounds(schema.bounds | {"b": (0, 5)})  # no truncation of negative values
    for sensitive_features in ("sex", "group"):
        result = method(
            network, positive, sensitive_features, n_local=40, in_flight=1, variant="published", random_state=4
        ).generate(n_samples=12)
        rng = np.random.default_rng(4)
        draws = positive.sample(12, random_state=rng)
        tried, found = one_walk_after_the_other(network.predict, positive, sensitive_features, draws, 40, rng, method)
        columns = positive.positions(sensitive_features)
        assert set(map(tuple, np.delete(result.trace.inputs, columns, axis=1).tolist())) == tried
        assert set(map(tuple, np.delete(result.discriminatory, columns, axis=1).tolist())) == found


@pytest.mark.parametrize("variant", ["published", "sound"])
@pytest.mark.parametrize("in_flight", [1, 4])
def test_runs_together_are_as_each_alone(network, schema, variant, in_flight):
    options = {"n_local": 15, "in_flight": in_flight, "variant": variant}
    rngs = [np.random.default_rng(k) for k in (3, 4, 5)]
    draws = [schema.sample(20, random_state=rng) for rng in rngs]
    together = Aequitas(network, schema, "group", **options).search_runs(draws, rngs)
    alone = [Aequitas(network, schema, "group", **options, random_state=k).generate(n_samples=20) for k in (3, 4, 5)]
    assert len({run.successful.sum() for run in alone}) > 1, "one run ends before the others"
    starts = [schema.sample(n, random_state=n) for n in (6, 9)]
    together += Aequitas(network, schema, "group", **options).search_runs(starts, [1, 2])
    pairs = zip(starts, (1, 2), strict=True)
    alone += [Aequitas(network, schema, "group", **options, random_state=k).local_search(own) for own, k in pairs]
    for one, other in zip(together, alone, strict=True):
        assert (one.trace.inputs == other.trace.inputs).all()
        assert (one.trace.seed == other.trace.seed).all()
        assert (one.successful == other.successful).all()


def test_odds_learn_from_every_move():
    odds = Odds(TWO, "fully_directed")
    odds.learn(np.array([0, 0, 1]), np.array([-1, 1, 1]), np.array([True, False, False]), np.array([0, 0, 0]))
    np.testing.assert_allclose(odds.down, [[0.502, 0.501]])
    np.testing.assert_allclose(odds.attribute, np.array([[0.5, 0.499]]) / 0.999)


def test_less_directed_strategies_learn_less():
    for strategy, learns_direction in (("random", False), ("semi_directed", True)):
        odds = Odds(TWO, strategy)
        odds.learn(np.array([0]), np.array([-1]), np.array([True]), np.array([0]))
        assert (odds.down[0, 0] > 0.5) == learns_direction
        assert odds.attribute.tolist() == [[0.5, 0.5]]


def test_a_bound_is_left_by_a_fair_coin():
    odds = Odds(TWO, "fully_directed", [1])
    odds.down[:] = 1.0
    chance = np.random.default_rng(0).random((2, 1000))
    column, step = odds.draw(np.tile([[0, 0], [5, 0]], (500, 1)), np.zeros(1000, dtype=int), chance)
    assert (column == 0).all(), "protected attributes are left out"
    assert (step[1::2] == -1).all()
    assert 0.4 < (step[::2] == 1).mean() < 0.6


def test_a_constant_model_and_enough(network, schema):
    constant = Aequitas(lambda X: np.zeros(len(X)), schema, "sex", random_state=0).generate(n_samples=30)
    assert constant.n_discriminatory == 0
    assert constant.n_inputs > 0, "the draws count as tried"
    assert Aequitas(network, schema, "group", random_state=0).generate(max_found=40).n_discriminatory >= 40


def test_scores_need_a_threshold():
    with pytest.raises(ValueError, match="need decision_threshold"):
        Aequitas(lambda X: 0.5 + 1e-12 * X[:, 1], TWO, "sex").generate(n_samples=5)
    search = Aequitas(lambda X: X[:, 0] + 0.9 * X[:, 1], TWO, "sex", decision_threshold=4.5, n_local=5)
    assert set(search.generate(n_samples=50).discriminatory[:, 0].tolist()) == {4}


def test_several_walks_from_one_start():
    rule = lambda X: X[:, 0] + X[:, 1] > 5  # noqa: E731
    starts = np.array([[5, 0]])
    one, five = (Aequitas(rule, TWO, "sex", n_local=7, n_walks=n).local_evaluations(starts) for n in (1, 5))
    assert (len(one.inputs), len(five.inputs)) == (1 + 7, 1 + 5 * 7)


# discrimination


def one_by_one(model, X, sensitive_features, schema):
    """Check every input on its own, value by value."""
    columns = schema.positions(sensitive_features)
    ranges = [range(*schema.bounds[schema.names[j]]) for j in columns]
    ranges = [[*r, r.stop] for r in ranges]
    answers = []
    for x in X:
        own, other = model(x[None])[0], x.copy()
        hit = False
        for values in product(*ranges):
            other[columns] = values
            hit |= model(other[None])[0] != own
        answers.append(hit)
    return np.array(answers)


@pytest.mark.parametrize("sensitive_features", ["group", "sex", ["group", "sex"]])
def test_every_other_value_is_tried(network, schema, sensitive_features):
    X = schema.sample(40, random_state=0)
    found = discriminatory(network, X, sensitive_features, schema=schema)
    assert 0 < found.sum() < len(X)
    assert (found == one_by_one(network.predict, X, sensitive_features, schema)).all()


def test_by_hand():
    schema = Schema.from_bounds({"sex": (0, 1), "age": (1, 9)})
    rule = lambda X: ((X[:, 0] == 1) & (X[:, 1] > 4)).astype(int)  # noqa: E731
    X = np.array([[0, 3], [0, 5], [1, 5], [1, 4]])
    assert discriminatory(rule, X, "sex", schema=schema).tolist() == [False, True, True, False]
    assert discriminatory(rule, X, "age", schema=schema).tolist() == [False, False, True, True]


def test_estimate_is_the_share_of_the_domain(network, schema):
    grids = np.meshgrid(*(np.arange(low, high + 1) for low, high in schema.bounds.values()), indexing="ij")
    everything = np.stack(grids, axis=-1).reshape(-1, 5)
    exact = discriminatory(network, everything, "group", schema=schema).mean()
    fairness = estimate_unfairness(network, schema=schema, sensitive_features="group", n=20_000, random_state=0)
    assert fairness.share == pytest.approx(exact, abs=4 * fairness.standard_error)
    assert fairness.standard_error == pytest.approx(np.sqrt(exact * (1 - exact) / 20_000), rel=0.05)


TWO = Schema.from_bounds({"a": (0, 9), "sex": (0, 1)})


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (lambda X: 0.5 + 1e-12 * X[:, 1], "need decision_threshold"),
        (lambda X: 1 / (1 + np.exp(-X[:, 0].astype(float))), "need decision_threshold"),
        (lambda X: np.where(X[:, 1] == 1, np.nan, 0.0), "no class for .* rows: nan"),
        (lambda X: np.full(len(X), np.nan), "no class for .* rows: nan"),
    ],
)
def test_scores_are_not_compared_for_equality(model, said):
    with pytest.raises(ValueError, match=said):
        estimate_unfairness(model, schema=TWO, sensitive_features="sex", n=50)
    with pytest.raises(ValueError, match=said):
        discriminatory(model, [[1, 0], [1, 1]], "sex", schema=TWO)


def test_a_score_is_held_against_its_threshold():
    X = np.array([[4, 0], [5, 0]])
    for threshold, expected in ((0.5, [False, False]), (4.5, [True, False]), (5.5, [False, True])):
        found = discriminatory(lambda X: X[:, 0] + 0.9 * X[:, 1], X, "sex", schema=TWO, decision_threshold=threshold)
        assert found.tolist() == expected
    fairness = estimate_unfairness(
        lambda X: 0.5 + 1e-12 * X[:, 1], schema=TWO, sensitive_features="sex", n=50, decision_threshold=0.4
    )
    assert fairness.share == 0


SCHEMA = Schema.from_bounds({"a": (0, 9), "sex": (0, 1)})


def result():
    trace = Trace(
        inputs=np.array([[1, 0], [2, 0], [1, 1], [3, 1], [2, 1], [4, 0]]),
        partner=np.array([1, -1, 0, 0, -1, -1]),
        seed=np.array([0, 5, 5, 5, 0, 5]),
    )
    return SearchResult.count(
        trace,
        schema=SCHEMA,
        sensitive_features="sex",
        iterations=np.array([0, 10, 10, 10, 10, 3]),
        successful=np.array([True, False, False, False, False, True]),
        seconds=1.0,
    )


def test_inputs_that_differ_in_protected_values_only_count_once():
    found = result()
    assert found.trace.inputs.tolist() == [[1, 0], [2, 1], [3, 1], [4, 0]], "by seed, then by time"
    assert (found.n_inputs, found.n_discriminatory, found.success_rate) == (4, 2, 0.5)
    assert found.discriminatory.tolist() == [[1, 0], [3, 1]]


@pytest.mark.parametrize("n_attributes", [1, 2, 65, 200])
def test_repeated_inputs_are_those_seen_before(n_attributes):
    inputs = np.random.default_rng(0).integers(-2, 2, (60, n_attributes))
    inputs[30:] = inputs[:30]
    inputs[30:, 0] += 1
    seen, expected = set(), []
    for row in inputs[:, 1:].tolist():
        expected.append(tuple(row) in seen)
        seen.add(tuple(row))
    assert repeated(inputs, np.array([0])).tolist() == expected
    few = np.zeros((3, n_attributes), dtype=int)
    assert repeated(few, np.array([0])).tolist() == [False, True, True], "one number for each, of any number of columns"


def test_pairs_have_the_partners_values():
    assert result().pairs.tolist() == [[[1, 0], [1, 1]], [[3, 1], [3, 0]]]


def test_growth_accumulates_over_the_seeds_that_started():
    growth = result().growth()
    assert growth.index.tolist() == [1, 2]
    assert growth["inputs"].tolist() == [2, 4]
    assert growth["discriminatory"].tolist() == [1, 2]


def test_a_search_that_tried_nothing():
    nothing = SearchResult.count(
        Trace.join([], 2),
        schema=SCHEMA,
        sensitive_features="sex",
        iterations=np.array([]),
        successful=np.array([], dtype=bool),
        seconds=0.0,
    )
    assert (nothing.n_inputs, nothing.n_discriminatory, nothing.success_rate) == (0, 0, 0)
    assert nothing.pairs.shape == (0, 2, 2)
    assert nothing.growth().empty
    assert nothing.to_frame().loc[0, "successful seeds"] == 0


SCHEMA_BAD_INPUT = Schema.from_bounds({"a": (0, 9), "sex": (0, 1), "b": (0, 9)})
X = SCHEMA_BAD_INPUT.sample(30, random_state=0)


def score(X):
    return X[:, 0] - X[:, 2] + 2.0 * X[:, 1]


def rule(X):
    return score(X) >= 1


@pytest.mark.parametrize("method", [ADF, Aequitas])
def test_a_search_keeps_its_parameters_and_can_be_cloned(method):
    given = {"n_local": 7, "variant": "published", "decision_threshold": 1, "random_state": 3}
    search = method(score, SCHEMA_BAD_INPUT, "sex", **given)
    assert search.get_params().items() >= given.items()
    searched = {ADF: lambda s: s.generate(X, n_seeds=10), Aequitas: lambda s: s.generate(n_samples=10)}[method]
    found, copy = searched(search), clone(search)
    assert search.get_params().items() >= given.items(), "a search changes no parameter"
    assert copy.get_params() | {"schema": None} == search.get_params() | {"schema": None}
    assert copy.schema == search.schema
    assert np.array_equal(searched(copy).trace.inputs, found.trace.inputs)
    for wrong in (method(None, None, None, n_local=-1), copy.set_params(n_local=-1)):
        with pytest.raises((ValueError, TypeError)):
            searched(wrong)
