"""How far flips depend on which people happened to be sampled."""

from numbers import Real

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from fairlab.checks import check_count, check_number, check_seed
from fairlab.fliptest.flipsets import Flipset

METHODS = ("exact", "bootstrap")


def flipset_intervals(
    flip: Flipset,
    *,
    method: str = "exact",
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    random_state: int = 0,
) -> pd.DataFrame:
    """Return confidence intervals over people for the sizes of a flipset, the map being held.

    They leave out what another seed or another training sample of the map would change.

    Parameters
    ----------
    flip : Flipset
    method : {"exact", "bootstrap"}
        The intervals of Clopper and Pearson, for the net size put together by `difference_of_shares`, which hold for
        small and empty flipsets too; or percentiles of a bootstrap over people, by which an empty flipset stays empty.
        `scipy.stats.bootstrap` gives the same distribution by drawing everyone's row in every resample; people differ
        here by their flip alone, so one multinomial draw of the sizes does it, whatever the number of people.
    confidence : float
        Between 0 and 1.
    n_resamples : int
        Of the bootstrap.
    random_state : int
        Of the bootstrap.

    Returns
    -------
    DataFrame of shape (3, 3)
        Rows ``positive`` (size of F+), ``negative`` (of F-) and ``net`` (their difference), in numbers of people;
        columns ``size``, ``low``, ``high``.

    Raises
    ------
    ValueError
        If `method` is unknown, `confidence` is not between 0 and 1, or `n_resamples` is no whole number above 0.

    Examples
    --------
    >>> from fairlab.fliptest import Flipset, flipset_intervals
    >>> flip = Flipset(np.repeat([1, 0], [20, 80]), np.zeros(100, dtype=int), pd.RangeIndex(100))
    >>> flipset_intervals(flip).loc["positive"].round(1).to_dict()
    {'size': 20.0, 'low': 12.7, 'high': 29.2}
    """
    if not isinstance(flip, Flipset):
        raise TypeError(f"flip: expected a Flipset, found {type(flip).__name__}")
    check_seed(random_state)
    if method not in METHODS:
        raise ValueError(f"method: unknown {method!r}, expected one of {', '.join(METHODS)}")
    check_confidence(confidence)
    n_resamples = check_count(n_resamples, "n_resamples")
    n = len(flip.index)
    sizes = np.array([flip.n_positive, flip.n_negative])
    if method == "exact":
        low, high = _exact(sizes, n, confidence)
    else:
        shares = np.append(sizes, n - sizes.sum()) / n
        drawn = np.random.default_rng(random_state).multinomial(n, shares, n_resamples)[:, :2]
        drawn = np.column_stack([drawn, drawn[:, 0] - drawn[:, 1]])
        low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    rows = pd.Index(["positive", "negative", "net"], name="flipset")
    return pd.DataFrame({"size": [*sizes, flip.net], "low": low, "high": high}, index=rows)


def _exact(sizes, n, confidence):
    low, high = proportion_confint(sizes, n, alpha=1 - confidence, method="beta")
    _, net_low, net_high = difference_of_shares(
        sizes, (n, n), correlation=exclusive_correlation(*sizes, n), confidence=confidence
    )
    return n * np.append(low, net_low), n * np.append(high, net_high)


def exclusive_correlation(first: int, second: int, n: int) -> float:
    """Return the correlation between the shares of two kinds of `n` people, of whom nobody is both."""
    spread = np.sqrt(float(first) * (n - first) * second * (n - second))
    return -first * second / spread if spread > 0 else 0.0


def difference_of_shares(
    counts, sizes, *, factor: float = 1.0, correlation: float = 0.0, confidence: float = 0.95
) -> tuple[float, float, float]:
    """Return a share less a multiple of another share, with its confidence interval.

    The exact intervals of Clopper and Pearson of both shares are combined as Zou and Donner (2008) do. The interval
    holds the difference at least as often as it says, or nearly so, for small samples and shares of 0 or 1 too.

    Parameters
    ----------
    counts, sizes : pair of int
        Of how many there are, and among how many.
    factor : float
        Above 0; of the second share.
    correlation : float
        Between both, where they are of one sample.
    confidence : float

    Returns
    -------
    estimate, low, high : float

    Raises
    ------
    ValueError
        If a count is above its size, or a number is out of its range.

    Examples
    --------
    >>> from fairlab.fliptest import difference_of_shares
    >>> share, low, high = difference_of_shares([30, 20], [100, 100])
    >>> round(share, 2), low < 0.1 < high
    (0.1, True)
    """
    check_confidence(confidence)
    check_number(factor, "factor", above=0)
    sizes = [check_count(size, "sizes") for size in sizes]
    counts = [check_count(count, "counts", least=0) for count in counts]
    if any(count > size for count, size in zip(counts, sizes, strict=True)):
        raise ValueError(f"counts: expected at most the sizes {sizes}, found {counts}")
    shares = [count / size for count, size in zip(counts, sizes, strict=True)]
    (low, high), (second_low, second_high) = (
        proportion_confint(count, size, alpha=1 - confidence, method="beta")
        for count, size in zip(counts, sizes, strict=True)
    )
    down, up = shares[0] - low, high - shares[0]
    second_down, second_up = factor * (shares[1] - second_low), factor * (second_high - shares[1])
    estimate = shares[0] - factor * shares[1]

    def reach(first, second):
        return float(np.sqrt(first**2 + second**2 - 2 * correlation * first * second))

    return estimate, max(estimate - reach(down, second_up), -factor), min(estimate + reach(up, second_down), 1.0)


def check_confidence(confidence: float) -> None:
    """Raise a ValueError unless `confidence` is between 0 and 1."""
    if not (isinstance(confidence, Real) and 0 < confidence < 1):
        raise ValueError(f"confidence: expected a number between 0 and 1, found {confidence!r}")
