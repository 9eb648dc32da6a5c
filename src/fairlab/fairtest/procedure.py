"""The steps of an investigation (figure 3): contexts from one part of the data, their tests on another, a report."""

from fairlab.fairtest.arguments import check_whole
from fairlab.fairtest.correction import bonferroni_confidence
from fairlab.fairtest.investigation import as_list
from fairlab.fairtest.reporting import Report, report
from fairlab.fairtest.tree import AGGREGATIONS


def investigate(
    investigations,
    *,
    max_depth: int = 5,
    min_leaf_size: int = 100,
    score_aggregation="avg",
    max_bins: int = 10,
    exact: bool = True,
) -> Report:
    """Find contexts in the training set, test them on an unused test set, and report what is left.

    The two halves are `find_contexts` and `validate_contexts`, for those who need them one by one: to measure their
    times, or to test contexts that are there already, as those of `Investigation.with_explanatory` are.

    Parameters
    ----------
    investigations : Investigation or list of Investigation
        Of one source. Several share the test set, and the correction for testing many hypotheses.
    max_depth, min_leaf_size, score_aggregation, max_bins
        As for `find_contexts`.
    exact : bool
        As for `validate_contexts`.

    Returns
    -------
    Report
        The investigations keep their trees as `trees_` and their tests as `findings_`.

    Raises
    ------
    BudgetError
        If the source has no test set left.
    ValueError
        If a parameter is out of range, there is no investigation, they are of different sources, or the training set
        is smaller than `min_leaf_size`. No test set is used up by an error.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, Testing, investigate
    >>> people = pd.DataFrame(
    ...     {"sex": ["f", "m"] * 300, "town": ["a", "a", "b", "b"] * 150, "offer": ["no", "yes"] * 300}
    ... )
    >>> found = investigate(Testing(DataSource(people), "sex", "offer"))
    >>> len(found.sections), found.sections[0].protected
    (1, 'sex')
    """
    investigations = as_list(investigations)
    _one_source(investigations).check_budget()
    find_contexts(
        investigations,
        max_depth=max_depth,
        min_leaf_size=min_leaf_size,
        score_aggregation=score_aggregation,
        max_bins=max_bins,
    )
    return validate_contexts(investigations, exact=exact)


def find_contexts(
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

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, Testing, find_contexts, validate_contexts
    >>> people = pd.DataFrame(
    ...     {"sex": ["f", "m"] * 300, "town": ["a", "a", "b", "b"] * 150, "offer": ["no", "yes"] * 300}
    ... )
    >>> investigation = Testing(DataSource(people), "sex", "offer")
    >>> find_contexts(investigation, min_leaf_size=50)
    >>> len(validate_contexts(investigation).sections)
    1
    """
    for argument, value, least in (
        ("max_depth", max_depth, 0),
        ("min_leaf_size", min_leaf_size, 1),
        ("max_bins", max_bins, 1),
    ):
        check_whole(argument, value, least=least)
    if not isinstance(score_aggregation, str) or score_aggregation not in AGGREGATIONS:
        raise ValueError(f"score_aggregation: expected one of {', '.join(AGGREGATIONS)}, found {score_aggregation!r}")
    investigations = as_list(investigations)
    for investigation in investigations:
        if (n := investigation.source.n_train) < min_leaf_size:
            raise ValueError(f"the training set has {n} rows, fewer than min_leaf_size={min_leaf_size}")
    for investigation in investigations:
        investigation.grow_trees(
            max_depth=max_depth, min_leaf_size=min_leaf_size, score_aggregation=score_aggregation, max_bins=max_bins
        )


def validate_contexts(investigations, *, exact: bool = True) -> Report:
    """Test the contexts of the investigations, all on one unused test set, and correct for their number.

    Intervals are corrected by Bonferroni over all hypotheses of an investigation and over the investigations, p-values
    by Holm's method within each investigation (section 4.4).

    Parameters
    ----------
    investigations : Investigation or list of Investigation
        Of one source, with contexts.
    exact : bool
        Whether small samples are tested by Monte Carlo, permutation and bootstrap. Otherwise all are tested by
        large-sample theory.

    Returns
    -------
    Report

    Raises
    ------
    BudgetError
        If the source has no test set left.
    ValueError
        If an investigation has no contexts yet, or they are of different sources. No test set is used up by an error.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, Testing, find_contexts, validate_contexts
    >>> people = pd.DataFrame(
    ...     {"sex": ["f", "m"] * 300, "town": ["a", "a", "b", "b"] * 150, "offer": ["no", "yes"] * 300}
    ... )
    >>> investigation = Testing(DataSource(people), "sex", "offer")
    >>> find_contexts(investigation, min_leaf_size=50)
    >>> validate_contexts(investigation).sections[0].output
    'offer'
    """
    investigations = as_list(investigations)
    source = _one_source(investigations)
    for investigation in investigations:
        investigation.contexts(investigation.protected[0])
    conf = bonferroni_confidence(source.conf_, len(investigations))
    with source.lend_test_set() as columns:
        found = [investigation.tests_on(columns, conf=conf, exact=exact) for investigation in investigations]
    for investigation, findings in zip(investigations, found, strict=True):
        investigation.findings_ = findings
    return report(investigations)


def _one_source(investigations):
    source = investigations[0].source
    if any(other.source is not source for other in investigations):
        raise ValueError("investigations: expected all of one DataSource, found several")
    return source
