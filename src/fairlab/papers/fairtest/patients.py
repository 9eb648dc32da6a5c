"""The patients of the health predictor, and the study of its errors for one order of the patients."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fairlab.data import Dataset, load
from fairlab.fairtest.investigation import Investigation, investigate
from fairlab.fairtest.sample import PUBLISHED, Column, DataSource
from fairlab.papers.fairtest.studies import table_2_row

# Columns; ages in years, and figure 7's older patients are above `OLD`.
AGE, CARE, CONFIDENCE = "Age", "Treated at Urgent Care", "confidence"
PREDICTION, TRUTH = "log(1 + days)", "true log(1 + days)"
OLD = 60


def health_order(trial, *, data_hash: str, surrogate: bool, n_rows: int, budget: int = 2) -> dict:
    """Study the errors of the health predictor with the patients in the order of the trial's number.

    Parameters
    ----------
    trial : fairlab.suite.seeds.Trial
    data_hash : str
        Hash of the patients in their first order, so that results of other data are cached as other trials.
    surrogate : bool
        Whether the patients are surrogates.
    n_rows : int
    budget : int
        Number of test sets; the training set and each test set get a share 1 / (budget + 1) of the patients.

    Returns
    -------
    dict
        ``counts``: the counts of table 2; ``reported``: the attributes that define each reported context; ``in_tree``:
        whether urgent care is a context of the tree; with two test sets also ``tests``: size, p-value and interval by
        name, ``others``: lower bounds of the tree's other contexts, and ``errors``: mean errors in days.
    """
    health = load("health", order=trial.index, surrogate=surrogate)
    patients, split = patients_of(health).head(n_rows), {"budget": budget, "train_size": round(1 / (budget + 1), 2)}
    context = [name for name in health.features if name not in (AGE, "predicted_days", CONFIDENCE)]
    source = DataSource(patients, variant=PUBLISHED, **split)
    detection = Investigation(AGE, PREDICTION, ground_truth=TRUTH, context=context).fit(source)
    report = detection.test()
    tests = report.to_frame()
    in_tree = tests["context"] == f"{CARE} > 0.5"
    reported = report.frame.dropna(subset="rank")["node"]
    result = {
        "counts": {name: int(count) for name, count in table_2_row(health, [detection], report).items()},
        "reported": sorted(",".join(c.attribute for c in node.conditions) for node in reported),
        "in_tree": bool(in_tree.any()),
    }
    if budget < 2:
        return result
    again, asking = DataSource(patients, variant=PUBLISHED, **split), {"explanatory": "urgent care", "context": []}
    in_logs = Investigation(AGE, PREDICTION, ground_truth=TRUTH, **asking)
    in_days = Investigation(AGE, "days", ground_truth="true days", **asking)
    logs = investigate(again, [in_logs, in_days]).to_frame().set_index("part")
    given = detection.with_explanatory(CONFIDENCE).test().to_frame().query("context == 'everyone'").set_index("part")
    shown = {
        "everyone": tests.iloc[0],
        "urgent care": tests[in_tree].iloc[0] if in_tree.any() else logs.loc["urgent care: yes"].iloc[0],
        "everyone, given confidence": given.loc[""],
        **{f"{level} confidence": given.loc[f"{CONFIDENCE}: {level}"] for level in ("low", "high")},
    }
    numbers = ["size", "p_value", "low", "high"]
    with DataSource(patients, variant=PUBLISHED, **split).lend_test_set() as tested:
        errors = mean_errors(tested)
    return result | {
        "tests": {name: test[numbers].astype(float).tolist() for name, test in shown.items()},
        "others": tests["low"][~in_tree].tolist()[1:],
        "errors": errors,
    }


def patients_of(health: Dataset) -> pd.DataFrame:
    """Return all patients' attributes, with prediction and truth in days and on the contest's log scale."""
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


def mean_errors(tested: Mapping[str, Column]) -> pd.DataFrame:
    """Return mean absolute errors in days by age, of everyone in a test set, and with and without urgent care."""
    table = pd.DataFrame({name: tested[name].values for name in (AGE, CARE, "days", "true days")})
    errors, is_old = (table["days"] - table["true days"]).abs(), table[AGE] > OLD
    ages = {"all": is_old | True, "older": is_old, "younger": ~is_old}
    care = {"everyone": is_old | True, "urgent care": table[CARE] > 0, "no urgent care": table[CARE] <= 0}
    means = {who: {age: errors[some & mask].mean() for age, mask in ages.items()} for who, some in care.items()}
    return pd.DataFrame(means).T
