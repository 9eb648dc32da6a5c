"""One look at an investigation: stored rows as a table, and FairTest's report on them."""

import numpy as np
import pandas as pd

from fairlab import fairtest
from fairlab.monitoring.registration import Registration


def as_table(registration: Registration, content: np.ndarray, categories: dict[str, list], true=None) -> pd.DataFrame:
    """Return stored rows as a table of the registered columns."""
    table = {}
    for name, column in registration.columns.items():
        values = true if name == registration.true_label else content[name]
        if column.type == "category":
            table[name] = pd.Categorical.from_codes(values.astype(int), categories[name])
        else:
            table[name] = values.astype({"number": float, "boolean": bool}[column.type])
    return pd.DataFrame(table)


def look(registration: Registration, table: pd.DataFrame, train: np.ndarray, level: float, seed: int):
    """Return FairTest's report on the rows that are not for training, at a level.

    Intervals are those of this look alone, at the registered confidence level; findings go by p-values at the level.

    Parameters
    ----------
    registration : Registration
    table : DataFrame
    train : ndarray of bool
    level : float
        Of the whole look.
    seed : int

    Returns
    -------
    AssociationReport
    """
    numbers = [name for name, column in registration.columns.items() if column.type == "number"]
    source = fairtest.DataSource(table, train=train, confidence_level=registration.confidence_level, numbers=numbers)
    investigation = fairtest.Investigation(
        registration.sensitive_features,
        registration.output,
        ground_truth=registration.true_label,
        explanatory=registration.explanatory,
        context=registration.context,
        metric=getattr(fairtest, registration.metric)() if registration.metric else None,
        max_depth=registration.max_depth,
        min_leaf_size=registration.min_leaf_size,
        random_state=seed,
    )
    return investigation.fit(source).test(significance=level)
