"""Searches that several notebooks share: the published variants of ADF and AEQUITAS, and a check of results.

A whole search has hundreds of thousands of inputs. Only its counts are kept, and a random share of the discriminatory
inputs for retraining.
"""

import numpy as np

from fairlab.adf.aequitas import Aequitas
from fairlab.adf.discrimination import SearchResult
from fairlab.adf.generation import ADF
from fairlab.cases.schema import Schema
from fairlab.networks import CHUNK, FeedForward
from fairlab.papers.adf.benchmarks import SCHEMAS
from fairlab.suite.seeds import Trial

SHARE_KEPT = 0.05  # the share that section 4.2 retrains with


class ADFOnCredit(ADF):
    """ADF whose global phase tries ages 0 to 39 on credit, as the authors' code does with another table's bounds."""

    tried = Schema.from_bounds(SCHEMAS["credit"].bounds | {"age": (0, 39)})

    def _global_phase(self, network, seeds, rng):
        # Only the bounds of age differ, and no move changes the age.
        wide = ADF(**self.get_params(deep=False) | {"schema": self.tried})
        return wide._global_phase(network, seeds, rng)


class AequitasAsReleased(Aequitas):
    """AEQUITAS as the authors of ADF released it: its walks learn from discrimination, not from the value returned."""

    _learns_from_partners = True


def tally(result: SearchResult, weights, trial: Trial) -> dict:
    """Check the inputs that a search reports by the network's classes for both sides of each pair, and summarise them.

    Parameters
    ----------
    result : SearchResult
    weights : list of ndarray
        Weights of the network that was searched.
    trial : Trial
        Draws the inputs that are kept.

    Returns
    -------
    dict
        n_inputs, n_discriminatory : distinct inputs, and the discriminatory ones among them;
        success_rate : share of the latter, 0 if nothing was tried;
        n_successful : seeds with which the local phase began;
        n_wrong, n_outside : reported inputs that the check found repeated or not discriminatory, and those outside of
        the domain;
        sample : ndarray of shape (n_kept, n_attributes), a share of the discriminatory inputs.
    """
    found, pairs = result.discriminatory, result.pairs
    columns = result.schema.positions(result.sensitive_features)
    n_distinct = len({row.tobytes() for row in np.delete(found, columns, axis=1)})
    sides = [_classes(weights, pairs[:, side]) for side in (0, 1)]
    outside = (found < result.schema.low) | (found > result.schema.high)
    kept = trial.rng("kept").choice(len(found), int(np.ceil(SHARE_KEPT * len(found))), replace=False)
    return {
        "n_inputs": result.n_inputs,
        "n_discriminatory": result.n_discriminatory,
        "success_rate": result.success_rate,
        "n_successful": int(result.successful.sum()),
        "n_wrong": int(len(found) - n_distinct + (sides[0] == sides[1]).sum()),
        "n_outside": int(outside.any(axis=1).sum()),
        "sample": found[kept],
    }


def _classes(weights, X) -> np.ndarray:
    network = FeedForward(weights)
    return np.concatenate([network.predict(chunk) for chunk in np.array_split(X, -(-max(len(X), 1) // CHUNK))])
