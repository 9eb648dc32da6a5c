"""Surrogate of patients with predicted and true days in hospital: attributes by a copula, outcomes by a few numbers."""

import numpy as np
import pandas as pd
from scipy.special import expit

from fairlab.data.documents import Entry
from fairlab.data.surrogates.copula import Copula, Counts

SMALLEST_RISK = 0.01  # days


class PatientModel(Entry):
    """How patients are generated.

    The copula draws attributes and a risk, in days. The log-odds of any day in hospital are linear in the logarithm of
    the risk; the number of days, if any, is independent of everything. The prediction is right on average: it is the
    expectation of log(1 + days), given the risk, converted to days. Single trees disagree more on high predictions.

    Attributes
    ----------
    intercept, slope : float
        Intercept and slope of the log-odds of any day.
    disagreement : float
        Standard deviation of the logarithm of the width of the trees' predictions around that of the prediction.
    days : Counts
        Patients with each number of days above 0.
    copula : Copula
        Copula of the attributes and a column risk.
    """

    intercept: float
    slope: float
    disagreement: float
    days: Counts
    copula: Copula

    def sample(self, n_rows: int, *, random_state=None) -> pd.DataFrame:
        """Draw a table.

        Parameters
        ----------
        n_rows : int
        random_state : int, Generator or None

        Returns
        -------
        DataFrame of shape (n_rows, n_attributes + 3)
            The attributes, predicted_days, confidence, and days.
        """
        rng = np.random.default_rng(random_state)
        table = self.copula.sample(n_rows, random_state=rng)
        risk = table.pop("risk").clip(lower=SMALLEST_RISK)
        share = expit(self.intercept + self.slope * np.log(risk))
        stay = np.average(np.log1p(self.days.values), weights=self.days.counts)
        predicted = np.expm1(share * stay)
        width = np.log(predicted) + rng.normal(0, self.disagreement, n_rows)
        days = np.where(rng.random(n_rows) < share, self.days.ppf(rng.random(n_rows)), 0)
        confidence = np.where(width >= np.median(width), "low", "high")
        return table.assign(predicted_days=predicted, confidence=confidence, days=days.astype("int64"))
