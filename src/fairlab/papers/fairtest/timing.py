"""Seconds of training and testing (section 6.2), what the tests spend them on, and where resampling ends."""

import time
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from fairlab.data import Dataset
from fairlab.fairtest.metrics import Correlation, Difference
from fairlab.fairtest.report import AssociationReport
from fairlab.fairtest.resampling import EXACT_LIMIT
from fairlab.fairtest.sample import PUBLISHED, Column, Sample
from fairlab.papers.fairtest.studies import STUDIES, fitted, tested


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
        By study: see `tested_hypotheses`, and the ``people trained on``.
    """
    repeats, work = [], {}
    for name, dataset in data.items():
        for repeat in range(n_repeats):
            train, investigations = _seconds(fitted, STUDIES[name](dataset))
            test, report = _seconds(tested, investigations)
            repeats.append({"study": name, "repeat": repeat, "train": train, "test": test})
        work[name] = tested_hypotheses(report) | {"people trained on": investigations[0].source_.n_train}
    return pd.DataFrame(repeats), pd.DataFrame(work).T


def tested_hypotheses(report: AssociationReport) -> dict:
    """Return how many hypotheses were tested, how many of few people, and by which metrics."""
    frame = report.to_frame()
    return {
        "hypotheses": len(frame),
        f"of at most {EXACT_LIMIT} people": (frame["size"] <= EXACT_LIMIT).sum(),
        "metrics": ", ".join(sorted(set(frame["metric"]))),
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
        "difference": (Difference(variant=PUBLISHED), _coins),
        "correlation": (Correlation(variant=PUBLISHED), _numbers),
    }
    rows = []
    for kind, (metric, column) in kinds.items():
        for n in (EXACT_LIMIT, EXACT_LIMIT + 1):
            sample = Sample(column("group", n, rng), column("output", n, rng))
            exact = metric.exact(sample, confidence_level=0.95, rng=np.random.default_rng(random_state))
            approximate = metric.approximate(sample, confidence_level=0.95)
            pairs = [(getattr(exact, name), getattr(approximate, name)) for name in ("low", "high", "p_value")]
            rows.append(
                {"metric": kind, "people": n, "resampled": not np.isclose(*zip(*pairs, strict=True), rtol=1e-12).all()}
            )
    return pd.DataFrame(rows)


def _seconds(step: Callable, argument) -> tuple[float, object]:
    """Return the seconds of a step, and what it returns."""
    start = time.process_time()
    result = step(argument)
    return time.process_time() - start, result


def _coins(name, n, rng):
    return Column(name, rng.integers(2, size=n), ("no", "yes"))


def _numbers(name, n, rng):
    return Column(name, rng.normal(size=n))
