import numpy as np
import pandas as pd
import pytest

from fairlab.fliptest.sensitivity import COSTS, flipsets_by_cost


def test_costs_by_hand():
    source, target = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])
    found = {name: float(cost(source, target)[0, 0]) for name, cost in COSTS.items()}
    assert found == {"squared L1": 49, "L1": 7, "squared Euclidean": 25, "Euclidean": 5}


def test_flipsets_by_cost_by_hand():
    # One feature: every convex cost keeps the order, so 0 -> 1 and 2 -> 3; the cut at 1.5 flips nobody, at 0.5 one.
    source, target = pd.DataFrame({"x": [0.0, 2.0]}), pd.DataFrame({"x": [3.0, 1.0]})
    costs = {name: COSTS[name] for name in ("squared L1", "squared Euclidean")}
    table = flipsets_by_cost(lambda X: (X["x"] > 0.5).astype(int), source, target, costs=costs)
    assert table["F+"].tolist() == [0, 0]
    assert table["F−"].tolist() == [1, 1]
    assert table["mean L1"].tolist() == [1, 1]
    assert table["Jaccard F−"].tolist() == [1, 1]
    assert table["Jaccard F+"].isna().all()


def test_a_cost_that_ignores_a_feature_changes_who_flips():
    rng = np.random.default_rng(0)
    source, target = (pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"]) for _ in range(2))
    costs = {"paper": COSTS["squared L1"], "only a": lambda X, Y: (X[:, :1] - Y[:, 0]) ** 2}
    table = flipsets_by_cost(lambda X: (X["b"] > 0).astype(int), source, target, costs=costs)
    assert table.loc["only a", "F+"] > 2 * table.loc["paper", "F+"]
    assert table.loc["only a", "Jaccard F+"] < 0.5
    paper, other = table["F+"] - table["F−"]
    assert paper == other  # proposition 2


def test_no_cost():
    with pytest.raises(ValueError, match="costs: is empty"):
        flipsets_by_cost(None, np.zeros((2, 1)), np.zeros((2, 1)), costs={})
