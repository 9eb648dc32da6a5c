import numpy as np
import pytest
import small_network

from fairlab.networks import FeedForward
from fairlab.papers.adf.benchmarks import SCHEMAS, Subject

network, schema, weights = small_network.network, small_network.schema, small_network.weights  # fixtures


def one_layer(subject, coefficients, bias):
    """Weights of a network of one layer: class 1 where the sum of coefficients times values exceeds minus the bias."""
    kernel = np.zeros((len(SCHEMAS[subject].names), 2), dtype=np.float32)
    for name, coefficient in coefficients.items():
        kernel[SCHEMAS[subject].names.index(name), 1] = coefficient
    return [kernel, np.array([0, bias], dtype=np.float32)]


@pytest.fixture(scope="session")
def credit():
    """Rows of the credit domain and a network to which age, sex and the first attributes matter."""
    X = SCHEMAS["credit"].sample(80, random_state=0)
    weights = one_layer("credit", {"status": 1, "duration": -0.05, "age": 0.3, "sex": 1.5, "savings": 0.5}, -2)
    return Subject(X, FeedForward(weights).predict(X), weights)


@pytest.fixture(scope="session")
def constant():
    """A network on credit that gives everybody class 0."""
    return one_layer("credit", {}, -1)


@pytest.fixture(scope="session")
def needs_an_age():
    """A network on credit whose class 0 is age 0, which lies outside of the domain."""
    return one_layer("credit", {"age": 1}, -0.5)
