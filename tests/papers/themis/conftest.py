import pytest

from fairlab.data import load
from fairlab.papers.themis.systems import VARIANTS, sample_people


@pytest.fixture(scope="session")
def people():
    """Surrogates, cut to a size that all systems learn from within a second."""
    return {
        data: sample_people(load(variant, surrogate=True), 300, random_state=0) for data, variant in VARIANTS.items()
    }
