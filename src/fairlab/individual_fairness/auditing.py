"""An audit: attack a model within a fair metric, then make both tests."""

from dataclasses import dataclass

import pandas as pd

from fairlab.individual_fairness.attack import Attack, gradient_flow_attack
from fairlab.individual_fairness.ratio_tests import FOUR_FIFTHS, RatioTest, error_rate_ratio_test, loss_ratio_test


@dataclass(frozen=True, eq=False)
class Audit:
    """What an audit found.

    Attributes
    ----------
    attack : Attack
    loss_ratio, error_rate_ratio : RatioTest
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


def audit(model, metric, X, y, *, threshold: float = FOUR_FIFTHS, level: float = 0.05, **attack) -> Audit:
    """Test a model's individual fairness on audit data (Appendix D, algorithm 1).

    Parameters
    ----------
    model, metric, X, y
        As in `gradient_flow_attack`.
    threshold : float
        Largest ratio that counts as fair.
    level : float
        Of both tests.
    **attack
        Options of `gradient_flow_attack`: ``regularizer``, ``step_size`` and ``n_steps`` are needed.

    Returns
    -------
    Audit
    """
    found = gradient_flow_attack(model, metric, X, y, **attack)
    return Audit(
        attack=found,
        loss_ratio=loss_ratio_test(found.loss, found.attacked_loss, threshold=threshold, level=level),
        error_rate_ratio=error_rate_ratio_test(found.wrong, found.attacked_wrong, threshold=threshold, level=level),
    )
