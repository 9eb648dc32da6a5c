"""The steps of an investigation: train on one part of the data, test on another (figure 3)."""

from fairlab.fairtest.correction import bonferroni_confidence
from fairlab.fairtest.investigation import Investigation
from fairlab.fairtest.tree import AGGREGATIONS


def train(
    investigations, *, max_depth: int = 5, min_leaf_size: int = 100, score_aggregation="avg", max_bins: int = 10
) -> None:
    """Find subpopulations with strong associations in the training set (section 4.3).

    Parameters
    ----------
    investigations : Investigation or list of Investigation
    max_depth : int
        Most conditions that define a subpopulation.
    min_leaf_size : int
        Fewest people in a subpopulation; for a conditional metric, in each of its strata that occurs.
    score_aggregation : {"avg", "weighted_avg", "max"}
        How the associations of subpopulations make the score of a split.
    max_bins : int
        Most thresholds that are tried for a continuous attribute.

    Raises
    ------
    ValueError
        If a parameter is out of range, there is no investigation, or the training set is smaller than `min_leaf_size`.
    """
    for argument, value, least in (
        ("max_depth", max_depth, 0),
        ("min_leaf_size", min_leaf_size, 1),
        ("max_bins", max_bins, 1),
    ):
        if value < least:
            raise ValueError(f"{argument}: expected at least {least}, found {value}")
    if score_aggregation not in AGGREGATIONS:
        raise ValueError(f"score_aggregation: expected one of {', '.join(AGGREGATIONS)}, found {score_aggregation!r}")
    investigations = as_list(investigations)
    for investigation in investigations:
        if (n := investigation.source.n_train) < min_leaf_size:
            raise ValueError(f"the training set has {n} rows, fewer than min_leaf_size={min_leaf_size}")
    for investigation in investigations:
        investigation._train(
            max_depth=max_depth, min_leaf_size=min_leaf_size, score_aggregation=score_aggregation, max_bins=max_bins
        )


def test(investigations, *, exact: bool = True) -> None:
    """Test the subpopulations that training found, all on one unused test set, and correct for their number.

    Intervals are corrected by Bonferroni over all hypotheses of an investigation and over the investigations, p-values
    by Holm's method within each investigation (section 4.4).

    Parameters
    ----------
    investigations : Investigation or list of Investigation
        Of one source.
    exact : bool
        Whether small samples are tested by Monte Carlo, permutation and bootstrap. Otherwise all are tested by
        large-sample theory.

    Raises
    ------
    BudgetError
        If the source has no test set left.
    ValueError
        If an investigation was not trained, or they are of different sources. No test set is used up by an error.
    """
    investigations = as_list(investigations)
    source = investigations[0].source
    if any(other.source is not source for other in investigations):
        raise ValueError("investigations: expected all of one DataSource, found several")
    for investigation in investigations:
        investigation.contexts(investigation.protected[0])
    conf = bonferroni_confidence(source.conf_, len(investigations))
    with source.test() as columns:
        found = [investigation._test(columns, conf=conf, exact=exact) for investigation in investigations]
    for investigation, findings in zip(investigations, found, strict=True):
        investigation.findings_ = findings


def as_list(investigations) -> list[Investigation]:
    """Return one or several investigations as a list; raise a ValueError if there is none."""
    several = [investigations] if isinstance(investigations, Investigation) else list(investigations)
    if not several:
        raise ValueError("investigations: expected at least one, found none")
    return several
