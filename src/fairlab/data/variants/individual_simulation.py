"""Simulated people of "Statistical inference for individual fairness": two groups told apart by one coordinate.

What: points in the plane, x ~ N(mu_g, 0.25^2 I), with mu = (-1.5, 0) for the majority, nine tenths of all, and (1.5, 0)
for the minority. The label is 1 where w_g . (x - mu_g) + N(0, 0.01^2) > 0, with w = (-0.2, -0.01) for the majority
and (0.2, -0.01) for the minority: it depends on the first coordinate, in opposite directions in the two groups.
Who: Maity, Xue, Yurochkin and Sun (2021), Appendix E; drawn as in the authors' public code.
Rows: in the order of the draw. Columns: group, x1, x2, label.
Fit for: showing what the tests of individual fairness see. Unfit for: anything about real people.
Generated, hence no licence and no surrogate.
"""

import numpy as np
import pandas as pd

from fairlab.checks import check_count, checked
from fairlab.data.dataset import Dataset
from fairlab.data.sources import generated_dataset

SPREAD, NOISE = 0.25, 0.01
MINORITY_SHARE = 0.1
MEAN = {"majority": (-1.5, 0.0), "minority": (1.5, 0.0)}
WEIGHTS = {"majority": (-0.2, -0.01), "minority": (0.2, -0.01)}


@checked(n_points=check_count)
def draw(n_points: int, *, seed: int = 1) -> pd.DataFrame:
    """Draw the table in the order of the authors' code, with NumPy's legacy generator.

    Parameters
    ----------
    n_points : int
    seed : int
        Default: the authors'.

    Returns
    -------
    DataFrame of shape (n_points, 4)
        Columns group, x1, x2, label.

    Raises
    ------
    ValueError
        If `n_points` is not a positive integer.
    """
    rng = np.random.RandomState(seed)
    around = rng.normal(scale=SPREAD, size=(n_points, 2))
    in_majority = rng.choice([False, True], p=[MINORITY_SHARE, 1 - MINORITY_SHARE], size=n_points)
    noise = NOISE * rng.standard_normal(n_points)
    group = np.where(in_majority, "majority", "minority")
    mean, weights = (np.where(in_majority[:, None], table["majority"], table["minority"]) for table in (MEAN, WEIGHTS))
    X = mean + around
    label = ((weights * around).sum(axis=1) + noise > 0).astype(int)
    return pd.DataFrame({"group": group, "x1": X[:, 0], "x2": X[:, 1], "label": label})


def load(*, n_points: int = 400, seed: int = 1) -> Dataset:
    """Load `individual-simulation`; for the parameters see `draw`."""
    table = draw(n_points, seed=seed)
    return generated_dataset("individual-simulation", table, rows=n_points, n_points=int(n_points), seed=int(seed))
