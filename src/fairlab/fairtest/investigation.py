"""What all investigations (section 4.5) have in common: what is looked for, where, and what was found."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from copy import copy

import numpy as np

from fairlab.fairtest.arguments import check_whole, column_names
from fairlab.fairtest.correction import bonferroni_confidence, holm
from fairlab.fairtest.correlation import Correlation
from fairlab.fairtest.finding import Association, Finding
from fairlab.fairtest.metric import Interval, Metric
from fairlab.fairtest.sample import Column, Sample
from fairlab.fairtest.source import DataSource
from fairlab.fairtest.tables import NMI, Difference
from fairlab.fairtest.tree import GuidedTree, Node

MOST_CATEGORIES = 100


class Investigation(ABC):
    """What the three kinds have in common: `Testing`, `Discovery` and `ErrorProfiling`.

    Attributes
    ----------
    metric : dict of str to Metric
        The metric for each protected attribute.
    context : list of str
        The context attributes; a protected one makes no contexts for itself.
    trees_ : dict of str to Node
        After `grow_trees`: the root of each protected attribute's tree.
    findings_ : dict of str to list of Finding
        After `fairlab.fairtest.validate_contexts`: for each protected attribute, the tests of its contexts, the
        root's first.
    """

    def __init__(self, source, protected, outputs, *, explanatory, context, metric, random_state):
        if not isinstance(source, DataSource):
            raise TypeError(f"source: expected a DataSource, found {type(source).__name__}")
        self.source = source
        self.protected = column_names(protected, "protected")
        self.outputs = column_names(outputs, "output")
        check_whole("random_state", random_state, least=0)
        self.random_state = random_state
        taken = [*self.outputs, *column_names(explanatory, "explanatory")]
        self.context = (
            [name for name in source.names if name not in taken]
            if context is None
            else column_names(context, "context")
        )
        self._explain(explanatory, metric)

    @abstractmethod
    def output(self, columns: Mapping[str, Column]) -> Column | tuple[Column, ...]:
        """Return what is tested for associations, from the columns of a training or test set."""

    def sample(self, columns: Mapping[str, Column], protected: str) -> Sample:
        """Return what a metric looks at, from the columns of a training or test set."""
        explanatory = None if self.explanatory is None else columns[self.explanatory]
        return Sample(columns[protected], self.output(columns), explanatory)

    def default_metric(self, sample: Sample) -> Metric:
        """Return the metric that suits the columns (section 4.2)."""
        sides = (sample.protected, sample.output)
        if not all(column.is_categorical for column in sides):
            metric = Correlation(reading=self.source.reading)
        elif sample.explanatory and all(column.is_binary for column in sides):
            metric = Difference(reading=self.source.reading)
        else:
            metric = NMI(reading=self.source.reading)
        return metric

    def contexts(self, protected: str) -> list[Node]:
        """Return the contexts found for a protected attribute, the root first."""
        if not hasattr(self, "trees_"):
            raise ValueError("the investigation has no contexts yet: call find_contexts first")
        return [node for node in self.trees_[protected].walk() if node.is_context]

    def grow_trees(self, **parameters) -> None:
        """Find the contexts of every protected attribute in the training set, with the parameters of `GuidedTree`."""
        columns = self._training_columns()
        trees = {}
        for name in self.protected:
            context = [columns[attribute] for attribute in self.context if attribute != name]
            tree = GuidedTree(self.metric[name], self.source.conf_, **parameters)
            trees[name] = tree.grow(self.sample(columns, name), context)
        self.trees_ = trees

    def tests_on(self, columns: Mapping[str, Column], *, conf: float, exact: bool) -> dict[str, list[Finding]]:
        """Test the contexts among some people who had no part in finding them.

        Parameters
        ----------
        columns : dict of str to Column
            Of a test set.
        conf : float
            Confidence of all intervals together.
        exact : bool
            Whether small samples are tested by resampling.

        Returns
        -------
        dict of str to list of Finding
            For each protected attribute, the root's first.
        """
        populations = [
            (name, node, sample) for name in self.protected for node, sample in self._populations(name, columns)
        ]
        hypotheses = [self.metric[name].hypotheses(sample, node.labels) for name, node, sample in populations]
        level = bonferroni_confidence(conf, sum(map(len, hypotheses)))
        intervals = [interval for several in hypotheses for interval in self._intervals(several, level, exact)]
        p_values = iter(holm([interval.p_value for interval in intervals]))
        intervals = iter(intervals)
        findings = {name: [] for name in self.protected}
        for (name, node, sample), several in zip(populations, hypotheses, strict=True):
            tests = tuple(_association(h, next(intervals), next(p_values)) for h in several)
            findings[name].append(Finding(node, sample, tests))
        return findings

    def with_explanatory(self, explanatory: str, *, metric: Metric | Mapping[str, Metric] | None = None):
        """Return an investigation of the same contexts with an explanatory attribute (section 4.6).

        `fairlab.fairtest.validate_contexts` tests them on a new test set, so that the source needs a budget of at
        least 2.

        Parameters
        ----------
        explanatory : str
            Name of a categorical attribute.
        metric : Metric, dict or None
            None for the conditional version of the metric that was asked for at first, or else of the default one.

        Raises
        ------
        ValueError
            If there are no contexts yet, the attribute cannot be used, or a metric has no conditional version.
        """
        self.contexts(self.protected[0])  # raises if there are none yet
        other = copy(self)
        other.__dict__.pop("findings_", None)
        other.context = [name for name in self.context if name != explanatory]
        other._explain(explanatory, self._asked_metric if metric is None else metric)
        return other

    def _explain(self, explanatory, metric) -> None:
        """Set explanatory attribute and metrics, after checking that all columns suit their roles."""
        names = column_names(explanatory, "explanatory")
        if len(names) > 1:
            raise ValueError(f"explanatory: expected one column, found {', '.join(names)}")
        self.explanatory, self._asked_metric = (names or [None])[0], metric
        self._check_roles()
        columns = self._training_columns()
        self._check_columns(columns)
        self.metric = self._metrics(columns, metric)

    def _populations(self, protected, columns) -> Iterator[tuple[Node, Sample]]:
        """Yield the contexts with their people among the rows of `columns`."""
        everyone = self.sample(columns, protected)

        def descend(node, rows):
            if node.is_context:
                yield node, everyone.take(rows)
            for child in node.children:
                members = child.condition.holds(columns[child.condition.attribute].take(rows))
                yield from descend(child, rows[members])

        yield from descend(self.trees_[protected], np.arange(len(everyone)))

    def _intervals(self, hypotheses, conf, exact) -> list[Interval]:
        """Test the hypotheses of one context; its random numbers depend on no other context."""
        rng = np.random.default_rng(self.random_state)
        return [_interval(hypothesis, conf, rng if exact else None) for hypothesis in hypotheses]

    @property
    def _explanatory_names(self) -> list[str]:
        return [] if self.explanatory is None else [self.explanatory]

    @property
    def columns(self) -> list[str]:
        """Names of all columns that are looked at."""
        return list(dict.fromkeys([*self.protected, *self.outputs, *self._explanatory_names, *self.context]))

    def _training_columns(self) -> dict[str, Column]:
        return self.source.training_set(self.columns)

    def _metrics(self, columns, metric) -> dict[str, Metric]:
        if isinstance(metric, Mapping):
            if unknown := [name for name in metric if name not in self.protected]:
                known = ", ".join(self.protected)
                raise ValueError(f"metric: no protected attribute {unknown[0]!r}; there are {known}")
            given = metric
        else:
            given = dict.fromkeys(self.protected, metric)
        metrics = {}
        for name in self.protected:
            sample = self.sample(columns, name)
            plain = given.get(name) or self.default_metric(sample)
            if not isinstance(plain, Metric):
                raise TypeError(f"metric: expected a Metric such as NMI() or Difference(), found {plain!r}")
            metrics[name] = plain if self.explanatory is None else plain.conditional()
            metrics[name].check(sample)
        return metrics

    def _check_names(self, names, argument) -> None:
        if unknown := [name for name in names if name not in self.source.names]:
            raise ValueError(f"{argument}: no column {unknown[0]!r}; there are {', '.join(self.source.names)}")

    def _check_roles(self) -> None:
        if not self.protected:
            raise ValueError("protected: expected at least one attribute, found none")
        if not self.outputs:
            raise ValueError("output: expected a column, found none")
        explanatory = self._explanatory_names
        roles = {"protected": self.protected, "output": self.outputs, "explanatory": explanatory}
        for argument, names in [*roles.items(), ("context", self.context)]:
            self._check_names(names, argument)
            if doubled := [name for name in names if names.count(name) > 1]:
                raise ValueError(f"{argument}: {doubled[0]!r} is named twice")
        for first, second in (("protected", "output"), ("protected", "explanatory"), ("output", "explanatory")):
            if both := set(roles[first]) & set(roles[second]):
                raise ValueError(f"{both.pop()!r} is both {first} and {second}; expected one of the two")
        if both := set(self.context) & {*self.outputs, *explanatory}:
            raise ValueError(f"context: {both.pop()!r} is an output or the explanatory attribute; leave it out")

    def _check_columns(self, columns) -> None:
        output = self.output(columns)
        single = [output] if isinstance(output, Column) else []
        explanatory = [columns[name] for name in self._explanatory_names]
        for argument, members in (
            ("protected", [columns[name] for name in self.protected]),
            ("output", single),
            ("explanatory", explanatory),
        ):
            for column in members:
                if column.is_categorical and len(column.categories) > MOST_CATEGORIES:
                    raise ValueError(
                        f"{argument}: column {column.name!r} has {len(column.categories)} categories, expected at most "
                        f"{MOST_CATEGORIES}; group them"
                    )
                if np.ptp(column.values) == 0 and argument != "explanatory":
                    raise ValueError(f"{argument}: column {column.name!r} has one value in the training set")
        if not single and all(np.ptp(label.values) == 0 for label in output):
            raise ValueError(f"output: each of {len(output)} labels has one value in the training set")
        for column in explanatory:
            if not column.is_categorical:
                raise ValueError(f"explanatory: column {column.name!r} holds numbers; cut them into categories first")
        for name in set(self.context) - set(self.protected) if single else ():
            if _says_the_same(columns[name], output):
                raise ValueError(f"context: column {name!r} says the same as the output {output.name!r}; leave it out")


def _interval(hypothesis, conf, rng) -> Interval:
    """Test one hypothesis, by approximation if there is no generator."""
    metric, sample = hypothesis.metric, hypothesis.sample
    if len(sample) == 0:
        return Interval(np.nan, np.nan, 1.0)
    return metric.approximate(sample, conf=conf) if rng is None else metric.exact(sample, conf=conf, rng=rng)


def _association(hypothesis, interval, p_value) -> Association:
    return Association(hypothesis, float(interval.low), float(interval.high), float(p_value), float(interval.p_value))


def _says_the_same(column: Column, output: Column) -> bool:
    """Whether two columns determine each other."""
    if not (column.is_categorical and output.is_categorical):
        return np.array_equal(column.values, output.values)
    if len(column.categories) != len(output.categories):
        return False
    pairs = np.bincount(column.values * len(output.categories) + output.values)
    return np.count_nonzero(pairs) == len(np.unique(output.values)) == len(np.unique(column.values))


def as_list(investigations) -> list[Investigation]:
    """Return one or several investigations as a list; raise a ValueError if there is none."""
    several = list(investigations) if isinstance(investigations, Iterable) else [investigations]
    for one in several:
        if not isinstance(one, Investigation):
            raise TypeError(f"investigations: expected Testing, Discovery or ErrorProfiling, found {one!r}")
    if not several:
        raise ValueError("investigations: expected at least one, found none")
    return several
