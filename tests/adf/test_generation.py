from operator import attrgetter
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from small_network import check_every_instance

from fairlab.adf import (
    ADF,
    Aequitas,
    FiniteDifferences,
    SearchResult,
    discriminatory,
    estimate_unfairness,
)
from fairlab.adf.aequitas import Odds
from fairlab.adf.compiled import total_of
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
from fairlab.adf.gradients import CodedCase
from fairlab.cases import Case, Schema
from fairlab.networks import FeedForward
from fairlab.papers.adf.searches import AequitasAsReleased

READINGS = pytest.mark.parametrize("variant", ["published", "sound"])


STRATEGIES = ["random", "semi_directed", "fully_directed"]


@READINGS
@pytest.mark.parametrize("sensitive_features", ["group", ("group", "sex")])
@pytest.mark.parametrize("strategy", ["gradients", *STRATEGIES])
def test_every_reported_instance_is_discriminatory(network, schema, strategy, variant, sensitive_features):
    given = {"n_local": 30, "variant": variant, "random_state": 0}
    if strategy == "gradients":
        X = schema.sample(300, random_state=5)
        result = ADF(network, schema, sensitive_features, **given).generate(X, n_seeds=40)
    else:
        result = Aequitas(network, schema, sensitive_features, strategy=strategy, **given).generate(n_samples=60)
    check_every_instance(result, network, schema, sensitive_features)
    assert result.growth().iloc[-1].tolist() == [result.n_inputs, result.n_discriminatory]


def test_the_phases_apart_are_the_search(network, schema):
    X = schema.sample(100, random_state=5)
    adf = ADF(network, schema, "sex", n_local=20, random_state=0, variant="sound")
    phase = adf.global_search(adf.seeds(X, 30))
    assert np.array_equal(adf.generate(X, n_seeds=30).iterations, phase.iterations)
    pairs = adf.local_search(phase).pairs
    again = adf.local_search(pairs)
    check_every_instance(again, network, schema, "sex")
    assert len(again.successful) == len(pairs)


def test_seeds_outside_of_the_bounds_come_inside_with_their_first_move(network, schema):
    X = schema.sample(200, random_state=5)
    X[:, 0] = 100
    with pytest.warns(UserWarning, match="outside of the bounds of the schema: a 200"):
        result = ADF(network, schema, "group", n_local=10, random_state=0).generate(X, n_seeds=40)
    assert (result.iterations[result.trace.seed[result.trace.inputs[:, 0] > 9]] == 0).all()


def test_clusters_are_gone_through_in_turn_each_in_row_order():
    turns = [round_robin(np.array([2, 0, 0, 1, 2, 0]), n).tolist() for n in (6, 4, 99)]
    assert turns == [[1, 3, 0, 2, 4, 5], [1, 3, 0, 2], [1, 3, 0, 2, 4, 5]]
    far = np.repeat([[0, 0], [9, 0], [0, 9], [9, 9]], 5, axis=0) + np.tile([[0, 1]], (20, 1))
    labels = cluster_labels(far).reshape(4, 5)
    assert (sorted(labels[:, 0]), (labels == labels[:, :1]).all()) == ([0, 1, 2, 3], True)


GENDER = np.array([2])


def gradients(own, theirs):
    """Return a network of which only the gradients matter: first those of one side, then those of the other."""
    answers = [np.array([own], dtype=float), np.array([theirs], dtype=float)]
    return SimpleNamespace(
        loss_gradient=lambda X: answers.pop(0), log_odds_gradient=lambda X: (np.ones(1), -answers.pop(0))
    )


