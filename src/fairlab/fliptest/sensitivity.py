"""How far flipsets depend on what FlipTest leaves to the tester: the cost of moving people."""

from functools import partial

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist

from fairlab.fliptest.ensemble import agreement_table
from fairlab.fliptest.flipsets import flipset
from fairlab.transport import ExactTransport, squared_l1

# The paper's cost first; the others are those that the literature on transport uses most.
COSTS = {
    "squared L1": squared_l1,
    "L1": partial(cdist, metric="cityblock"),
    "squared Euclidean": partial(cdist, metric="sqeuclidean"),
    "Euclidean": partial(cdist, metric="euclidean"),
}


def flipsets_by_cost(predict, X_source, X_target, *, costs=COSTS, random_state: int = 0) -> pd.DataFrame:
    """Compare the flipsets of exact maps under several costs.

    Parameters
    ----------
    predict : callable, or object with a ``predict`` method
        The classifier h.
    X_source, X_target : DataFrame of shape (n, n_features)
    costs : dict of str to callable
        The first is the one that the others are compared with. Those that are there by default take the columns in
        their units: scale them first.
    random_state : int
        For counterparts where a plan splits people.

    Returns
    -------
    DataFrame
        One row per cost: sizes ``F+`` and ``F−``, their Jaccard index with those of the first cost, and the mean L1
        distance of a person and the counterpart.

    Raises
    ------
    ValueError
        If there is no cost, or the tables are not what is expected.

    Examples
    --------
    >>> from fairlab.fliptest import flipsets_by_cost
    >>> women = pd.DataFrame({"skill": [0.0, 1.0, 2.0], "hair": [1.0, 2.0, 2.0]})
    >>> men = pd.DataFrame({"skill": [1.0, 2.0, 3.0], "hair": [0.0, 1.0, 1.0]})
    >>> flipsets_by_cost(lambda X: (X["skill"] > 1.5).astype(int), women, men)["F−"].to_dict()
    {'squared L1': 1, 'L1': 1, 'squared Euclidean': 1, 'Euclidean': 1}
    """
    if not costs:
        raise ValueError("costs: is empty, expected at least one cost by its name")
    flips, moved = {}, {}
    for name, cost in costs.items():
        image = ExactTransport(cost=cost, random_state=random_state).fit(X_source, X_target).transform(X_source)
        flips[name] = flipset(predict, X_source, image)
        moved[name] = float(np.abs(X_source - image).sum(axis=1).mean())
    return agreement_table(flips).rename_axis("cost").assign(**{"mean L1": moved.values()})
