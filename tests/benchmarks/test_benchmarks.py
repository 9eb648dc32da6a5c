"""How benchmarks are found, run and reported; those that take seconds are run."""

import numpy as np
import pandas as pd
import pytest

from fairlab import benchmarks
from fairlab.adf import ADF
from fairlab.benchmarks import adf, auditing, files, peers
from fairlab.benchmarks.symbolic import WithLibraries
from fairlab.cases import Schema
from fairlab.networks import Network
from fairlab.papers.adf.symbolic import SymbolicGeneration


def test_peak_memory_is_that_of_a_fresh_process():
    held = np.ones(300_000_000, dtype=np.uint8)
    sizes = (1, 200_000_000)
    answers, peaks = zip(*(benchmarks.in_fresh_process(eval, f"len(b'0' * {n})") for n in sizes), strict=True)
    del held
    assert (answers, 150_000_000 < peaks[1] - peaks[0] < 250_000_000) == (sizes, True)


# Keras warns when a frozen critic is trained, which would make the baseline too fast.
@pytest.mark.filterwarnings("error:The model does not have any trainable weights")
@pytest.mark.filterwarnings("ignore::fairlab.data.errors.SurrogateWarning")
@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("fairtest_adult", {"fairtest_adult_seconds", "fairtest_adult_vs_divexplorer"}),
        ("gan_small", {"gan_small_100_vs_per_step", "gan_small_10_per_map_vs_1"}),
        ("themis", {"themis_search_2_characteristics_seconds", "themis_search_3_characteristics_seconds"}),
    ],
)
def test_rows_of_small_sizes(name, keys):
    rows = {row.name: row for row in benchmarks.discover()[name](quick=True)}
    assert keys <= set(rows)
    for row in rows.values():
        assert row.value is None or row.value > 0
        assert row.baseline is None or row.value == pytest.approx(row.baseline / row.ours)


def test_an_audit_of_small_sizes(monkeypatch):
    small = {"adult": 300, "generated": (300, 6)}
    found = {kind: auditing.audited(kind, size, 3_000) for kind, size in small.items()}
    monkeypatch.setattr(auditing, "in_fresh_process", lambda work, kind, *_: (found[kind], 5e8))
    monkeypatch.setattr(auditing, "import_seconds", lambda: 0.5)
    rows = {row.name: row.value for row in auditing.audit(quick=False)}
    assert {"audit_million_seconds", "audit_five_million_peak_gb", "audit_200_columns_seconds"} <= set(rows)
    assert 300 <= rows["audit_queries"] <= 3_000
    assert (rows["audit_peak_gb"], rows["import_seconds"]) == (0.5, 0.5)


def test_files_of_small_sizes(monkeypatch):
    pytest.importorskip("duckdb")
    monkeypatch.setattr(files, "in_fresh_process", lambda work, *of: (work(*of), 5e8))
    monkeypatch.setattr(files, "PEER_SIZES", ())
    rows = {row.name: row for row in files.fairtest_hundred_million(quick=False, rows=400_000)}
    assert {"fairtest_4000_rows_seconds", "fairtest_400000_rows_encoding_peak_gb"} <= set(rows)
    assert "strongest: region: region 7" in rows["fairtest_400000_rows_seconds"].note  # where it was planted


# Both sides of a ratio do the same work.

PEOPLE = pd.DataFrame(
    {
        "age": np.arange(400),
        "job": pd.Categorical(["a", "b", None, "c"] * 100),
        "income": pd.Categorical(["high", "low", "low", "low"] * 100),
    }
)


def test_one_at_a_time_is_the_same_network_and_search():
    schema = Schema.from_bounds({"a": (0, 9), "b": (0, 9), "sex": (0, 1)})
    # Class 1 where a + 3 sex > 6, so that sex matters for a from 4 to 6.
    model = adf.dense_network([np.array([[0.0, 1], [0, 0], [0, 3]]), np.array([0, -6.5])])
    X = schema.sample(50, random_state=0)
    single, compiled = adf.OneAtATime(model), Network(model)
    np.testing.assert_allclose(single.logits(X[:4]), compiled.logits(X[:4]), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(single.log_odds_gradient(X[:4])[1], compiled.log_odds_gradient(X[:4])[1], atol=1e-6)
    for network, find in ((model, adf.find), (single, adf.find_seed_by_seed)):
        assert find(ADF(network, schema, "sex", n_local=20, random_state=0), X, 5) >= 5


@pytest.mark.parametrize("name", peers.PEERS)
def test_peers_find_the_planted_pattern(name):
    pytest.importorskip(name)
    search, _ = peers.PEERS[name]
    assert search(peers.in_parts(PEOPLE.drop(columns="income")), (PEOPLE["income"] == "high").to_numpy().astype(int))


# The authors' libraries as the oracle of what symbolic generation computes without them.

SCHEMA = Schema.from_bounds({"a": (0, 9), "b": (-5, 5), "sex": (0, 1), "c": (0, 40)})


def classify(X):
    """Sex matters where c is about a third of the domain."""
    return (X[:, 0] + 3 * X[:, 2] + X[:, 3] / 4 > 9) | (X[:, 1] == 5)


def test_searches_find_as_much_as_with_the_libraries():
    X = SCHEMA.sample(300, random_state=0)

    def found(search, n_seeds, **options):
        kinds = [options | {"n_neighbours": 150, "random_state": k} for k in range(n_seeds)]
        searches = [search(classify, SCHEMA, "sex", **kind) for kind in kinds]
        return [each.generate(X, X[:15], n_inputs=60).n_discriminatory for each in searches]

    ours, theirs = found(SymbolicGeneration, 24, solution="lowest"), found(WithLibraries, 4)
    error = np.sqrt(np.var(ours, ddof=1) / 24 + np.var(theirs, ddof=1) / 4)
    assert abs(np.mean(ours) - np.mean(theirs)) < 3 * error
    assert np.mean(ours) > 5
