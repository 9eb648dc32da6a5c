"""Fit the surrogate of `health` to a sample of 1,000 patients: python data_scripts/fit_health_surrogate.py.

The sample is in the tests of FairTest's code. Its predictions, in days, are another model's than those of the study;
here they are the patients' risk. None of FairTest's results is used; how near the surrogate comes to them is printed.
"""

import numpy as np
import pandas as pd
from fit_copula import SMALLEST_COUNT, below_diagonal, fit_copula, fit_numbers
from sklearn.linear_model import LogisticRegression
from statsmodels.stats.correlation_tools import corr_clipped
from surrogate_files import parameters, write_surrogate

from fairlab.data import load
from fairlab.data.files import fetch_file
from fairlab.data.registry import project_registry
from fairlab.data.surrogates.patients import SMALLEST_RISK, PatientModel

SAMPLE = "fairtest/medical/tiny_predictions_reg.csv"
HEAD = f"""\
# Parameters of the surrogate of health: aggregates of a sample of 1,000 patients, each over at least {SMALLEST_COUNT}.
# Written by data_scripts/fit_health_surrogate.py; what they mean: fairlab.data.surrogates.patients.
"""
SMALLEST_EIGENVALUE = 0.1  # large enough for correlations of two decimals to stay positive definite
DISAGREEMENT = 0.5  # a guess: nothing is published about single trees


def fit(sample: pd.DataFrame) -> PatientModel:
    """Return the model of a sample with its attributes, Prediction and Ground_Truth."""
    table = sample.drop(columns="Ground_Truth").rename(columns={"Prediction": "risk"})
    days = sample["Ground_Truth"].astype(int)
    copula = fit_copula(table, sensitive=["Gender"], score=table["risk"])
    rounded = corr_clipped(copula.matrix(), threshold=SMALLEST_EIGENVALUE).round(2)
    odds = LogisticRegression(C=np.inf).fit(np.log(table[["risk"]].clip(lower=SMALLEST_RISK)), days > 0)
    return PatientModel(
        copula=copula.model_copy(update={"correlation": below_diagonal(rounded)}),
        intercept=round(float(odds.intercept_[0]), 3),
        slope=round(float(odds.coef_[0, 0]), 3),
        days=fit_numbers(days[days > 0]),
        disagreement=DISAGREEMENT,
    )


def report() -> pd.DataFrame:
    """Return published results beside those of the surrogate: correlation of the error with age, mean errors."""
    dataset = load("health", surrogate=True)
    table = dataset.features
    error = (np.log1p(table["predicted_days"]) - np.log1p(dataset.target)).abs()
    urgent = table["Treated at Urgent Care"] > 0
    groups = {
        "all": (slice(None), "0.21 to 0.24"),
        "urgent care": (urgent, "0.27 to 0.35"),
        "low confidence": (table["confidence"] == "low", "0.17 to 0.23"),
        "high confidence": (table["confidence"] == "high", "0.04 to 0.09"),
    }
    rows = [(name, error[own].corr(table["Age"][own]), published) for name, (own, published) in groups.items()]
    return pd.DataFrame(rows, columns=["patients", "correlation of error and age", "published"])


if __name__ == "__main__":
    file = project_registry().file(SAMPLE)
    model = fit(pd.read_csv(fetch_file(file)))
    variant = project_registry().variant("health")
    content = {"fitted_on": file.sha256, "rows": variant.rows, "patients": parameters(model)}
    write_surrogate(variant, HEAD, content)
    print(report().to_string(index=False))
