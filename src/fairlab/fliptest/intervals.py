"""How far a flipset's size depends on which people happened to be sampled."""

import numpy as np
import pandas as pd

from fairlab.fliptest.flipsets import Flipset


def flipset_intervals(
    flip: Flipset, *, confidence: float = 0.95, n_resamples: int = 10_000, random_state: int = 0
) -> pd.DataFrame:
    """Return percentile bootstrap intervals over people for the sizes of a flipset, the map being held.

    They leave out what another seed or another training sample of the map would change. `scipy.stats.bootstrap` gives
    the same distribution by drawing everyone's row in every resample; people differ here by their flip alone, so one
    multinomial draw of the sizes does it, whatever the number of people.

    Parameters
    ----------
    flip : Flipset
    confidence : float
        Between 0 and 1.
    n_resamples : int
    random_state : int

    Returns
    -------
    DataFrame of shape (3, 3)
        Rows ``positive`` (size of F+), ``negative`` (of F-) and ``net`` (their difference), in numbers of people;
        columns ``size``, ``low``, ``high``.

    Raises
    ------
    ValueError
        If `confidence` is not between 0 and 1, or `n_resamples` is below 1.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence: expected a number between 0 and 1, found {confidence}")
    if n_resamples < 1:
        raise ValueError(f"n_resamples: expected at least 1, found {n_resamples}")
    n = len(flip.index)
    sizes = np.array([flip.n_positive, flip.n_negative])
    shares = np.append(sizes, n - sizes.sum()) / n
    drawn = np.random.default_rng(random_state).multinomial(n, shares, n_resamples)[:, :2]
    drawn = np.column_stack([drawn, drawn[:, 0] - drawn[:, 1]])
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    rows = pd.Index(["positive", "negative", "net"], name="flipset")
    return pd.DataFrame({"size": [*sizes, flip.net], "low": low, "high": high}, index=rows)
