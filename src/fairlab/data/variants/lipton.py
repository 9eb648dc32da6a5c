"""Lipton's hiring data: a fair label, and a feature (hair length) that only gives the gender away.

What: n men and n women. Work experience is Poisson(31) for men and Poisson(25) for women, minus Normal(20, 0.2); hair
length is 35 Beta(2, 7) for men and 35 Beta(2, 2) for women; hired is Bernoulli(1 / (1 + exp(25.5 - 2.5 work))).
Who: Lipton, McAuley and Chouldechova (2018); drawn as in the public code of FlipTest (Black, Yeom, Fredrikson 2020).
Rows: men first, then women. Columns: work_experience (years) and hair_length, not scaled.
Fit for: showing that equal hiring rates can be unfair to subgroups. Unfit for: anything about real hiring.
Generated, hence no licence and no surrogate.
"""

import numpy as np
import pandas as pd
from scipy.special import expit

from fairlab.checks import check_count, checked
from fairlab.data.dataset import Dataset
from fairlab.data.sources import generated_dataset

GROUPS = ("male", "female")
POISSON_MEAN = {"male": 31, "female": 25}
BETA = {"male": (2, 7), "female": (2, 2)}


@checked(n_points=check_count)
def draw(n_points: int, *, seed: int = 0, reseed_labels: bool = False) -> pd.DataFrame:
    """Draw the table in the order of the authors' code, with NumPy's legacy generator.

    Parameters
    ----------
    n_points : int
        Rows of each gender.
    seed : int
        Work experience of men and of women is drawn from `seed`, hair length from `seed` + 1, and the labels continue
        the stream of hair length.
    reseed_labels : bool
        Draw the labels from `seed` + 2, as the script for exact transport does; the notebooks for the GAN do not.

    Returns
    -------
    DataFrame of shape (2 * n_points, 4)
        Columns gender, work_experience, hair_length, hired.

    Raises
    ------
    ValueError
        If `n_points` is not a positive integer.
    """
    rng = np.random.RandomState(seed)
    work = [rng.poisson(POISSON_MEAN[g], n_points) - rng.normal(20, 0.2, n_points) for g in GROUPS]
    rng = np.random.RandomState(seed + 1)
    hair = [35 * rng.beta(*BETA[g], n_points) for g in GROUPS]
    if reseed_labels:
        rng = np.random.RandomState(seed + 2)
    hired = [rng.binomial(1, expit(2.5 * experience - 25.5)) for experience in work]
    return pd.DataFrame(
        {
            "gender": np.repeat(GROUPS, n_points),
            "work_experience": np.concatenate(work),
            "hair_length": np.concatenate(hair),
            "hired": np.concatenate(hired),
        }
    )


def load(*, n_points: int = 10000, seed: int = 0, reseed_labels: bool = False) -> Dataset:
    """Load `lipton`; for the parameters see `draw`."""
    table = draw(n_points, seed=seed, reseed_labels=reseed_labels)
    return generated_dataset(
        "lipton",
        table,
        rows=2 * n_points,
        n_points=int(n_points),
        seed=int(seed),
        reseed_labels=bool(reseed_labels),
    )
