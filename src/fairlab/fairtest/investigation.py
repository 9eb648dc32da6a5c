"""Investigations (figure 3): subgroups are found in one part of the data, and tested and reported on another."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from fairlab.cases.tables import Split, Table
from fairlab.cases.tables.keys import Distance
from fairlab.checks import (
    COUNT_OR_ZERO,
    FRACTION,
    check_count,
    check_flag,
    check_kind,
    check_names,
    check_parameters,
    checked,
    one_of,
)
from fairlab.fairtest.metrics import (
    NMI,
    AdditiveMetric,
    Correlation,
    Difference,
    Interval,
    Metric,
    Regression,
    TableMetric,
)
from fairlab.fairtest.report import SIGNIFICANCE, AssociationReport, judge
from fairlab.fairtest.resampling import RESAMPLES
from fairlab.fairtest.sample import MOST_IN_MEMORY, PUBLISHED, Column, DataSource, People, Sample
from fairlab.fairtest.tree import AGGREGATIONS, GuidedTree, Node, count_nodes
from fairlab.statistics import bonferroni_level, holm

MOST_CATEGORIES = 100
MISSING = re.compile(r"\(+missing\)+")  # the category of missing values
SMALLEST_P_VALUE = 1e-180  # smaller ones are raised to it before correction, as in the authors' code


@checked(
    max_depth=COUNT_OR_ZERO,
    min_leaf_size=check_count,
    max_bins=check_count,
    score_aggregation=one_of(*AGGREGATIONS),
    top_k=check_count,
    random_state=COUNT_OR_ZERO,
)
class Investigation(BaseEstimator):
    """Looks for associations of sensitive features with an output, overall and in subgroups (section 4.5).

    *Testing* of one output; *error profiling*, if there is a ground truth; or *discovery* among many labels.

    Parameters
    ----------
    sensitive_features : str or list of str
        The paper's protected attributes. Each gets its own subgroups, which may use the others.
    output : str or list of str
        A column; or a list of labels (booleans, zeros and ones, or two categories), for a discovery: in training a
        `Regression` chooses labels in each subgroup, and each of these is tested by itself. A discovery needs sensitive
        features with two categories. A constant label shows no association.
    ground_truth : str or None
        For error profiling, the true values that `output` predicts. The error of numbers is their absolute difference;
        with two categories it is correct, false negative or false positive, the second category being positive; with
        more, correct or incorrect.
    explanatory : str or None
        A categorical attribute on which it is acceptable to differentiate: associations are measured among people who
        share its value. Not for a discovery.
    context : list of str or None
        Attributes that define subgroups. None for all columns but output, ground truth, explanatory attribute and the
        outcomes of a case. A constant attribute defines none.
    metric : Metric, dict of str to Metric, or None
        For all sensitive features, or for each by name. None: if both sides are categorical `NMI`, or given an
        explanatory attribute and two categories on each side `Difference`; otherwise `Correlation`. In a discovery, the
        metric of one label in the test; None for `Difference`.
    top_k : int
        How many labels a discovery tests in each subgroup.
    max_depth : int
        Maximum number of conditions that define a subgroup.
    min_leaf_size : int
        Minimum number of people in a subgroup; given an explanatory attribute, in each of its non-empty strata.
    score_aggregation : {"avg", "weighted_avg", "max"}
        How the score of a split is computed from the associations of subgroups.
    max_bins : int
        Maximum number of thresholds tried for a continuous attribute.
    random_state : int
        Seed of Monte Carlo tests and bootstraps, used anew in every subgroup.

    Attributes
    ----------
    source_ : DataSource
    sensitive_features_, context_ : list of str
        A sensitive feature does not define subgroups in its own tree.
    metrics_ : dict of str to Metric
        By sensitive feature.
    trees_ : dict of str to Node
        The root of each sensitive feature's tree.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, Investigation
    >>> people = pd.DataFrame(
    ...     {"sex": ["f", "m"] * 300, "town": ["a", "a", "b", "b"] * 150, "offer": ["no", "yes"] * 300}
    ... )
    >>> investigation = Investigation("sex", "offer", min_leaf_size=50).fit(DataSource(people))
    >>> bool(investigation.test().to_frame().set_index("context")["p_value"]["everyone"] < 0.05)
    True

    The same with the errors of a prediction, and with many labels.

    >>> people["truth"] = ["no", "yes", "yes"] * 200
    >>> errors = Investigation("sex", "offer", ground_truth="truth", context=[]).fit(DataSource(people))
    >>> rng = np.random.default_rng(0)
    >>> photos = pd.DataFrame({"race": ["a", "b"] * 300, "smile": rng.random(600) < 0.5})
    >>> photos["ball"] = (photos["race"] == "a") & (rng.random(600) < 0.6)
    >>> labels = Investigation("race", ["smile", "ball"], context=[]).fit(DataSource(photos))
    >>> labels.test().to_frame()["part"].tolist()
    ['ball', 'smile']
    """

    def __init__(
        self,
        sensitive_features: str | Sequence[str],
        output: str | Sequence[str],
        *,
        ground_truth: str | None = None,
        explanatory: str | None = None,
        context: Sequence[str] | None = None,
        metric: Metric | Mapping[str, Metric] | None = None,
        top_k: int = 35,
        max_depth: int = 5,
        min_leaf_size: int = 100,
        score_aggregation: str = "avg",
        max_bins: int = 10,
        random_state: int = 0,
    ):
        self.sensitive_features = sensitive_features
        self.output = output
        self.ground_truth = ground_truth
        self.explanatory = explanatory
        self.context = context
        self.metric = metric
        self.top_k = top_k
        self.max_depth = max_depth
        self.min_leaf_size = min_leaf_size
        self.score_aggregation = score_aggregation
        self.max_bins = max_bins
        self.random_state = random_state

    def fit(self, source: DataSource) -> "Investigation":
        """Find subgroups with strong associations in the training set (section 4.3).

        Raises
        ------
        TypeError
            If `source` is no DataSource, `metric` no Metric, or a column is not given by name.
        ValueError
            If a parameter is out of range; if a column does not exist, has two roles that exclude each other, has one
            value in the training set, more than 100 categories, or a type that does not suit the metric; if the
            explanatory attribute is continuous; if a context attribute is equivalent to the output; if output and
            ground truth are not of one kind, or some of them are missing; or if the training set is smaller than
            `min_leaf_size`.
        """
        columns = self._prepare(source)
        options = {
            name: getattr(self, name) for name in ("max_depth", "min_leaf_size", "score_aggregation", "max_bins")
        }
        self.trees_ = {}
        for name, metric in self.metrics_.items():
            here = self._known(columns, metric)
            sample, level = self._sample(here, name), source.confidence_level_
            context = [here[attribute] for attribute in self.context_ if attribute != name]
            self.trees_[name] = GuidedTree(metric, level, **options).grow(sample, context, here.table)
            for node in self.nodes(name) if self._is_discovery else ():
                members = node.members(here, np.arange(len(sample)))
                node.labels = metric.labels(sample.take(members), confidence_level=level)
        return self

    def nodes(self, sensitive_features: str) -> list[Node]:
        """Return the subgroups found for a sensitive feature, the whole population first."""
        check_is_fitted(self)
        return [node for node in self.trees_[sensitive_features].walk() if node.is_context]

    def with_explanatory(
        self, explanatory: str, *, metric: Metric | Mapping[str, Metric] | None = None
    ) -> "Investigation":
        """Return a fitted investigation of the same subgroups with an explanatory attribute (section 4.6).

        It is tested on a new test set, so that the source needs a budget of at least 2.

        Parameters
        ----------
        explanatory : str
            Name of a categorical attribute.
        metric : Metric, dict or None
            None for the metric given at first, or else the default one.

        Raises
        ------
        ValueError
            If the attribute cannot be used, or a metric cannot hold it fixed.
        """
        check_is_fitted(self)
        other = clone(self).set_params(
            explanatory=explanatory,
            context=[name for name in self.context_ if name != explanatory],
            metric=self.metric if metric is None else metric,
        )
        other._prepare(self.source_)
        other.trees_ = self.trees_
        return other

    @checked(exact=check_flag, significance=FRACTION)
    def test(
        self, *others: "Investigation", exact: bool = True, significance: float | None = None
    ) -> AssociationReport:
        """Test the subgroups on an unused test set, and report on them (section 4.4).

        Intervals are corrected by Bonferroni over all hypotheses of an investigation and over the investigations,
        p-values by Holm's method over the hypotheses of all investigations; as published, within each one. Reported are
        the whole population and the subgroups with a corrected p-value of at most `significance` (for labels, an effect
        above 0) whose effect is not weaker than that of any tested population containing them.

        Parameters
        ----------
        *others : Investigation
            Fitted to the same source, to share the test set and the correction for the number of hypotheses.
        exact : bool
            Whether small samples are tested by Monte Carlo, permutation and bootstrap. Otherwise all are tested by
            large-sample theory.
        significance : float or None
            Level of this test set, between 0 and 1. None: all test sets of the source share a level of 0.05, so that
            each of two has 0.0253; as published, each test set has 0.05.

        Raises
        ------
        BudgetSpentError
            If the source has no test set left.
        ValueError
            If `significance` is out of range, if an investigation is not fitted, or to another source. No test set is
            used up by an error.
        """
        several = [self, *others]
        for one in several:
            check_is_fitted(one)
            if one.source_ is not self.source_:
                raise ValueError("others: expected all fitted to one DataSource, found several")
        if significance is None:
            n_shares = 1 if self.source_.variant == PUBLISHED else self.source_.budget
            significance = float(-np.expm1(np.log1p(-SIGNIFICANCE) / n_shares))
        level = bonferroni_level(self.source_.confidence_level_, len(several))
        with self.source_.lend_test_set() as columns:
            tested = [one._tested(columns, level, exact) for one in several]
        families = [[k] for k in range(len(several))] if self.source_.variant == PUBLISHED else [range(len(several))]
        warnings = [text for one in several for text in one._warnings()]
        for family in families:
            rows = [row for k in family for row in tested[k]]
            corrected = holm([max(row["raw_p_value"], SMALLEST_P_VALUE) for row in rows])
            for row, p_value in zip(rows, corrected.tolist(), strict=True):
                row["p_value"] = p_value
            warnings += _warnings_of_permutations([several[k] for k in family], significance) if exact else []
        frames = [judge(rows, significance).assign(investigation=number) for number, rows in enumerate(tested)]
        return AssociationReport(pd.concat(frames, ignore_index=True), tuple(dict.fromkeys(warnings)), significance)

    @checked(source=partial(check_kind, kind=DataSource))
    def _prepare(self, source) -> dict[str, Column]:
        """Check the parameters against a source; return the columns in use from its training set."""
        check_parameters(self)
        if source.n_train < self.min_leaf_size:
            raise ValueError(
                f"the training set has {source.n_train} rows, fewer than min_leaf_size={self.min_leaf_size}"
            )
        self.source_, self._is_sampled = source, False
        roles = {
            name: check_names(getattr(self, name), name, source.names)
            for name in ("sensitive_features", "output", "ground_truth", "explanatory", "context")
        }
        self.sensitive_features_, self.explanatory_ = roles["sensitive_features"], roles["explanatory"]
        self.outputs_ = roles["output"] + roles["ground_truth"]
        self._check_roles(roles)
        taken = {*self.outputs_, *self.explanatory_, *source.outcomes}
        every = [name for name in source.names if name not in taken]
        self.context_ = every if self.context is None else roles["context"]
        columns = source.training_set(self._columns)
        columns = self._known(columns, None) if self._is_discovery else columns
        self._check_columns(columns)
        self.metrics_ = self._metrics(columns)
        return columns

    @property
    def _is_discovery(self) -> bool:
        return not isinstance(self.output, str) and isinstance(self.output, Iterable)

    @property
    def _columns(self) -> list[str]:
        """Names of all columns in use."""
        return list(dict.fromkeys([*self.sensitive_features_, *self.outputs_, *self.explanatory_, *self.context_]))

    def _output(self, columns: Mapping[str, Column]) -> Column | tuple[Column, ...]:
        """Return the output or labels tested for associations, from the columns of a training or test set."""
        outputs = [columns[name] for name in self.outputs_]
        if self._is_discovery:
            return tuple(map(_label, outputs))
        return outputs[0] if self.ground_truth is None else prediction_error(*outputs)

    def _sample(self, columns: Mapping[str, Column], name: str) -> Sample:
        """Return the sample for a metric, from the columns of a training or test set."""
        explanatory = columns[self.explanatory_[0]] if self.explanatory_ else None
        return Sample(columns[name], self._output(columns), explanatory)

    def _metrics(self, columns) -> dict[str, Metric]:
        """Return the metric of each sensitive feature, after checking that it suits its columns."""
        given = (
            self.metric if isinstance(self.metric, Mapping) else dict.fromkeys(self.sensitive_features_, self.metric)
        )
        for name in set(given) - set(self.sensitive_features_):
            raise ValueError(f"metric: no sensitive feature {name!r}; there are {', '.join(self.sensitive_features_)}")
        metrics = {}
        for name in self.sensitive_features_:
            sample = self._sample(columns, name)
            metric = given.get(name) or self._default_metric(sample)
            check_kind(metric, "metric", Metric, advice="; such as NMI() or Difference()")
            if self.explanatory_ and not isinstance(metric, AdditiveMetric):
                raise ValueError(f"metric {metric.name} cannot hold an explanatory attribute fixed")
            metrics[name] = Regression(top_k=self.top_k, label_metric=metric) if self._is_discovery else metric
            metrics[name].check(sample)
        return metrics

    def _default_metric(self, sample: Sample) -> Metric:
        """Return the metric that suits the columns (section 4.2)."""
        sides = (sample.sensitive_features, sample.output)
        if self._is_discovery or (sample.explanatory and all(column.is_binary for column in sides)):
            kind = Difference
        else:
            kind = NMI if all(column.is_categorical for column in sides) else Correlation
        return kind(variant=self.source_.variant)

    def _tested(self, columns: Mapping[str, Column], confidence_level, exact) -> list[dict]:
        """Test the subgroups on people who were not used to find them, with all intervals jointly at a level.

        Returns
        -------
        list of dict
            One row for each hypothesis, for `judge`.
        """
        subgroups = [(name, *subgroup) for name in self.metrics_ for subgroup in self._subgroups(name, columns)]
        level = bonferroni_level(confidence_level, sum(len(samples) for *_, samples in subgroups))
        explanatory = next(iter(self.explanatory_), None)
        output = f"{len(self.outputs_)} labels" if self._is_discovery else self._output(columns).name
        rows = []
        for name, metric, node, samples in subgroups:
            about = {"output": output, "sensitive_features": name, "explanatory": explanatory, "node": node}
            about |= {"context": str(node), "depth": len(node.ancestors)}
            rng = np.random.default_rng(self.random_state)  # a subgroup's random numbers depend on no other
            test = partial(metric.exact, rng=rng) if exact else metric.approximate
            for part, sample in samples.items():
                rows.append(about | {"part": part} | _row(metric, sample, partial(test, confidence_level=level)))
        return rows

    def _subgroups(self, name, columns) -> Iterator[tuple[Metric, Node, dict[str, Sample]]]:
        """Yield the metric, the node and the tested samples of each subgroup among the rows of `columns`.

        Samples are the subgroup itself, under an empty name, and its strata, such as ``department: A``; or its labels.
        """
        metric, nodes = self.metrics_[name], self.nodes(name)
        metric = metric.label_metric if self._is_discovery else metric
        columns = self._known(columns, metric)
        everyone = self._sample(columns, name)
        of_label = {"": everyone}
        if self._is_discovery:
            labels = {label for node in nodes for label in node.labels}
            of_label = {each.name: replace(everyone, output=each) for each in everyone.output if each.name in labels}
        if metric.by_sums:
            counted = count_nodes(self.trees_[name], metric, list(of_label.values()), columns.table)
            members = dict(zip(of_label, counted, strict=True))
        for node in nodes:
            rows = None if metric.by_sums else node.members(columns, np.arange(len(everyone)))
            samples = {
                label: of_label[label].take(rows) if rows is not None else members[label][node]
                for label in node.labels or [""]
            }
            if self.explanatory_:
                strata = samples[""].strata().items()
                samples |= {f"{self.explanatory_[0]}: {value}": stratum for value, stratum in strata}
            yield metric, node, samples

    def _known(self, columns: People, metric: Metric | None) -> People:
        """Return the columns for a metric; if counts and sums are not enough, those of a sample, with values."""
        if metric is not None and metric.by_sums:
            return columns
        known = columns.in_memory(self._columns)
        self._is_sampled |= known is not columns
        return known

    def _warnings(self) -> list[str]:
        """Return warnings about columns of numbers taken as categories, and about sampling."""
        taken = [f"{name} ({text})" for name, text in self.source_.warnings.items() if name in self._columns]
        words = f"Taken as categories: {', '.join(taken)}; DataSource(..., numbers=[...]) keeps numbers."
        words = [words] if taken else []
        if self._is_sampled:
            counts_tests = all(
                isinstance(each, Regression) and each.label_metric.by_sums for each in self.metrics_.values()
            )
            what = "Labels were chosen among" if counts_tests else "What needs more than counts and sums is of"
            where = "the training set; all of the test set are counted" if counts_tests else "each set"
            words.append(f"{what} about {MOST_IN_MEMORY:,} people of {where}.")
        return words

    def _check_roles(self, roles: Mapping[str, list[str]]) -> None:
        """Raise a ValueError unless every column has one role, and the necessary roles have columns."""
        for role in ("sensitive_features", "output"):
            if not roles[role]:
                raise ValueError(f"{role}: expected at least one column, found none")
        if len(self.explanatory_) > 1:
            raise ValueError(f"explanatory: expected one column, found {', '.join(self.explanatory_)}")
        if self._is_discovery and (self.explanatory_ or self.ground_truth is not None):
            raise ValueError(
                "output: expected one column with an explanatory attribute or a ground truth, found a list"
            )
        for first, second in combinations(roles, 2):
            both = set(roles[first]) & set(roles[second])
            if both and (first, second) != ("sensitive_features", "context"):
                raise ValueError(f"{both.pop()!r} is both {first} and {second}; expected one of the two")

    def _check_columns(self, columns) -> None:
        """Raise a ValueError unless the values of every column suit its role."""
        output = self._output(columns)
        checked = [("sensitive_features", columns[name]) for name in self.sensitive_features_]
        checked += [("explanatory", columns[name]) for name in self.explanatory_]
        checked += [] if self._is_discovery else [("output", output)]
        for role, column in checked:
            if column.is_categorical and len(column.categories) > MOST_CATEGORIES:
                raise ValueError(
                    f"{role}: column {column.name!r} has {len(column.categories)} categories, expected at most "
                    f"{MOST_CATEGORIES}; group them"
                )
            if role == "explanatory" and not column.is_categorical:
                raise ValueError(f"{role}: column {column.name!r} holds numbers; cut them into categories first")
            if role != "explanatory" and not _varies(column, columns):
                raise ValueError(f"{role}: column {column.name!r} has one value in the training set")
        if self._is_discovery and not any(_varies(label, columns) for label in output):
            raise ValueError(f"output: each of {len(output)} labels has one value in the training set")
        if self._is_discovery:
            return
        others = [columns[name] for name in set(self.context_) - set(self.sensitive_features_)]
        if doubled := _that_say_the_same(others, output, columns.table):
            name = doubled[0]
            raise ValueError(f"context: column {name!r} says the same as the output {output.name!r}; leave it out")


@checked(source=partial(check_kind, kind=DataSource))
def investigate(
    source: DataSource, investigations: Investigation | Sequence[Investigation], *, exact: bool = True
) -> AssociationReport:
    """Find subgroups in the training set, test them on an unused test set, and report the results.

    Parameters
    ----------
    source : DataSource
    investigations : Investigation or list of Investigation
        Several share the test set and the correction for multiple testing (not that of p-values as published). Clones
        of them are fitted.
    exact : bool
        As for `Investigation.test`.

    Raises
    ------
    BudgetSpentError
        If the source has no test set left.
    TypeError, ValueError
        As for `Investigation.fit`, or if there is no investigation. No test set is used up by an error.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, Investigation, investigate
    >>> people = pd.DataFrame(
    ...     {"sex": ["f", "m"] * 300, "town": ["a", "a", "b", "b"] * 150, "offer": ["no", "yes"] * 300}
    ... )
    >>> found = investigate(DataSource(people), Investigation("sex", "offer"))
    >>> found.to_frame()[["sensitive_features", "context"]].iloc[0].tolist()
    ['sex', 'everyone']
    """
    several = list(investigations) if isinstance(investigations, Iterable) else [investigations]
    for one in several:
        check_kind(one, "investigations", Investigation)
    if not several:
        raise ValueError("investigations: expected at least one, found none")
    source.check_budget()
    first, *others = [clone(one).fit(source) for one in several]
    return first.test(*others, exact=exact)


def prediction_error(prediction: Column, truth: Column) -> Column:
    """Return the error of predictions, as `Investigation` defines it."""
    name = f"error of {prediction.name}"
    if prediction.is_categorical != truth.is_categorical:
        numbers, other = (truth, prediction) if prediction.is_categorical else (prediction, truth)
        raise ValueError(
            f"column {numbers.name!r} holds numbers and {other.name!r} categories; expected one kind, which "
            "DataSource(..., numbers=...) or categories=... can make of whole numbers"
        )
    if not truth.is_categorical:
        values = None if truth.values is None else np.abs(prediction.values - truth.values)
        return Column(name, values, key=Distance(prediction.key, truth.key))
    for column in (prediction, truth):
        if any(map(MISSING.fullmatch, column.categories)):
            raise ValueError(f"column {column.name!r}: values are missing, which are no errors; drop the rows")
    longer, shorter = sorted([truth.categories, prediction.categories], key=len, reverse=True)
    categories = longer if set(shorter) <= set(longer) else sorted({*longer, *shorter})
    if len(longer) <= 2 < len(categories):
        raise ValueError(
            f"column {prediction.name!r} holds {' and '.join(prediction.categories)}, {truth.name!r} "
            f"{' and '.join(truth.categories)}; expected the same two labels"
        )
    predicted, true = (
        np.array([categories.index(category) for category in column.categories]) for column in (prediction, truth)
    )
    kinds = ("correct", "incorrect") if len(categories) > 2 else ("correct", "false negative", "false positive")
    error = np.sign(true - predicted[:, None]) % 3 if len(kinds) == 3 else np.not_equal.outer(predicted, true) * 1
    key = Split(prediction.key, tuple((truth.key, tuple(codes)) for codes in error.tolist()), len(kinds))
    return Column(name, None if truth.values is None else error[prediction.values, truth.values], kinds, key)


def _label(column: Column) -> Column:
    """Return zeros and ones as a column of both categories, even if one does not occur; other columns unchanged."""
    if column.is_categorical and set(column.categories) <= {"0", "1"}:
        codes = np.array(column.categories, dtype=np.intp)
        values = None if column.values is None else codes[column.values]
        return Column(column.name, values, ("0", "1"), Split(None, ((column.key, tuple(codes.tolist())),), 2))
    if column.is_categorical or column.values is None or not np.isin(column.values, (0, 1)).all():
        return column
    return Column(column.name, column.values.astype(np.intp), ("0", "1"))


def _warnings_of_permutations(family: list[Investigation], significance: float) -> list[str]:
    """Return a warning if no permutation p-value could be small enough after Holm's correction over a family."""
    trees = [(one, name) for one in family if one.explanatory_ for name in one.metrics_]
    # Holm's factor of the smallest is at least the number of subgroups, even if all strata come before it.
    n_tests = sum(len(one.nodes(name)) for one, name in trees if isinstance(one.metrics_[name], TableMetric))
    smallest = n_tests / (1 + RESAMPLES)
    if smallest <= significance:
        return []
    reason = f"p-values of {n_tests} tests by {RESAMPLES:,} permutations are at least {smallest:.2g} after correction"
    return [f"Nothing could be found at the level {significance:.2g}: {reason}."]


