"""COMPAS people drawn from the surrogate, and the four methods trained on one split with the least effort."""

import pytest

from fairlab import load
from fairlab.papers.individual_fairness.splits import COMPAS_SEEDS, compas_split
from fairlab.papers.individual_fairness.trials import train
from fairlab.seeds import Trial

EFFORT = {"network_steps": 200, "sensr_steps": 20, "reductions_iterations": 2}


@pytest.fixture(scope="session")
def compas():
    return load("compas-individual", surrogate=True)


@pytest.fixture(scope="session")
def split(compas):
    return compas_split(compas, COMPAS_SEEDS[0][0])


@pytest.fixture(scope="session")
def models(compas):
    """What `train` returns for the first split."""
    return train(Trial("study", 0), study="compas", dataset=compas, **EFFORT)