@pytest.mark.parametrize(
    ("own", "theirs", "published", "sound"),
    [
        ([3, -2, 9, 0.5], [1, 2, 9, 4], [1, 0, 0, 1], [1, 0, 0, 1]),  # agreement, never along the protected attribute
        ([3, -2, 9, 0], [0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]),  # a flat partner: +1 whatever the sign
        ([0, 0, 0, 0], [1, -2, 9, 4], [0, 0, 0, 0], [0, 0, 0, 0]),  # a flat input does not move
    ],
)
def test_direction(own, theirs, published, sound):
    X, rng = np.zeros((1, 4), dtype=int), np.random.default_rng(0)
    found = [direction(gradients(own, theirs), X, X, GENDER, variant, rng) for variant in ("published", "sound")]
    assert np.array(found).tolist() == [[published], [sound]]


def test_without_a_common_direction_one_attribute_is_drawn():
    steps = [
        direction(gradients([1, -1, 1, 1], [-1, 1, 1, -1]), np.zeros((1, 4)), None, GENDER, "published", rng)[0]
        for rng in map(np.random.default_rng, range(40))
    ]
    assert {tuple(step) for step in steps} == {(1, 0, 0, 0), (0, -1, 0, 0), (0, 0, 0, 1)}


AGES = Schema.from_bounds({"a": (0, 9), "age": (1, 4)})


@pytest.mark.parametrize(
    ("margin", "X", "variant", "values", "flips"),
    [
        # The first of another class, else the furthest.
        (lambda X: X[:, 0] + np.array([0, -1, -3, 2, -5])[X[:, 1]], [2, 1], "published", [2], True),
        (lambda X: X[:, 0] + np.array([0, -1, -3, 2, -5])[X[:, 1]], [9, 1], "published", [4], False),
        (lambda X: X[:, 0] + np.array([0, -1, -3, 2, -5])[X[:, 1]], [9, 4], "published", [3], False),
        # A saturated network has none as published.
        (lambda X: 1000.0 + X[:, 1], [5, 1], "published", [-1], False),
        (lambda X: 1000.0 + X[:, 1], [5, 1], "sound", [2], False),
    ],
)
def test_partners_by_hand(margin, X, variant, values, flips):
    model = SimpleNamespace(
        logits=lambda X: np.stack([np.zeros(len(X)), margin(X)], axis=1).astype(np.float32),
        predict=lambda X: (margin(X) > 0).astype(int),
    )
    of_age = AGES.positions("age"), AGES.values("age")
    partner, found = choose_partner(model, np.array([X]), *of_age, variant=variant)
    assert (with_partner(np.array([X]), partner, *of_age)[0, 1:].tolist(), found.tolist()) == (values, [flips])


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2, 5, 0], [1, 0, 5, 4], [0.4, 0.4, 0, 0.2]),
        ([0, 0, 0, 0], [0, 0, 0, 0], [1 / 3, 1 / 3, 0, 1 / 3]),
        ([1, 0, 0, 0], [0, 0, 0, 0], [0, 0.5, 0, 0.5]),  # what is flat takes everything
    ],
)
def test_weights_are_in_inverse_proportion_to_both_gradients(first, second, expected):
    found = attribute_weights(*(np.array([part], dtype=float) for part in (first, second)), GENDER)
    np.testing.assert_allclose(found, [expected])


def is_at_five(X):
    return ((X[:, 0] == 5) & (X[:, 1] == 1)).astype(int)


# Discriminates where the first attribute is 5, and knows no other direction.
ONLY_AT_FIVE = SimpleNamespace(
    n_features=2,
    predict=is_at_five,
    logits=lambda X: np.eye(2)[is_at_five(X)],
    loss_gradient=lambda X: np.tile([0.0, 1.0], (len(X), 1)),
    log_odds_gradient=lambda X: (np.ones(len(X)), np.tile([0.0, 1.0], (len(X), 1))),
)


