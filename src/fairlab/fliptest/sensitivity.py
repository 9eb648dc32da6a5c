"""How far flipsets depend on what FlipTest leaves to the tester: the GAN's penalty and the cost of moving people."""

from functools import partial

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist

from fairlab.fliptest.flipsets import flipset
from fairlab.fliptest.overlap import flipset_overlap
from fairlab.transport import ExactTransport, squared_l1

# The paper's cost first; the others are those that the literature on transport uses most.
COSTS = {
    "squared L1": squared_l1,
    "L1": partial(cdist, metric="cityblock"),
    "squared Euclidean": partial(cdist, metric="sqeuclidean"),
    "Euclidean": partial(cdist, metric="euclidean"),
}


def maps_by_penalty(trials, *, source, target, penalties, **recipe) -> list[dict]:
    """Train, for every trial, one GAN map per penalty, all from the trial's one seed.

    A function for `fairlab.Experiment.trials` with ``batch``.

    Parameters
    ----------
    trials : list of fairlab.seeds.Trial
    source, target : DataFrame of shape (n, n_features)
    penalties : sequence of float
        Values of the paper's lambda.
    **recipe
        Other options of `fairlab.transport.GANEnsemble`.

    Returns
    -------
    list of dict
        Per trial, the fitted map by penalty.
    """
    from fairlab.transport import GANEnsemble

    seeds = np.repeat([trial.seed("gan by penalty") for trial in trials], len(penalties))
    ensemble = GANEnsemble(seeds, penalty=np.tile(penalties, len(trials)), **recipe).fit(source, target)
    maps = iter(ensemble.maps_)
    return [{penalty: next(maps) for penalty in penalties} for _ in trials]


def flipsets_by_cost(predict, X_source, X_target, *, costs=COSTS, random_state: int = 0) -> pd.DataFrame:
    """Compare the flipsets of exact maps under several costs.

    Parameters
    ----------
    predict : callable, or object with a ``predict`` method
        The classifier h.
    X_source, X_target : DataFrame of shape (n, n_features)
    costs : dict of str to callable
        The first is the one that the others are compared with.
    random_state : int
        For counterparts where a plan splits people.

    Returns
    -------
    DataFrame
        One row per cost: sizes ``F+`` and ``F−``, their Jaccard index with those of the first cost, and the mean L1
        distance of a person and the counterpart.
    """
    flips, rows = [], {}
    for name, cost in costs.items():
        image = ExactTransport(cost=cost, random_state=random_state).fit(X_source, X_target).transform(X_source)
        flips.append(flipset(predict, X_source, image))
        overlap = flipset_overlap(flips[0], flips[-1])
        rows[name] = {
            "F+": flips[-1].n_positive,
            "F−": flips[-1].n_negative,
            "Jaccard F+": overlap.positive.jaccard,
            "Jaccard F−": overlap.negative.jaccard,
            "mean L1": float(np.abs(X_source - image).sum(axis=1).mean()),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("cost")
