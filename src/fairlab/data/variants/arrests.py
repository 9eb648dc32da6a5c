"""Prior arrests: one feature that is itself biased against a group, and a model that uses nothing else.

What: n people of each of two groups, S and S'. The number of prior arrests is Geometric(1/4) - 1 in S and
Geometric(1/2) - 1 in S'. The label is what the model of `classify` says: low risk without arrests, high risk with two
or more, a fair coin with exactly one, tossed once for each person.
Who: section 5.5 of FlipTest (Black, Yeom, Fredrikson 2020); the draw order is ours, for theirs is not published.
Rows: S first, then S'. Columns: group, arrests, high_risk.
Fit for: telling tests that condition on a biased feature from those that do not. Unfit for: the study of arrests.
Generated, hence no licence and no surrogate.
"""

import numpy as np
import pandas as pd

from fairlab.checks import check_count, checked
from fairlab.data.dataset import Dataset
from fairlab.data.sources import generated_dataset

# Probability of the geometric distribution, which counts from 1.
STOP = {"S": 1 / 4, "S'": 1 / 2}


def classify(arrests, coin) -> np.ndarray:
    """Return the model's output: 0 (low risk) below one arrest, 1 (high risk) above one, `coin` at exactly one.

    Parameters
    ----------
    arrests : array-like of shape (n,)
        Numbers of prior arrests.
    coin : float or array-like of shape (n,)
        Output of the model for people with one arrest: one toss each, 0 or 1. With the mean 1/2 instead, the result is
        everyone's probability of being called high risk.
    """
    arrests = np.asarray(arrests)
    return np.select([arrests < 1, arrests > 1], [0, 1], coin)


@checked(n_points=check_count)
def draw(n_points: int, *, seed: int = 0) -> pd.DataFrame:
    """Draw the arrests of S, those of S', then everyone's coin.

    Parameters
    ----------
    n_points : int
        Rows of each group.
    seed : int

    Returns
    -------
    DataFrame of shape (2 * n_points, 3)
        Columns group, arrests, high_risk.

    Raises
    ------
    ValueError
        If `n_points` is not a positive integer.
    """
    rng = np.random.default_rng(seed)
    arrests = np.concatenate([rng.geometric(stop, n_points) - 1 for stop in STOP.values()])
    high_risk = classify(arrests, rng.integers(2, size=len(arrests)))
    return pd.DataFrame({"group": np.repeat(list(STOP), n_points), "arrests": arrests, "high_risk": high_risk})


def load(*, n_points: int = 10000, seed: int = 0) -> Dataset:
    """Load `arrests`; for the parameters see `draw`."""
    table = draw(n_points, seed=seed)
    return generated_dataset("arrests", table, rows=2 * n_points, n_points=int(n_points), seed=int(seed))
