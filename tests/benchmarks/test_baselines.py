"""Both sides of a ratio do the same work."""

import sys
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from fairlab.adf import ADF
from fairlab.benchmarks import adf, individual_fairness, peers, transport
from fairlab.cases import Schema
from fairlab.networks import Network
from fairlab.papers.individual_fairness import sensr

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
    single = adf.one_at_a_time(model)
    np.testing.assert_allclose(single.logits(X[:4]), Network(model).logits(X[:4]), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(single.margin_gradient(X[:4])[1], Network(model).margin_gradient(X[:4])[1], atol=1e-6)
    for network, find in ((model, adf.find), (single, adf.find_seed_by_seed)):
        assert find(ADF(network, schema, "sex", n_local=20, random_state=0), X, 5) >= 5


def test_both_attacks_of_sensr_end_with_one_network(monkeypatch):
    [(people, labels, network, batches, *others)] = individual_fairness.sensr_like_adult(1, 2)
    work = people, labels, network, batches[:, 490:510], *others
    ours, *_ = sensr.train(*work)
    monkeypatch.setattr(sensr, "compiled_attack", individual_fairness.dense_attack)
    dense, *_ = sensr.train(*work)
    for part, expected in zip(ours, dense, strict=True):
        np.testing.assert_allclose(part, expected, atol=4e-5)  # two of Adam's steps of 1e-5, at worst either way


def test_operations_of_a_step_by_hand():
    # One row a batch and one critic step, 2-3-2 and 2-3-1: the generator maps two rows (12 products each); two
    # updates of the critic (9 forward, 9 by weights, 3 by hidden units); its own step (9 + 9, 12 by weights, 6).
    assert transport.step_operations((3,), 2, batch=1, critic_steps=1) == 2 * (
        12 + 2 * (9 + 9 + 3) + 12 + 9 + 9 + 12 + 6
    )


def test_numbers_are_cut_into_parts_and_the_rest_is_text():
    table = peers.in_parts(PEOPLE.drop(columns="income"))
    assert table["age"].value_counts().tolist() == [80] * peers.PARTS
    assert table["job"].value_counts().to_dict() == dict.fromkeys(["a", "b", "c", "(missing)"], 100)


def test_peers_get_the_same_table_or_say_how_they_are_installed(monkeypatch):
    known = {"somebody": (lambda table, hits: 7 if (len(table), hits.sum()) == (400, 100) else 0, "patterns")}
    monkeypatch.setattr(peers, "PEERS", known | {"nobody": (None, "")})
    monkeypatch.setitem(sys.modules, "somebody", ModuleType("somebody"))
    first, second = peers.against_peers(PEOPLE, "income", positive="high", ours=1.0, what="FairTest: 3 contexts")
    assert first.note.startswith("FairTest: 3 contexts; somebody: patterns of up to 3 columns")
    assert first.note.endswith("7 patterns")
    assert (second.name, second.value) == ("fairtest_adult_vs_nobody", None)
    assert "fairlab[peers]" in second.note


@pytest.mark.parametrize("name", peers.PEERS)
def test_peers_find_the_planted_pattern(name):
    pytest.importorskip(name)
    search, _ = peers.PEERS[name]
    hits = (PEOPLE["income"] == "high").to_numpy().astype(int)
    assert search(peers.in_parts(PEOPLE.drop(columns="income")), hits) > 0
