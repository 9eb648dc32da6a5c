"""The patients of section 6.3.1: predictions and truth as columns, and errors in days by age."""

import numpy as np
import pandas as pd

from fairlab.data import Dataset
from fairlab.fairtest.report import Subgroup
from fairlab.fairtest.sample import Sample

AGE, CARE, CONFIDENCE = "Age", "Treated at Urgent Care", "confidence"
PREDICTION, TRUTH = "log(1 + days)", "true log(1 + days)"
OLD = 60  # years; figure 7's older patients are above


def table_of(health: Dataset) -> pd.DataFrame:
    """Return attributes, prediction and truth of all patients, these in days and on the contest's log scale."""
    attributes = health.features.drop(columns=["predicted_days", CONFIDENCE])
    outcomes = pd.DataFrame(
        {
            PREDICTION: np.log1p(health.features["predicted_days"]),
            TRUTH: np.log1p(health.target),
            "days": health.features["predicted_days"],
            "true days": health.target,
            "urgent care": np.where(attributes[CARE] > 0, "yes", "no"),
            CONFIDENCE: health.features[CONFIDENCE],
        }
    )
    return attributes.join(outcomes)


def mean_errors(in_days: Subgroup) -> pd.DataFrame:
    """Return mean absolute errors in days of everyone, and with and without urgent care.

    Parameters
    ----------
    in_days : Subgroup
        Of the error in days by age, given urgent care.

    Returns
    -------
    DataFrame
        Columns ``all``, ``older`` and ``younger``; rows ``everyone``, ``urgent care`` and ``no urgent care``.
    """
    samples = {"everyone": in_days.sample} | {
        name: in_days.association(f"urgent care: {answer}").hypothesis.sample
        for name, answer in (("urgent care", "yes"), ("no urgent care", "no"))
    }
    return pd.DataFrame({name: _mean_errors(sample) for name, sample in samples.items()}).T


def _mean_errors(sample: Sample) -> dict[str, float]:
    errors, old = sample.output.values, sample.sensitive_features.values > OLD
    return {"all": errors.mean(), "older": errors[old].mean(), "younger": errors[~old].mean()}