@pytest.mark.parametrize(("variant", "stayed"), [("published", 1 - np.exp(-1)), ("sound", 0)])
def test_leaving_for_what_is_not_discriminatory(variant, stayed):
    n = 4000
    phase = GlobalPhase(np.tile([5, 1], (n, 1)), np.full((n, 1), 2), np.arange(n), np.zeros(n))
    starts, *steps = ADF(ONLY_AT_FIVE, AGES, "age", n_local=2, variant=variant).steps(phase)
    assert (starts.partner >= 0).all()
    # Whoever was turned back tries a neighbour of 5 again; whoever left is an even number away.
    assert [(np.abs(step.inputs[:, 0] - 5) == 1).mean() for step in steps] == [1, pytest.approx(stayed, abs=0.03)]


@pytest.mark.parametrize(("refresh", "times"), [(1, 10), (4, 3), (99, 1)])
def test_odds_that_are_kept_ask_for_fewer_gradients(refresh, times):
    asked = Mock(side_effect=ONLY_AT_FIVE.log_odds_gradient)
    model = SimpleNamespace(**vars(ONLY_AT_FIVE) | {"log_odds_gradient": asked})
    steps = ADF(model, AGES, "age", n_local=10, refresh=refresh).steps([[[5, 1], [5, 2]]])
    assert (len(list(steps)), asked.call_count) == (11, 2 * times), "both sides of the pair"


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (lambda adf, X: adf.local_search(np.zeros((1, 2, 5))), "pairs: expected integers, found float64"),
        (lambda adf, X: adf.local_search(X), r"pairs: expected shape \(n, 2, 5\)"),
        (lambda adf, X: adf.local_search(np.full((1, 2, 5), 7)), "outside of the schema"),
        (lambda adf, X: adf.generate(pd.DataFrame({"a": [1]})), "the schema has"),
        (lambda adf, X: adf.set_params(decision_threshold=0.5).generate(X), "threshold: expected none, since Network"),
        (lambda adf, X: adf.set_params(sensitive_features=adf.schema.names).generate(X), "no attribute is left"),
        (lambda adf, X: adf.set_params(schema=WIDER).generate(WIDER.sample(9)), "takes 5 columns, the schema has 6"),
        # other columns than a tree was fitted to, and too many classes
        *(
            (search, "schema and the model's fit differ in columns: their order differs")
            for search in (
                lambda *_: discriminatory(tree(["sex", "a"]), TWO.sample(2), "sex", schema=TWO),
                lambda *_: Aequitas(tree(["sex", "a"]), TWO, "sex").generate(n_samples=5),
                lambda *_: ADF(tree(["sex", "a"]), TWO, "sex", decision_threshold=0.5).generate(TWO.sample(2)),
            )
        ),
        (
            lambda *_: discriminatory(THREE_CLASSES, TWO.sample(1), "sex", schema=TWO, decision_threshold=0.5),
            "model: expected two classes, the second with the score, found 3",
        ),
    ],
)
def test_what_models_and_schemas_do_not_fit_is_refused(network, schema, search, message):
    with pytest.raises(ValueError, match=message):
        search(ADF(network, schema, "sex"), schema.sample(9, random_state=0))


THREE_CLASSES = DecisionTreeClassifier().fit(np.arange(20).reshape(10, 2), np.arange(10) % 3)
WIDER = Schema.from_bounds(dict.fromkeys(["a", "group", "b", "sex", "c", "d"], (0, 1)))


def test_only_negative_values_have_neighbours_by_truncation():
    neighbours, owner = truncated_neighbours(np.array([[3, 0, 1], [-2, 5, -1]]))
    assert (neighbours.tolist(), owner.tolist()) == ([[-1, 5, -1], [-2, 5, 0]], [1, 1])


# gradients

FOUR = Schema.from_bounds({"a": (0, 9), "sex": (0, 1), "b": (0, 9), "one": (3, 3)})


def line(X):
    return 0.3 * X[:, 0] - 0.5 * X[:, 2] + 2 * X[:, 1]


