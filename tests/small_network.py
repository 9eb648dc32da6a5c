"""A small schema, networks over it and a check of any search, for the tests of ADF and of its reproduction."""

from itertools import pairwise

import numpy as np
import pytest

from fairlab.adf import discriminatory
from fairlab.cases import Schema


@pytest.fixture(scope="session")
def schema():
    """Five attributes, of which `group` has three values and `sex` two."""
    return Schema.from_bounds({"a": (0, 9), "group": (1, 3), "b": (-5, 5), "sex": (0, 1), "c": (0, 4)})


@pytest.fixture(scope="session")
def weights(schema):
    """A small random network over five attributes with two classes, each about half of the domain."""
    rng = np.random.default_rng(3)
    layers = [(rng.normal(0, 0.5, (n, m)), rng.normal(0, 0.5, m)) for n, m in pairwise([5, 16, 8, 2])]
    layers[0][0][3] *= 3  # so that sex matters
    answer = schema.sample(2000, random_state=0).astype(float)
    for kernel, bias in layers[:-1]:
        answer = np.maximum(answer @ kernel + bias, 0)
    kernel, bias = layers[-1]
    bias[1] -= np.median((answer @ kernel + bias) @ [-1, 1])
    return [part.astype(np.float32) for layer in layers for part in layer]


@pytest.fixture(scope="session")
def network(weights):
    from fairlab.benchmarks.adf import dense_network
    from fairlab.networks import Network

    return Network(dense_network(weights))


def check_every_instance(result, model, schema, sensitive_features):
    """Check the results of a search again, independently of it."""
    found, inputs = result.discriminatory, result.trace.inputs
    columns = schema.positions(sensitive_features)
    assert ((inputs >= schema.low) & (inputs <= schema.high)).all(), "in the domain"
    assert len(np.unique(np.delete(found, columns, axis=1), axis=0)) == len(found), "distinct"
    of_found, of_inputs = (discriminatory(model, X, sensitive_features, schema=schema) for X in (found, inputs))
    assert of_found.all() and of_inputs.sum() == result.n_discriminatory > result.successful.sum() > 0
    first, second = result.pairs.swapaxes(0, 1)
    assert (np.delete(first, columns, axis=1) == np.delete(second, columns, axis=1)).all()
    assert (model.predict(first) != model.predict(second)).all()
