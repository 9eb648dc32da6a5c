import sys
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from fairlab.benchmarks import peers

PEOPLE = pd.DataFrame(
    {
        "age": np.arange(400),
        "job": pd.Categorical(["a", "b", None, "c"] * 100),
        "income": pd.Categorical(["high", "low", "low", "low"] * 100),
    }
)


def test_numbers_are_cut_into_parts_and_the_rest_is_text():
    table = peers.in_parts(PEOPLE.drop(columns="income"))
    assert table["age"].value_counts().tolist() == [80] * peers.PARTS
    assert table["job"].value_counts().to_dict() == dict.fromkeys(["a", "b", "c", "(missing)"], 100)


def test_what_is_not_installed_says_how_to_install_it(monkeypatch):
    for name in peers.PEERS:
        monkeypatch.setitem(sys.modules, name, None)
    rows = peers.against_peers(PEOPLE, "income", positive="high", ours=1.0, what="ours")
    assert [row.name for row in rows] == [f"fairtest_adult_vs_{name}" for name in peers.PEERS]
    assert all(row.value is None and "fairlab[peers]" in row.note for row in rows)


def test_peers_get_the_same_table_and_say_what_they_give(monkeypatch):
    asked = {}

    def search(table, hits):
        asked["rows"] = (len(table), hits.sum())
        return 7

    monkeypatch.setattr(peers, "PEERS", {"somebody": (search, "patterns")})
    monkeypatch.setitem(sys.modules, "somebody", ModuleType("somebody"))
    [row] = peers.against_peers(PEOPLE, "income", positive="high", ours=1.0, what="FairTest: 3 contexts")
    assert asked["rows"] == (400, 100)
    assert row.note.startswith("FairTest: 3 contexts; somebody: patterns of up to 3 columns")
    assert row.note.endswith("7 patterns")
    assert row.baseline > 0


@pytest.mark.parametrize("name", peers.PEERS)
def test_peers_find_the_planted_pattern(name):
    pytest.importorskip(name)
    search, _ = peers.PEERS[name]
    assert (
        search(peers.in_parts(PEOPLE.drop(columns="income")), (PEOPLE["income"] == "high").to_numpy().astype(int)) > 0
    )
