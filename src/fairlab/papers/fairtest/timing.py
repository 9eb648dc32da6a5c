"""Seconds of training and testing (section 6.2), what the tests spend them on, and where resampling ends."""

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from fairlab.data import Dataset
from fairlab.fairtest.correlation import Correlation
from fairlab.fairtest.investigation import Investigation
from fairlab.fairtest.metric import AS_PUBLISHED
from fairlab.fairtest.procedure import find_contexts, validate_contexts
from fairlab.fairtest.resampling import EXACT_LIMIT
from fairlab.fairtest.sample import Column, Sample
from fairlab.fairtest.tables import Difference
from fairlab.papers.fairtest.studies import STUDIES

PARTS = {"train": find_contexts, "test": validate_contexts}


def seconds_of_studies(data: Mapping[str, Dataset], n_repeats: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Measure the processor time of training and of testing of every study, each time on a new source.

    Processor time is wall time on an otherwise idle core, and does not depend on what else the machine is doing.

    Parameters
    ----------
    data : dict of str to Dataset
        By name of the study, see `fairlab.papers.fairtest.studies.STUDIES`.
    n_repeats : int

    Returns
    -------
    repeats : DataFrame
        Columns ``study``, ``repeat``, ``train`` and ``test`` (seconds).
    work : DataFrame
        By study: see `tested_hypotheses`.
    """
    repeats, work = [], {}
    for name, dataset in data.items():
        for repeat in range(n_repeats):
            investigations = STUDIES[name](dataset)
            seconds = {part: _seconds(step, investigations) for part, step in PARTS.items()}
            repeats.append({"study": name, "repeat": repeat} | seconds)
        work[name] = tested_hypotheses(investigations)
    return pd.DataFrame(repeats), pd.DataFrame(work).T


def tested_hypotheses(investigations: Sequence[Investigation]) -> dict:
    """Return how many hypotheses were tested, how many of few people, by which metrics, and the people trained on."""
    tested = [
        association
        for investigation in investigations
        for findings in investigation.findings_.values()
        for finding in findings
        for association in finding.associations
    ]
    return {
        "hypotheses": len(tested),
        f"of at most {EXACT_LIMIT} people": sum(association.size <= EXACT_LIMIT for association in tested),
        "metrics": ", ".join(sorted({association.hypothesis.metric.name for association in tested})),
        "people trained on": investigations[0].source.n_train,
    }


def resampling_limits(rng: np.random.Generator, *, random_state: int = 0) -> pd.DataFrame:
    """Test random samples at the limit of resampling, and of one person more.

    Where a test and large-sample theory agree to the last digit there was no resampling.

    Parameters
    ----------
    rng : numpy.random.Generator
        Of the samples.
    random_state : int
        Of the tests.

    Returns
    -------
    DataFrame
        Columns ``metric``, ``people`` and ``resampled``.
    """
    kinds = {
        "difference": (Difference(reading=AS_PUBLISHED), _coins),
        "correlation": (Correlation(reading=AS_PUBLISHED), _numbers),
    }
    rows = []
    for kind, (metric, column) in kinds.items():
        for n in (EXACT_LIMIT, EXACT_LIMIT + 1):
            sample = Sample(column("group", n, rng), column("output", n, rng))
            exact = metric.exact(sample, conf=0.95, rng=np.random.default_rng(random_state))
            approximate = metric.approximate(sample, conf=0.95)
            pairs = [(getattr(exact, name), getattr(approximate, name)) for name in ("low", "high", "p_value")]
            rows.append(
                {"metric": kind, "people": n, "resampled": not np.isclose(*zip(*pairs, strict=True), rtol=1e-12).all()}
            )
    return pd.DataFrame(rows)


def _seconds(step: Callable, investigations: Sequence[Investigation]) -> float:
    start = time.process_time()
    step(investigations)
    return time.process_time() - start


def _coins(name, n, rng):
    return Column(name, rng.integers(2, size=n), ("no", "yes"))


def _numbers(name, n, rng):
    return Column(name, rng.normal(size=n))
