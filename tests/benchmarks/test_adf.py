import numpy as np

from fairlab.adf import ADF
from fairlab.benchmarks import adf
from fairlab.benchmarks.adf import dense_network
from fairlab.cases import Schema
from fairlab.networks import Network


def test_one_at_a_time_is_the_same_network_and_search():
    schema = Schema.from_bounds({"a": (0, 9), "b": (0, 9), "sex": (0, 1)})
    # Class 1 where a + 3 sex > 6, so that sex matters for a from 4 to 6.
    model = dense_network([np.array([[0.0, 1], [0, 0], [0, 3]]), np.array([0, -6.5])])
    X = schema.sample(50, random_state=0)
    single = adf.one_at_a_time(model)
    np.testing.assert_allclose(single.logits(X[:4]), Network(model).logits(X[:4]), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(single.margin_gradient(X[:4])[1], Network(model).margin_gradient(X[:4])[1], atol=1e-6)
    for network, find in ((model, adf.find), (single, adf.find_seed_by_seed)):
        assert find(ADF(network, schema, "sex", n_local=20, random_state=0), X, 5) >= 5
