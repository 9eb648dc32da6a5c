"""The authors' stored networks on the real data: run with FAIRLAB_DATA_MIRROR set, skipped without."""

import os

import numpy as np
import pytest

from fairlab.adf import ADF, discriminatory, estimate_unfairness
from fairlab.adf.global_phase import direction
from fairlab.adf.local_phase import attribute_weights, saliency
from fairlab.data import load
from fairlab.data.encoding import codes
from fairlab.networks import Network, dense_network
from fairlab.papers.adf.benchmarks import BENCHMARKS, SCHEMAS, stored_weights

pytestmark = pytest.mark.skipif("FAIRLAB_DATA_MIRROR" not in os.environ, reason="needs the real data")


@pytest.fixture(scope="module")
def stored():
    return {subject: Network(dense_network(stored_weights(subject))) for subject in SCHEMAS}


@pytest.fixture(scope="module")
def data():
    return {subject: load(f"{subject}-adf") for subject in SCHEMAS}


@pytest.mark.parametrize(("subject", "accuracy"), [("census", 0.8815), ("credit", 1.0), ("bank", 0.9227)])
def test_accuracy_is_the_published_one(stored, data, subject, accuracy):
    dataset = data[subject]
    answers = stored[subject].predict(codes(dataset.features))
    assert (answers == dataset.target).mean() == pytest.approx(accuracy, abs=5e-5)


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("census.age", 0.1088),
        ("census.race", 0.0975),
        ("census.gender", 0.0314),
        ("bank.age", 0.0460),
        ("credit.age", 0.2793),
        ("credit.gender", 0.0768),
    ],
)
def test_share_of_discriminatory_inputs_is_the_published_one(stored, name, share):
    benchmark = BENCHMARKS[name]
    fairness = estimate_unfairness(
        stored[benchmark.subject], schema=benchmark.schema, protected=benchmark.protected, n=30_000, random_state=0
    )
    assert fairness.share == pytest.approx(share, abs=0.01)


def test_the_running_example(stored, data):
    """Row 14 of census, section 3: one step makes it discriminatory, and the weights around the new input."""
    network, schema = stored["census"], SCHEMAS["census"]
    x = codes(data["census"].features).to_numpy()[14:15]
    assert x.tolist() == [[4, 0, 6, 6, 0, 1, 2, 1, 1, 0, 0, 40, 100]]
    assert not discriminatory(network, x, "sex", schema=schema)[0]
    column = schema.positions("sex")
    other = x.copy()
    other[:, column] = 0
    step = direction(network, x, other, column, "as_published", np.random.default_rng(0))
    assert step.tolist() == [[0, 1, 0, 0, -1, 1, -1, 0, 0, 0, 0, 1, -1]]
    moved = schema.clip(x + step)
    assert moved.tolist() == [[4, 1, 6, 6, 0, 2, 1, 1, 1, 0, 0, 41, 39]]
    assert discriminatory(network, moved, "sex", schema=schema)[0]
    partner = moved.copy()
    partner[:, column] = 0
    weights = attribute_weights(*saliency(network, moved, partner, "as_published"), column)
    expected = [0.030, 0.019, 0.057, 0.075, 0.002, 0.009, 0.020, 0.015, 0, 0.002, 0.027, 0.612, 0.131]
    np.testing.assert_allclose(weights[0], expected, atol=6e-4)


@pytest.mark.parametrize(
    ("subject", "rows"),
    [("census", [8, 27, 0, 14, 10, 61, 1, 38]), ("credit", [0, 7, 1, 5]), ("bank", [12, 1, 34, 0])],
)
def test_seeds_are_the_published_ones(stored, data, subject, rows):
    X = codes(data[subject].features)
    seeds = ADF(stored[subject], SCHEMAS[subject], SCHEMAS[subject].names[0]).seeds(X, len(rows))
    assert sorted(map(tuple, seeds)) == sorted(map(tuple, X.to_numpy()[rows]))


def test_the_global_phase_of_table_6(stored, data):
    benchmark = BENCHMARKS["census.gender"]
    adf = ADF(stored["census"], benchmark.schema, benchmark.protected, random_state=0)
    phase = adf.global_search(adf.seeds(codes(data["census"].features), 1000))
    assert phase.successful.sum() == pytest.approx(334, rel=0.02)
    assert phase.iterations.mean() == pytest.approx(7.759, rel=0.01)
    assert phase.iterations[phase.successful].mean() == pytest.approx(3.451, rel=0.03)