def test_slopes_of_a_line_are_its_coefficients():
    differences = FiniteDifferences(line, FOUR, "sex", decision_threshold=1.0)
    X = np.array([[4, 0, 4, 3], [0, 1, 9, 3], [9, 1, 0, 3], [20, 0, -4, 3]])
    margin, gradient = differences.log_odds_gradient(X)
    expected = np.where(line(X) >= 1, 1, -1)[:, None] * [[0.3, 0, -0.5, 0]]
    np.testing.assert_allclose(margin, np.abs(line(X) - 1))
    np.testing.assert_allclose(gradient, expected, atol=1e-9)
    np.testing.assert_allclose(differences.loss_gradient(X), -expected / (1 + np.exp(margin))[:, None], atol=1e-9)


def test_neighbours_stay_in_the_domain_and_sensitive_values_as_they_are():
    asked, X = [], FOUR.sample(50, random_state=0)
    FiniteDifferences(lambda X: asked.append(X) or line(X), FOUR, "sex", decision_threshold=1.0).log_odds_gradient(X)
    moves = asked[1] - np.repeat(X, 6, axis=0)  # two for every attribute that is not sensitive
    assert (FOUR.outside(asked[1]).any(), moves[:, 1].any(), np.abs(moves).sum(axis=1).max()) == (False, False, 1)


def test_a_networks_own_gradients_are_those_of_its_weights_and_rows_of_the_budget():
    weights = np.array([0.3, -0.5, 0.9, 0.1])
    model = FeedForward([np.stack([0 * weights, weights], axis=1), np.array([0, -0.25])])
    table = pd.DataFrame(np.random.default_rng(0).integers(0, [9, 9, 2, 9], (200, 4)), columns=["a", "b", "sex", "c"])
    case = Case(model, table, sensitive_features="sex", decision_threshold=0.5)
    coded = CodedCase(case, "sex")
    X = coded.domain.sample(50, random_state=0)
    with case.queries.limit(10_000):
        margin, slope = coded.log_odds_gradient(X)
        assert (case.has_gradients, case.queries.left <= 10_000 - 50) == (True, True)
    odds = X @ weights - 0.25
    np.testing.assert_allclose(margin, np.abs(odds), atol=1e-5)
    np.testing.assert_allclose(slope, np.sign(odds)[:, None] * [[0.3, -0.5, 0, 0.1]], atol=1e-5)


# aequitas

TWO = Schema.from_bounds({"a": (0, 9), "sex": (0, 1)})


def one_walk_after_the_other(model, schema, sensitive_features, draws, n_local, rng, method):
    """Aequitas as it was coded, one input at a time; return the sets of inputs tried and found."""
    [column], n = schema.positions(sensitive_features), len(schema.names)
    p, q, unit = np.full(n, 1 / n), np.full(n, 0.5), np.eye(n, dtype=int)

    def check(x):
        """Return whether another value of the sensitive feature changes the decision, and the first one, or its own."""
        values = schema.values(sensitive_features)[:, 0].tolist()
        changing = [value for value in values if model([x + (value - x[column]) * unit[column]])[0] != model([x])[0]]
        return bool(changing), [*changing, x[column]][0]

    def key(x):
        return tuple(np.delete(x, column).tolist())

    tried, starts = list(draws), {}
    for x in draws:
        if check(x)[0]:
            starts.setdefault(key(x), x)
    for x in starts.values():
        objective = check(x)[1] == 0
        for _ in range(n_local):
            j = rng.choice(n, 1, p=p)[0]
            down = 0.5 if x[j] in schema.bounds[schema.names[j]] else q[j]
            step = -1 if rng.random(1)[0] < down else 1
            moved = np.clip(x + step * unit[j], schema.low, schema.high)
            tried += [moved, *(moved + unit[moved < 0])]  # a finite difference is truncated to the next value
            hit, value = check(moved)
            paid = value != 0 if method is Aequitas else hit
            q[j] = np.clip(q[j] + (0.001 if paid == (step == -1) else -0.001), 0, 1)
            p[j] = max(p[j] + (0.001 if paid else -0.001), 0)
            p = p / p.sum()
            if rng.random(1)[0] < np.exp(-1) or (value == 0) <= objective:
                x, objective = moved, value == 0
    return {key(x) for x in tried}, {key(x) for x in tried if check(x)[0]}