def _row(metric: Metric, sample: Sample, test) -> dict:
    """Return the test of one hypothesis as a row of the report."""
    interval = test(sample) if len(sample) else Interval(np.nan, np.nan, 1.0)
    is_counted = sample.output.is_categorical and sample.sensitive_features.is_categorical
    return {
        "size": len(sample),
        "metric": metric.name_given(sample.explanatory),
        "low": float(interval.low),
        "high": float(interval.high),
        "raw_p_value": float(interval.p_value),
        "strength": float(metric.effect(interval)) if len(sample) else 0.0,
        "counts": sample.counts() if is_counted else None,
        "estimate": metric.estimate_of(sample) if isinstance(metric, TableMetric) and len(sample) else np.nan,
    }


def _varies(column: Column, columns: People) -> bool:
    """Whether a column has more than one value; a constant numeric column of an engine has no thresholds."""
    if column.values is not None:
        return np.ptp(column.values) > 0
    if column.is_categorical:
        return np.count_nonzero(columns.table.tabulate([(column.key,)])[0]) > 1
    return len(columns.table.thresholds([column.key], 1)[0]) > 0


def _that_say_the_same(others: list[Column], output: Column, table: Table) -> list[str]:
    """Return the names of the columns that are equivalent to the output: each determines the other."""
    values = output.values
    coded = [each for each in others if each.is_categorical and output.is_categorical]
    found = (
        [] if values is None else [each for each in others if each not in coded and np.array_equal(each.values, values)]
    )
    coded = [each for each in coded if len(each.categories) == len(output.categories)]
    for each, pairs in zip(coded, table.tabulate([(each.key, output.key) for each in coded]), strict=True):
        if len({np.count_nonzero(some) for some in (pairs, pairs.any(axis=0), pairs.any(axis=1))}) == 1:
            found.append(each)
    return [each.name for each in found]
