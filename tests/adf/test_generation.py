import numpy as np
import pandas as pd
import pytest

from fairlab.adf import ADF, discriminatory, estimate_unfairness
from fairlab.networks import dense_network

READINGS = pytest.mark.parametrize("reading", ["as_published", "as_described"])


def check_every_instance(result, model, schema, sensitive):
    """Check again, apart from the search, what it reports."""
    found = result.discriminatory
    columns = schema.positions(sensitive)
    assert ((found >= schema.low) & (found <= schema.high)).all(), "in the domain"
    assert len(np.unique(np.delete(found, columns, axis=1), axis=0)) == len(found), "distinct"
    assert discriminatory(model, found, sensitive, schema=schema).all()
    first, second = result.pairs[:, 0], result.pairs[:, 1]
    assert (np.delete(first, columns, axis=1) == np.delete(second, columns, axis=1)).all()
    assert (model.predict(first) != model.predict(second)).all()


@READINGS
@pytest.mark.parametrize("sensitive", ["group", ("group", "sex")])
def test_every_reported_instance_is_discriminatory(network, schema, reading, sensitive):
    X = schema.sample(300, random_state=5)
    adf = ADF(network, schema, sensitive, n_local=30, reading=reading, random_state=0)
    result = adf.generate(X, n_seeds=40)
    check_every_instance(result, network, schema, sensitive)
    assert result.n_discriminatory > result.successful.sum() > 0
    assert discriminatory(network, result.trace.inputs, sensitive, schema=schema).sum() == result.n_discriminatory
    assert result.growth().iloc[-1].tolist() == [result.n_inputs, result.n_discriminatory]


def test_the_same_seed_gives_the_same_search(network, schema):
    X = schema.sample(100, random_state=5)

    def inputs(seed):
        return ADF(network, schema, "sex", n_local=20, random_state=seed).generate(X, n_seeds=30).trace.inputs

    assert np.array_equal(inputs(1), inputs(1))
    assert not np.array_equal(inputs(1), inputs(2))


def test_the_phases_apart_are_the_search(network, schema):
    X = schema.sample(100, random_state=5)
    adf = ADF(network, schema, "sex", n_local=20, random_state=0, reading="as_described")
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
    nothing = adf.generate(X, n_seeds=30, time_limit=0)
    assert (nothing.n_inputs, nothing.n_discriminatory) == (0, 0)
    enough = adf.generate(X, n_seeds=30, max_found=50)
    assert 50 <= enough.n_discriminatory < 50 + 30
    assert enough.n_inputs < adf.generate(X, n_seeds=30).n_inputs
    with pytest.raises(ValueError, match="time_limit: expected a number of at least 0"):
        adf.generate(X, time_limit=-1)


@READINGS
def test_a_constant_model_gives_nothing(schema, weights, reading):
    constant = dense_network([np.zeros_like(part) for part in weights])
    result = ADF(constant, schema, "sex", reading=reading, random_state=0).generate(schema.sample(20, random_state=0))
    assert (result.n_inputs, result.n_discriminatory, result.success_rate) == (0, 0, 0)
    assert (result.iterations == 10).all()


def test_seeds_outside_of_the_bounds_come_inside_with_their_first_move(network, schema):
    X = schema.sample(200, random_state=5)
    X[:, 0] = 100
    with pytest.warns(UserWarning, match="outside of the bounds of the schema: a 200"):
        result = ADF(network, schema, "group", n_local=10, random_state=0).generate(X, n_seeds=40)
    outside = result.trace.inputs[:, 0] > 9
    assert (result.iterations[result.trace.seed[outside]] == 0).all()


def test_bad_input(network, schema):
    with pytest.raises(ValueError, match="'age' is not in the schema"):
        ADF(network, schema, "age")
    with pytest.raises(ValueError, match="reading: expected one of as_published, as_described"):
        ADF(network, schema, "sex", reading="as_printed")
    for options in ({"n_local": -1}, {"n_local": 0.5}, {"n_clusters": 0}, {"max_iter": -1}, {"max_iter": "9"}):
        with pytest.raises(ValueError, match=f"{next(iter(options))}: expected"):
            ADF(network, schema, "sex", **options)
    X = schema.sample(9, random_state=0)
    for options in ({"n_seeds": 0}, {"n_seeds": -1}, {"n_seeds": 2.5}, {"max_found": 0}, {"time_limit": np.nan}):
        with pytest.raises(ValueError, match=f"{next(iter(options))}: expected"):
            ADF(network, schema, "sex").generate(X, **options)
    with pytest.raises(ValueError, match="n_clusters: expected at most the 1 rows of X, found 4"):
        ADF(network, schema, "sex").generate(X[:1])
    with pytest.raises(ValueError, match="pairs: expected integers, found float64"):
        ADF(network, schema, "sex").local_search(np.zeros((1, 2, 5)))
    with pytest.raises(ValueError, match="threshold: expected none, since Network has classes of its own"):
        ADF(network, schema, "sex", threshold=0.5)
    wider = type(schema).from_bounds(schema.bounds | {"d": (0, 1)})
    with pytest.raises(ValueError, match="takes 5 columns, the schema has 6"):
        ADF(network, wider, "sex")
    adf = ADF(network, schema, "sex")
    with pytest.raises(ValueError, match=r"pairs: expected shape \(n, 2, 5\)"):
        adf.local_search(np.zeros((3, 5), dtype=int))
    with pytest.raises(ValueError, match="outside of the schema"):
        adf.local_search(np.full((1, 2, 5), 7))
    with pytest.raises(ValueError, match="the schema has"):
        adf.generate(pd.DataFrame({"a": [1]}))


@READINGS
def test_a_network_of_broken_weights_is_refused(schema, weights, reading):
    broken = dense_network([np.full_like(part, np.nan) for part in weights])
    with pytest.raises(ValueError, match=r"model: answers .* inputs with what is not a number"):
        ADF(broken, schema, "sex", reading=reading).generate(schema.sample(20, random_state=0))
    with pytest.raises(ValueError, match=r"model: answers .* inputs with what is not a number"):
        estimate_unfairness(broken, schema=schema, sensitive="sex", n=20)