@pytest.mark.parametrize("sensitive_features", ["sex", "group"])
@pytest.mark.parametrize("method", [Aequitas, AequitasAsReleased])
def test_one_in_flight_is_the_original(network, schema, method, sensitive_features):
    options = {"n_local": 25, "in_flight": 1, "variant": "published", "random_state": 4}
    result = method(network, schema, sensitive_features, **options).generate(n_samples=8)
    rng = np.random.default_rng(4)
    draws = schema.sample(8, random_state=rng)
    expected = one_walk_after_the_other(network.predict, schema, sensitive_features, draws, 25, rng, method)
    tried, found = (
        set(map(tuple, np.delete(inputs, schema.positions(sensitive_features), axis=1).tolist()))
        for inputs in (result.trace.inputs, result.discriminatory)
    )
    assert (tried, found) == expected


@READINGS
@pytest.mark.parametrize("in_flight", [1, 4])
def test_runs_together_are_as_each_alone(network, schema, variant, in_flight):
    search = Aequitas(network, schema, "group", n_local=15, in_flight=in_flight, variant=variant)
    rngs = [np.random.default_rng(k) for k in (3, 4, 5)]
    starts = [schema.sample(n, random_state=n) for n in (6, 9)]
    together = search.search_runs([schema.sample(20, random_state=rng) for rng in rngs], rngs)
    together += search.search_runs(starts, [1, 2])
    alone = [search.set_params(random_state=k).generate(n_samples=20) for k in (3, 4, 5)]
    assert len({run.successful.sum() for run in alone}) > 1, "one run ends before the others"
    alone += [search.set_params(random_state=k).local_search(some) for k, some in zip((1, 2), starts, strict=True)]
    parts = attrgetter("trace.inputs", "trace.seed", "successful")
    np.testing.assert_equal([*map(parts, together)], [*map(parts, alone)])
    assert [len(run.iterations) for run in together[3:]] == [6, 9]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("method", [Aequitas, AequitasAsReleased])
@READINGS
def test_the_compiled_walk_is_the_plain_one(weights, schema, variant, method, strategy, monkeypatch):
    pytest.importorskip("numba")
    search = method(
        FeedForward(weights),
        schema,
        ["sex", "group"],
        strategy=strategy,
        n_local=30,
        in_flight=3,
        n_walks=2,
        learning_rate=0.1,  # so that odds reach 0 and 1
        variant=variant,
    )
    starts = [schema.sample(n, random_state=n) for n in (9, 1, 25)]
    monkeypatch.setattr("fairlab.adf.aequitas.STEPS_AT_ONCE", 20)

    def walked():
        """Return the parts of each step, and the inputs of each run."""
        steps = [attrgetter("inputs", "partner", "seed")(step) for step in search.steps_of_runs(starts, [1, 2, 3])]
        assert len(steps) > 30
        return steps, [run.trace.inputs for run in search.search_runs(starts, [1, 2, 3])]

    compiled = walked()
    monkeypatch.setattr("fairlab.models.loops.IS_COMPILED", False)
    np.testing.assert_equal(compiled, walked())


@pytest.mark.parametrize("n", [1, 7, 8, 9, 13, 16, 20, 127, 128, 129, 300, 1000])
def test_odds_are_summed_as_numpy_does(n):
    odds = np.random.default_rng(n).random((4, n))
    assert list(map(total_of, odds)) == odds.sum(axis=1).tolist()


