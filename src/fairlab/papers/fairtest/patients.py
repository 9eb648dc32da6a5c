"""The health predictor's patients, and the study of its errors with the patients in one of their orders."""

import numpy as np
import pandas as pd

from fairlab.data import Dataset, load
from fairlab.fairtest.investigation import Investigation, investigate
from fairlab.fairtest.report import Subgroup
from fairlab.fairtest.sample import PUBLISHED, DataSource, Sample
from fairlab.papers.fairtest.studies import table_2_row

# Columns; ages in years, and figure 7's older patients are above `OLD`.
AGE, CARE, CONFIDENCE = "Age", "Treated at Urgent Care", "confidence"
PREDICTION, TRUTH = "log(1 + days)", "true log(1 + days)"
OLD = 60


def health_order(trial, *, data_hash: str, surrogate: bool, n_rows: int, budget: int = 2) -> dict:
    """Study the errors of the health predictor with the patients in another order, that of the trial's number.

    Parameters
    ----------
    trial : fairlab.suite.seeds.Trial
    data_hash : str
        Of the patients in their first order; it makes the results of other data other trials.
    surrogate : bool
        Whether the patients are surrogates.
    n_rows : int
    budget : int
        Of test sets; training and each of them get a share 1 / (budget + 1) of the patients.

    Returns
    -------
    dict
        ``counts``: what table 2 prints; ``reported``: the attributes that define each reported context; ``in_tree``:
        whether urgent care is one of the tree's; with two test sets also ``tests``: size, p-value and interval by
        name, ``others``: lower bounds of the tree's other contexts, and ``errors``: mean errors in days.
    """
    health = load("health", order=trial.index, surrogate=surrogate)
    patients, split = patients_of(health).head(n_rows), {"budget": budget, "train_size": round(1 / (budget + 1), 2)}
    context = [name for name in health.features if name not in (AGE, "predicted_days", CONFIDENCE)]
    source = DataSource(patients, variant=PUBLISHED, **split)
    detection = Investigation(AGE, PREDICTION, ground_truth=TRUTH, context=context).fit(source)
    report = detection.test()
    [section] = report.sections
    in_tree = section.find(f"{CARE} > 0.5")
    result = {
        "counts": {name: int(count) for name, count in table_2_row(health, [detection], report).items()},
        "reported": sorted(",".join(c.attribute for c in finding.node.conditions) for finding in section.reported),
        "in_tree": in_tree is not None,
    }
    if budget < 2:
        return result
    again, asking = DataSource(patients, variant=PUBLISHED, **split), {"explanatory": "urgent care", "context": []}
    in_logs = Investigation(AGE, PREDICTION, ground_truth=TRUTH, **asking)
    in_days = Investigation(AGE, "days", ground_truth="true days", **asking)
    logs, days = (asked.everyone for asked in investigate(again, [in_logs, in_days]).sections)
    given = detection.with_explanatory(CONFIDENCE).test().section(AGE).everyone
    tests = {
        "everyone": section.everyone.association(),
        "urgent care": in_tree.association() if in_tree else logs.association("urgent care: yes"),
        "everyone, given confidence": given.association(),
        **{f"{level} confidence": given.association(f"{CONFIDENCE}: {level}") for level in ("low", "high")},
    }
    others = [finding.association().low for finding in section.subgroups[1:] if finding is not in_tree]
    return result | {
        "tests": {name: [float(x) for x in (a.size, a.p_value, a.low, a.high)] for name, a in tests.items()},
        "others": [float(low) for low in others],
        "errors": mean_errors(days),
    }


def patients_of(health: Dataset) -> pd.DataFrame:
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
    """Return mean absolute errors in days by age, of everyone, and given urgent care (an explanation of `in_days`)."""
    samples = {"everyone": in_days.sample} | {
        name: in_days.association(f"urgent care: {answer}").sample
        for name, answer in (("urgent care", "yes"), ("no urgent care", "no"))
    }
    return pd.DataFrame({name: _mean_errors(sample) for name, sample in samples.items()}).T


def _mean_errors(sample: Sample) -> dict[str, float]:
    errors, old = sample.output.values, sample.sensitive_features.values > OLD
    return {"all": errors.mean(), "older": errors[old].mean(), "younger": errors[~old].mean()}
