import subprocess
import sys

import numpy as np
import pytest

from fairlab.transport import network_simplex, squared_l1
from fairlab.transport.plan import MARGINAL_TOLERANCE, SolverError, check_marginals


@pytest.fixture(params=["two normals", "many ties", "the same set"])
def groups(request):
    rng = np.random.default_rng(0)
    if request.param == "many ties":
        return rng.integers(0, 12, (300, 2)).astype(float), rng.integers(4, 16, (180, 2)).astype(float)
    source = rng.normal(size=(300, 3))
    return (source, source) if request.param == "the same set" else (source, rng.normal(size=(180, 3)) + 1)


def test_growing_the_pairs_finds_the_optimum_of_all_pairs(groups, monkeypatch):
    rng = np.random.default_rng(1)
    cost = squared_l1(*groups)
    source_weight, target_weight = (rng.integers(0, 4, n) + 0.0 for n in cost.shape)
    if groups[0] is groups[1]:
        source_weight = target_weight
    source_weight, target_weight = source_weight / source_weight.sum(), target_weight / target_weight.sum()
    whole = network_simplex.solve(cost, source_weight, target_weight).plan
    monkeypatch.setattr(network_simplex, "DENSE_PAIRS", 400)
    monkeypatch.setattr(network_simplex, "NEAREST", 3)
    grown = network_simplex.solve(cost, source_weight, target_weight).plan
    check_marginals(grown, source_weight, target_weight)
    assert (grown * cost).sum() == pytest.approx((whole * cost).sum(), rel=1e-9, abs=1e-12)


def test_one_point_against_many(monkeypatch):
    monkeypatch.setattr(network_simplex, "DENSE_PAIRS", 4)
    plan = network_simplex.solve(np.arange(20.0)[None], np.ones(1), np.full(20, 1 / 20)).plan
    np.testing.assert_allclose(plan.toarray(), np.full((1, 20), 1 / 20))


def test_stopping_early_is_an_error(monkeypatch):
    emd = network_simplex.ot.emd
    monkeypatch.setattr(network_simplex.ot, "emd", lambda *a, **kw: emd(*a, **kw | {"numItermax": 1}))
    monkeypatch.setattr("warnings.warn", lambda *a, **kw: None)
    cost = np.random.default_rng(0).random((50, 50))
    with pytest.raises(SolverError, match="network simplex"):
        network_simplex.solve(cost, np.full(50, 1 / 50), np.full(50, 1 / 50))


def test_marginals_off_are_an_error():
    plan = network_simplex.solve(np.eye(2), np.full(2, 0.5), np.full(2, 0.5)).plan
    check_marginals(plan, np.full(2, 0.5), np.full(2, 0.5))
    off = np.array([0.5 + MARGINAL_TOLERANCE, 0.5 - MARGINAL_TOLERANCE])
    with pytest.raises(SolverError, match="source weights by 2e-07"):
        check_marginals(plan, off, np.full(2, 0.5))
    with pytest.raises(SolverError, match="target"):
        check_marginals(plan, np.full(2, 0.5), off)


def test_import_loads_no_other_array_library():
    program = """
import os, sys
before = dict(os.environ)
import fairlab.transport
assert dict(os.environ) == before
loaded = {"tensorflow", "torch", "jax", "cupy", "keras"} & set(sys.modules)
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", program], check=True)