@pytest.mark.filterwarnings("ignore:overflow")
def test_the_compiled_walk_says_that_a_network_overflows():
    pytest.importorskip("numba")
    network = FeedForward([np.array([[3.8e37, 0], [0, 3.4e38]]), np.zeros(2)])  # an income of 9 is too much for float32
    schema = Schema.from_bounds({"income": (1, 12), "sex": (0, 1)})
    assert network.predict(np.array([[6, 0], [6, 1]])).tolist() == [0, 1]
    with pytest.raises(ValueError, match="is not a number"):
        Aequitas(network, schema, "sex", n_local=500).local_search(np.array([[6, 0]]))


@pytest.mark.parametrize(
    ("strategy", "options", "down", "attribute"),
    [
        ("fully_directed", {}, [0.502, 0.501], [0.5 / 0.999, 0.499 / 0.999]),
        ("fully_directed", {"learning_rate": 0.1}, [0.7, 0.6], [0.5 / 0.9, 0.4 / 0.9]),
        ("semi_directed", {}, [0.502, 0.501], [0.5, 0.5]),
        ("random", {}, [0.5, 0.5], [0.5, 0.5]),
    ],
)
def test_odds_learn_from_every_move_what_the_strategy_directs(strategy, options, down, attribute):
    odds = Odds(TWO, strategy, **options)
    odds.learn(np.array([0, 0, 1]), np.array([-1, 1, 1]), np.array([True, False, False]), np.array([0, 0, 0]))
    np.testing.assert_allclose([odds.down[0], odds.attribute[0]], [down, attribute])


def test_a_bound_is_left_by_a_fair_coin():
    odds, chance = Odds(TWO, "fully_directed", [1]), np.random.default_rng(0).random((2, 1000))
    odds.down[:] = 1.0
    column, step = odds.draw(np.tile([[0, 0], [5, 0]], (500, 1)), np.zeros(1000, dtype=int), chance)
    assert (set(column), set(step[1::2])) == ({0}, {-1}), "protected attributes are left out"
    assert 0.4 < (step[::2] == 1).mean() < 0.6


def test_a_search_ends_with_enough(network, schema):
    search, X = ADF(network, schema, "group", n_local=200, random_state=0), schema.sample(100, random_state=5)
    found = search.generate(X, n_seeds=30, max_found=50).n_discriminatory
    assert 50 <= found < 50 + 30, "no more than one step of all seeds"
    assert Aequitas(network, schema, "group", random_state=0).generate(max_found=40).n_discriminatory >= 40


def test_walks_of_a_constant_model_of_scores_and_several_from_one_start():
    constant = Aequitas(lambda X: np.zeros(len(X)), TWO, "sex", random_state=0).generate(n_samples=30)
    assert constant.n_inputs > constant.n_discriminatory == 0, "the draws count as tried"
    search = Aequitas(lambda X: X[:, 0] + 0.9 * X[:, 1], TWO, "sex", decision_threshold=4.5, n_local=5)
    assert set(search.generate(n_samples=50).discriminatory[:, 0]) == {4}
    tried = [len(search.set_params(n_walks=n).local_evaluations(np.array([[4, 0]])).inputs) for n in (1, 5)]
    assert tried == [1 + 5, 1 + 5 * 5]


# discrimination


@pytest.mark.parametrize(
    ("sensitive_features", "expected"),
    [
        ("sex", [False, True, True, False]),
        ("age", [False, False, True, True]),
        (["age", "sex"], [True] * 4),
    ],
)
def test_every_other_value_is_tried(sensitive_features, expected):
    schema, X = Schema.from_bounds({"sex": (0, 1), "age": (1, 9)}), np.array([[0, 3], [0, 5], [1, 5], [1, 4]])
    found = discriminatory(lambda X: (X[:, 0] == 1) & (X[:, 1] > 4), X, sensitive_features, schema=schema)
    assert found.tolist() == expected


