"""How both studies audit a trained model on the test part of a split (sections 4.2, F.5 and G)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from sklearn.metrics import balanced_accuracy_score

from fairlab.fair_metric import FairMetric
from fairlab.individual_fairness.auditing import Audit, audit
from fairlab.papers.individual_fairness.learners import PUBLISHED_METRIC, SOLVERS, classifiers
from fairlab.papers.individual_fairness.splits import Split

# How the studies audit; the step is constant, and `n_points` are from the head of the test part.
ADULT_AUDIT = {"regularizer": 50.0, "step_size": 0.01}
COMPAS_AUDIT = {"regularizer": 100.0, "step_size": 0.005, "n_points": 1000}

# What stands behind Reductions' published loss column: the first five splits and the last five differ.
MIXED_AUDITS = (ADULT_AUDIT | {"regularizer": 35.0},) * 5 + (ADULT_AUDIT | {"n_points": 2400},) * 5


def metric_of_test_part(split: Split, *, solver: str = "published") -> FairMetric:
    """Return the metric that the test part teaches, in the units of the split."""
    return FairMetric.learned(split.X_test, split.sensitive_test, **PUBLISHED_METRIC | {"solver": SOLVERS[solver]})


def audit_on_test_part(model, split: Split, *, metric=None, n_points: int | None = None, **attack) -> Audit:
    """Audit a trained model on the test part.

    Parameters
    ----------
    model : classifier
    split : Split
    metric : FairMetric, optional
        Default: that of `metric_of_test_part`.
    n_points : int, optional
        Points that are audited, from the head of the part; by default all.
    **attack
        Options of `gradient_flow_attack`.
    """
    metric = metric_of_test_part(split) if metric is None else metric
    return audit(model, metric, split.X_test[:n_points], split.y_test[:n_points], variant="published", **attack)


def average_odds_difference(y_true, y_pred, *, sensitive_features) -> float:
    """Return the mean of the differences in true and in false positive rates, group 0 minus group 1."""
    groups, truth, predicted = (np.asarray(values) for values in (sensitive_features, y_true, y_pred))
    rates = [[predicted[(groups == group) & (truth == label)].mean() for group in (0, 1)] for label in (1, 0)]
    return float(np.mean([first - second for first, second in rates]))


def group_fairness(model, split: Split) -> pd.Series:
    """Return balanced accuracy and average odds differences by sex and race on the test part.

    Returns
    -------
    Series
        ``bal_acc``, ``aod_gender``, ``aod_race``.
    """
    predicted = model.predict(split.X_test.to_numpy())
    odds = {
        name: average_odds_difference(split.y_test, predicted, sensitive_features=split.sensitive_test[column])
        for name, column in (("aod_gender", "sex"), ("aod_race", "race"))
    }
    return pd.Series({"bal_acc": balanced_accuracy_score(split.y_test, predicted)} | odds)


def group_table(models: Sequence[Mapping], splits: Sequence[Split]) -> pd.DataFrame:
    """Return `group_fairness` of every model of every split.

    Parameters
    ----------
    models : sequence of dict of str to dict
        Per split, the arrays of its trained methods.
    splits : sequence of Split

    Returns
    -------
    DataFrame
        One row per split and method.
    """
    rows = {
        (k, method): group_fairness(model, split)
        for k, (arrays, split) in enumerate(zip(models, splits, strict=True))
        for method, model in classifiers(arrays).items()
    }
    return pd.DataFrame(rows).T.rename_axis(["split", "method"])


def rounding_table(arrays: Mapping, split: Split, **settings) -> pd.DataFrame:
    """Return, by method, how many ratios rounded losses drop, and the bound with rounded and with exact losses."""
    tests = {
        form: {
            method: audit_on_test_part(model, split, **settings).loss_ratio
            for method, model in classifiers(arrays, rounded_loss=form == "rounded").items()
        }
        for form in ("rounded", "exact")
    }
    dropped = {"dropped": {method: test.n_dropped for method, test in tests["rounded"].items()}}
    bounds = {f"T_n, {form}": {method: test.lower_bound for method, test in of.items()} for form, of in tests.items()}
    return pd.DataFrame(dropped | bounds).rename_axis("method")


def swap_shares(models: Sequence[Mapping], splits: Sequence[Split]) -> pd.DataFrame:
    """Return the share of test people whose decision changes when only their entry sex, or race, is turned over.

    Parameters
    ----------
    models : sequence of dict of str to dict
        Per split, the arrays of its trained methods, to which sex and race are inputs.
    splits : sequence of Split

    Returns
    -------
    DataFrame
        Columns split, method, swapped and share.
    """
    rows = []
    for k, (arrays, split) in enumerate(zip(models, splits, strict=True)):
        swapped = {name: split.X_test.assign(**{name: 1 - split.X_test[name]}).to_numpy() for name in ("sex", "race")}
        for method, model in classifiers(arrays).items():
            predicted = model.predict(split.X_test.to_numpy())
            rows += [(k, method, name, (predicted != model.predict(X)).mean()) for name, X in swapped.items()]
    return pd.DataFrame(rows, columns=["split", "method", "swapped", "share"])
