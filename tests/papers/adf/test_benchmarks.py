import os
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairlab.adf import ADF, discriminatory, estimate_unfairness
from fairlab.adf.generation import attribute_weights, direction, saliency
from fairlab.benchmarks.adf import dense_network
from fairlab.data import load
from fairlab.data.encoding import codes
from fairlab.data.errors import DataUnavailableError, SurrogateWarning
from fairlab.networks import Network
from fairlab.papers.adf import benchmarks
from fairlab.papers.adf.benchmarks import BENCHMARKS, SCHEMAS, stored_weights, subject_under_test


@pytest.fixture(scope="module")
def stored():
    """The authors' stored networks, where the real data is at hand."""
    if "FAIRLAB_DATA_MIRROR" not in os.environ:
        pytest.skip("needs the real data")
    return {subject: Network(dense_network(stored_weights(subject))) for subject in SCHEMAS}


@pytest.fixture(scope="module")
def data(stored):
    return {subject: load(f"{subject}-adf") for subject in SCHEMAS}


@pytest.fixture
def table():
    """Twenty rows of the credit domain, the first ten of one class and the rest of the other."""
    X = pd.DataFrame(SCHEMAS["credit"].sample(20, random_state=0), columns=SCHEMAS["credit"].names)
    provenance = SimpleNamespace(variant="credit-adf")
    return SimpleNamespace(features=X, target=pd.Series(np.repeat([0, 1], 10)), provenance=provenance)


def test_benchmarks_name_an_attribute_of_their_schema():
    columns = {name: of.schema.names.index(of.sensitive_features) for name, of in BENCHMARKS.items()}
    of_census = {"census.age": 0, "census.race": 7, "census.gender": 8}
    assert columns == of_census | {"bank.age": 0, "credit.age": 12, "credit.gender": 8}


def test_a_subject_is_a_table_and_its_network(table, monkeypatch):
    constant = [np.zeros((len(SCHEMAS["credit"].names), 2), dtype=np.float32), np.array([0, -1], dtype=np.float32)]
    monkeypatch.setattr(benchmarks, "stored_weights", {"credit": constant}.get)
    subject = subject_under_test("credit", table)
    assert (table.features.to_numpy() == subject.X).all()
    assert (subject.stored, subject.accuracy) == (True, 0.5)


def test_without_the_stored_network_one_trained_here_stands_in(table, monkeypatch):
    def unavailable(name):
        raise DataUnavailableError(name)

    monkeypatch.setattr(benchmarks, "stored_weights", unavailable)
    monkeypatch.setattr(benchmarks, "FALLBACK_STEPS", 1)
    told = []
    with pytest.warns(SurrogateWarning, match="credit: the stored network is not available"):
        subject = subject_under_test("credit", table, lambda *what: told.append(what))
    assert told == [("credit-adf", ["adf_networks/credit.index", "adf_networks/credit.data-00000-of-00001"])]
    assert [len(bias) for bias in subject.weights[1::2]] == [64, 32, 16, 8, 4, 2]
    assert not subject.stored


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
    benchmark, options = BENCHMARKS[name], {"n": 30_000, "random_state": 0}
    names = {"schema": benchmark.schema, "sensitive_features": benchmark.sensitive_features}
    fairness = estimate_unfairness(stored[benchmark.subject], **names, **options)
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
    step = direction(network, x, other, column, "published", np.random.default_rng(0))
    assert step.tolist() == [[0, 1, 0, 0, -1, 1, -1, 0, 0, 0, 0, 1, -1]]
    moved = schema.clip(x + step)
    assert moved.tolist() == [[4, 1, 6, 6, 0, 2, 1, 1, 1, 0, 0, 41, 39]]
    assert discriminatory(network, moved, "sex", schema=schema)[0]
    partner = moved.copy()
    partner[:, column] = 0
    weights = attribute_weights(*saliency(network, moved, partner, "published"), column)
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
    adf = ADF(stored["census"], benchmark.schema, benchmark.sensitive_features, variant="published", random_state=0)
    phase = adf.global_search(adf.seeds(codes(data["census"].features), 1000))
    assert phase.successful.sum() == pytest.approx(334, rel=0.02)
    assert phase.iterations.mean() == pytest.approx(7.759, rel=0.01)
    assert phase.iterations[phase.successful].mean() == pytest.approx(3.451, rel=0.03)