@pytest.mark.parametrize(("threshold", "expected"), [(0.5, [False, False]), (4.5, [True, False]), (5.5, [False, True])])
def test_a_score_is_held_against_its_threshold(threshold, expected):
    options = {"schema": TWO, "sensitive_features": "sex", "decision_threshold": threshold}
    score = lambda X: X[:, 0] + 0.9 * X[:, 1]  # noqa: E731
    assert discriminatory(score, np.array([[4, 0], [5, 0]]), **options).tolist() == expected
    found = estimate_unfairness(score, n=1_000, random_state=0, **options)
    assert found.share == pytest.approx(0.1, abs=0.03), "one value of ten"
    assert found.standard_error == pytest.approx(np.sqrt(0.1 * 0.9 / 1_000), rel=0.15)
    by_scipy = binomtest(round(1_000 * found.share), 1_000).proportion_ci(0.95)
    assert found.interval() == pytest.approx((by_scipy.low, by_scipy.high))


def test_a_score_in_single_precision_is_held_against_its_threshold():
    options = {"schema": TWO, "sensitive_features": "sex", "decision_threshold": 0.7}
    score = lambda X: ((X[:, 0] + X[:, 1]) / 10).astype(np.float32)  # noqa: E731
    assert discriminatory(score, np.array([[6, 0], [7, 0]]), **options).tolist() == [True, False]
    differences = FiniteDifferences(score, TWO, "sex", decision_threshold=0.7)
    X = np.array([[6, 0], [7, 0], [6, 1]])  # the last two at the threshold
    assert differences.predict(X).tolist() == differences.logits(X).argmax(axis=1).tolist() == [0, 1, 1]


def tree(names):
    """Return a tree that was fitted to columns of these names."""
    table = pd.DataFrame(TWO.sample(500, random_state=0), columns=TWO.names)
    return DecisionTreeClassifier().fit(table[names], table["a"] + 2 * table["sex"] >= 5)


def test_a_tree_gets_the_columns_that_it_was_fitted_to():
    assert discriminatory(tree(["a", "sex"]), [[4, 0], [9, 0]], "sex", schema=TWO).tolist() == [True, False]


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        (
            Schema.from_frame(pd.DataFrame({"sex": [0, 1] * 100, "a": np.arange(200) * 3})),
            "'a', found 27, 87, 147 and 7",
        ),
        (Schema.from_dict({"sex": [1, 2, 4], "a": range(3)}), "'sex', found 1, 2, 4"),
        (Schema.from_dict({"sex": [0, 1], "a": [0, 1, None]}), "'a', found 0, 1, None"),
    ],
)
def test_numbers_are_not_handed_over_as_codes(schema, found):
    given = {"schema": schema, "sensitive_features": "sex"}
    for call in (
        lambda: estimate_unfairness(line, **given),
        lambda: Aequitas(line, **given).generate(n_samples=5),
        lambda: ADF(line, **given, decision_threshold=1.0).generate(schema.sample(5)),
        lambda: FiniteDifferences(line, **given, decision_threshold=1.0),
    ):
        with pytest.raises(ValueError, match=f"schema: expected all whole numbers between two of {found}"):
            call()
    words = Schema.from_dict({"sex": ["f", "m"], "a": [False, True]})
    assert discriminatory(lambda X: X[:, 0] == 1, words.sample(5), "sex", schema=words).all()


def test_a_model_that_writes_into_its_input_changes_no_search():
    def scaled(X):
        X *= 2
        return X[:, 0] + 2 * X[:, 1]

    def found(score):
        search = ADF(score, TWO, "sex", decision_threshold=9, n_local=20)
        return search.generate(TWO.sample(20, random_state=0)).trace.inputs.tolist()

    assert found(scaled) == found(lambda X: scaled(X.copy()))


def counted(trace, iterations, successful):
    return SearchResult.count(
        trace,
        schema=TWO,
        sensitive_features="sex",
        seconds=1.0,
        iterations=np.array(iterations),
        successful=np.array(successful, dtype=bool),
    )


