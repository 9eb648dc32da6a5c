"""One look at an investigation: decisions as a table, and FairTest's report on them."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy.stats import kruskal, rankdata, spearmanr

from fairlab import fairtest
from fairlab.monitoring.registration import RefusedError, Registration

N_EXAMPLES = 1_000  # made-up rows to check a registration with
LATE = 0.001  # below this p-value, labels are reported to come late


def as_table(registration: Registration, rows: Iterable[dict] | pd.DataFrame) -> pd.DataFrame:
    """Return rows as a table of the registered columns; no number nor boolean may be missing."""
    types = {
        name: {"number": float, "boolean": bool}.get(column.type) or pd.CategoricalDtype(column.categories)
        for name, column in registration.columns.items()
    }
    return pd.DataFrame(rows, columns=list(types)).astype(types)


def look(registration: Registration, table: pd.DataFrame, train: np.ndarray, level: float, seed: int):
    """Return FairTest's report on the rows that are not for training, at a significance level.

    Intervals are those of this look alone, at the registered confidence level; findings are by p-values at `level`.

    Parameters
    ----------
    registration : Registration
    table : DataFrame
    train : ndarray of bool
    level : float
        Significance level of the whole look.
    seed : int

    Returns
    -------
    AssociationReport
    """
    return _fitted(registration, table, train, seed).test(significance=level)


def come_late(labels: pd.Series, order: np.ndarray) -> bool:
    """Return whether some true labels arrive later after their decisions than others.

    Parameters
    ----------
    labels : Series
        In the order of arrival.
    order : ndarray of int
        Positions of the rows in the order of decisions.
    """
    later = np.arange(1, len(order) + 1) - rankdata(order)  # than the labels of other rows
    values = labels.to_numpy(dtype=float) if labels.dtype.kind in "bf" else labels.cat.codes.to_numpy()
    if not later.any() or len(np.unique(values)) < 2:
        return False
    if labels.dtype.kind == "f":
        return bool(spearmanr(later, values).pvalue < LATE)
    return bool(kruskal(*(later[values == value] for value in np.unique(values))).pvalue < LATE)


def check_registration(registration: Registration) -> None:
    """Train FairTest on made-up rows; raise a RefusedError if it cannot investigate what is registered."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {name: rng.choice(column.labels or [0.0, 1.0], N_EXAMPLES) for name, column in registration.columns.items()}
    )
    # Categories may be codes, such as "1" and "2", which must not be taken for numbers.
    table = table.astype({name: "category" for name, of in registration.columns.items() if of.type == "category"})
    root_only = registration.model_copy(update={"min_leaf_size": 1, "max_depth": 0})
    try:
        _fitted(root_only, table, rng.random(N_EXAMPLES) < 0.5, 0)
    except ValueError as error:
        raise RefusedError(422, f"FairTest cannot investigate this: {error}") from None


def _fitted(registration: Registration, table: pd.DataFrame, train: np.ndarray, seed: int) -> fairtest.Investigation:
    numbers = [name for name, column in registration.columns.items() if column.type == "number"]
    source = fairtest.DataSource(table, train=train, confidence_level=registration.confidence_level, numbers=numbers)
    return fairtest.Investigation(
        registration.sensitive_features,
        registration.output,
        ground_truth=registration.true_label,
        explanatory=registration.explanatory,
        context=registration.context,
        metric=getattr(fairtest, registration.metric)() if registration.metric else None,
        max_depth=registration.max_depth,
        min_leaf_size=registration.min_leaf_size,
        random_state=seed,
    ).fit(source)
