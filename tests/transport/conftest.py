import numpy as np
import pytest

# Smallest networks; one recipe and one size of sample for all tests that may share what is compiled.
SMALL = {"hidden_layers": (8,), "n_steps": 6, "batch_size": 4, "critic_steps": 1, "log_every": 3}


@pytest.fixture(scope="session")
def small():
    """Options of a GAN that trains at once."""
    return SMALL


@pytest.fixture(scope="session")
def groups():
    """50 points around 0 and 60 around 1."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(50, 2)), rng.normal(size=(60, 2)) + 1


@pytest.fixture(scope="session")
def ensemble(groups):
    """Three small maps, fitted."""
    from fairlab.transport import GANTransport, fit_gans

    return fit_gans([GANTransport(random_state=seed, **SMALL) for seed in (3, 4, 5)], *groups, n_threads=1)