def test_inputs_that_differ_in_protected_values_only_count_once():
    trace = Trace(
        inputs=np.array([[1, 0], [2, 0], [1, 1], [3, 1], [2, 1], [4, 0]]),
        partner=np.array([1, -1, 0, 0, -1, -1]),
        seed=np.array([0, 5, 5, 5, 0, 5]),
    )
    found = counted(trace, [0, 10, 10, 10, 10, 3], [True, False, False, False, False, True])
    assert found.trace.inputs.tolist() == [[1, 0], [2, 1], [3, 1], [4, 0]], "by seed, then by time"
    assert (found.n_inputs, found.n_discriminatory, found.success_rate) == (4, 2, 0.5)
    pairs = [[[1, 0], [1, 1]], [[3, 1], [3, 0]]]
    assert (found.pairs.tolist(), found.discriminatory.tolist()) == (pairs, [first for first, _ in pairs])
    growth = found.growth()[["inputs", "discriminatory"]].to_dict()
    assert growth == {"inputs": {1: 2, 2: 4}, "discriminatory": {1: 1, 2: 2}}, "by seeds that have started"


@pytest.mark.parametrize("n_attributes", [1, 2, 65, 200])
def test_repeated_inputs_are_those_seen_before(n_attributes):
    inputs = np.random.default_rng(0).integers(-2, 2, (60, n_attributes))
    inputs[30:] = inputs[:30]
    inputs[30:, 0] += 1
    rows = inputs[:, 1:].tolist()
    assert repeated(inputs, np.array([0])).tolist() == [row in rows[:k] for k, row in enumerate(rows)]
    one_number_each = repeated(np.zeros((3, n_attributes), dtype=int), np.array([0]))
    assert one_number_each.tolist() == [False, True, True]


def test_a_search_that_tried_nothing():
    nothing = counted(Trace.join([], 2), [], [])
    numbers = nothing.n_inputs, nothing.n_discriminatory, nothing.success_rate, len(nothing.growth())
    assert (numbers, nothing.pairs.shape, nothing.to_frame().loc[0, "successful seeds"]) == ((0,) * 4, (0, 2, 2), 0)


@pytest.mark.parametrize(
    ("method", "options"), [(ADF, {"X": FOUR.sample(30, random_state=0), "n_seeds": 10}), (Aequitas, {"n_samples": 10})]
)
def test_a_search_keeps_its_parameters_and_can_be_cloned(method, options):
    given = {"n_local": 7, "variant": "published", "decision_threshold": 1, "random_state": 3}
    search = method(line, FOUR, "sex", **given)
    found, copy = search.generate(**options), clone(search)
    assert search.get_params().items() >= given.items(), "a search changes no parameter"
    assert copy.get_params() == search.get_params()
    np.testing.assert_array_equal(copy.generate(**options).trace.inputs, found.trace.inputs)


def test_step_sizes_multiply_the_moves_of_both_phases(network, schema):
    seeds, its = schema.sample(60, random_state=6), (schema.positions("group"), schema.values("group"))
    partner, flips = choose_partner(network, seeds, *its, variant="sound")
    seeds, other = seeds[~flips], with_partner(seeds, partner, *its)[~flips]
    moved = schema.clip(seeds + 2 * direction(network, seeds, other, its[0], "sound", None))
    adf = ADF(network, schema, "group", max_iter=1, global_step=2, n_local=30, local_step=3)
    phase = adf.global_search(seeds)
    assert phase.inputs.tolist() == moved[phase.seed].tolist() != []
    walk = np.stack([step.inputs[0] for step in adf.steps(phase)])
    steps, at_bound = np.diff(walk, axis=0), (walk[1:] == schema.low) | (walk[1:] == schema.high)
    assert ((steps != 0).sum(axis=1) <= 1).all() and set(np.abs(steps[~at_bound])) == {0, 3}
