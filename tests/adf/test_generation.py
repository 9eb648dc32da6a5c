import numpy as np
import pandas as pd
import pytest

from fairlab.adf import ADF, discriminatory, estimate_unfairness
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
from fairlab.benchmarks.adf import dense_network
from fairlab.cases import Schema

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
