"""People whom the tests of investigations ask about."""

import numpy as np
import pandas as pd
import pytest

from fairlab.fairtest import DataSource

N = 2_000


@pytest.fixture(scope="session")
def people():
    """People of whom women in the north, and no others, get the offer less often."""
    rng = np.random.default_rng(0)
    woman, north = rng.random((2, N)) < 0.5
    offered = rng.random(N) < np.where(north & woman, 0.2, 0.5)
    return pd.DataFrame(
        {
            "gender": np.where(woman, "female", "male"),
            "race": rng.choice(["a", "b", "c"], N),
            "region": np.where(north, "north", "south"),
            "age": rng.integers(18, 80, N),
            "offer": np.where(offered, "yes", "no"),
            "constant": "same",
        }
    )


@pytest.fixture
def source(people):
    """Their data source, with two test sets."""
    return DataSource(people, budget=2)
