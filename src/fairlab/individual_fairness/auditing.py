"""An audit: attack a model within a fair metric, then make both tests."""

import warnings
from dataclasses import dataclass

import pandas as pd

from fairlab.individual_fairness.attack import Attack, DivergenceWarning, gradient_flow_attack
from fairlab.individual_fairness.ratio_tests import FOUR_FIFTHS, RatioTest, error_rate_ratio_test, loss_ratio_test


@dataclass(frozen=True, eq=False)
class Audit:
    """What an audit found.

    Attributes
    ----------
    attack : Attack
    loss_ratio, error_rate_ratio : RatioTest

    Examples
    --------
    >>> from fairlab.individual_fairness import audit
    >>> from fairlab.fair_metric import FairMetric
    >>> from fairlab.models import LinearClassifier
    >>> metric, model = FairMetric.from_directions([[1.0, 0.0]]), LinearClassifier([1.0, 1.0], 0.0)
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> found = audit(model, metric, X, (X[:, 1] > 0).astype(int), regularizer=50, step_size=0.1, n_steps=20)
    >>> bool(found.loss_ratio.statistic > 1)
    True
    """

    attack: Attack
    loss_ratio: RatioTest
    error_rate_ratio: RatioTest

    def to_frame(self) -> pd.DataFrame:
        """Return the rows of both tests, with the number of points where the attack diverged."""
        tests = {"loss ratio": self.loss_ratio.to_frame(), "error-rate ratio": self.error_rate_ratio.to_frame()}
        frame = pd.concat(tests, names=["test"]).droplevel(1)
        diverged = self.attack.diverged.sum(axis=-1).ravel()
        return frame.assign(n_diverged=[*diverged, *diverged])


def audit(
    model,
    metric,
    X,
    y,
    *,
    threshold: float = FOUR_FIFTHS,
    level: float = 0.05,
    reading: str = "as_described",
    **attack,
) -> Audit:
    """Test a model's individual fairness on audit data (Appendix D, algorithm 1).

    Parameters
    ----------
    model, metric, X, y
        As in `gradient_flow_attack`.
    threshold : float
        Largest ratio that counts as fair.
    level : float
        Of both tests.
    reading : {"as_described", "as_published"}
        As published, points where the attack diverged or the ratio of losses is not finite do not stop the audit: the
        former count with what became of them, the latter are left out.
    **attack
        Options of `gradient_flow_attack`: ``regularizer``, ``step_size`` and ``n_steps`` are needed.

    Returns
    -------
    Audit

    Raises
    ------
    ValueError
        As the attack and the tests, and (as described) if the attack diverged at a point: it would count as one that
        cannot be moved.

    Examples
    --------
    >>> from fairlab.individual_fairness import audit
    >>> from fairlab.fair_metric import FairMetric
    >>> from fairlab.models import LinearClassifier
    >>> metric, model = FairMetric.from_directions([[1.0, 0.0]]), LinearClassifier([0.0, 1.0], 0.0)
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = audit(model, metric, X, (X[:, 1] > 0).astype(int), regularizer=50, step_size=0.1, n_steps=20)
    >>> bool(found.loss_ratio.p_value > 0.05)
    True
    """
    with warnings.catch_warnings():
        if reading != "as_published":
            warnings.simplefilter("ignore", DivergenceWarning)
        found = gradient_flow_attack(model, metric, X, y, reading=reading, **attack)
    if reading == "as_described" and found.diverged.any():
        raise ValueError(
            f"step_size: the attack diverged at {found.diverged.sum():,} of {found.diverged.size:,} points, even with "
            "steps 16 times smaller than asked for; take smaller ones, or a metric with units, as "
            "`FairMetric.learned` gives"
        )
    return Audit(
        attack=found,
        loss_ratio=loss_ratio_test(found.loss, found.attacked_loss, threshold=threshold, level=level, reading=reading),
        error_rate_ratio=error_rate_ratio_test(
            found.wrong, found.attacked_wrong, threshold=threshold, level=level, reading=reading
        ),
    )
