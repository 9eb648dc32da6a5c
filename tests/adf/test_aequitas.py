import numpy as np
import pytest

from fairlab.adf import Aequitas, discriminatory
from fairlab.adf.aequitas import Odds
from fairlab.cases import Schema
from fairlab.papers.adf.trials import AequitasAsReleased

TWO = Schema.from_bounds({"a": (0, 9), "sex": (0, 1)})


@pytest.mark.parametrize("variant", ["published", "sound"])
@pytest.mark.parametrize("strategy", ["random", "semi_directed", "fully_directed"])
def test_every_reported_instance_is_discriminatory(network, schema, strategy, variant):
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
