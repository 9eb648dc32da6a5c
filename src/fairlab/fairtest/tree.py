"""The guided decision tree (algorithm 1): subpopulations where output and sensitive feature are ever more associated.

The authors' code differs from the printed algorithm, and is what the published numbers come from. Associations are
those that an interval proves, not plain estimates. A split must give some child a stronger association than the
*score* of the split above it. The score of a categorical split is reduced by the share of people whose child is too
small.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np
import pandas as pd

from fairlab.fairtest.metrics import AdditiveMetric, Metric
from fairlab.fairtest.sample import Column, Sample
from fairlab.tables import Code, Cut, InMemory, Split, Table

AGGREGATIONS = ("avg", "weighted_avg", "max")
MOST_CELLS = 2**20  # of the tables of nodes that are counted at once, for each group of an attribute


@dataclass(frozen=True)
class Condition:
    """What one edge of the tree says of an attribute.

    Attributes
    ----------
    attribute : str
    category : str or None
        The attribute's value, if it is categorical.
    low, high : float
        Otherwise it lies above `low` and not above `high`.
    """

    attribute: str
    category: str | None = None
    low: float = -np.inf
    high: float = np.inf

    def holds(self, column: Column) -> np.ndarray:
        """Return the mask of the people for whom the condition holds."""
        if self.category is not None:
            return column.values == column.categories.index(self.category)
        return (column.values > self.low) & (column.values <= self.high)

    def in_words(self, values: pd.Series) -> str:
        """Return the condition as a reader of the table has it: a whole number is named by those that can occur."""
        if self.category is not None:
            return f"{self.attribute} = {self.category}"
        low, high = self.low, self.high
        if (values.dropna().to_numpy(dtype=float) % 1).any():
            bounds = [f"> {low:.6g}", f"<= {high:.6g}"]
        elif np.floor(low) + 1 == np.floor(high):
            return f"{self.attribute} = {np.floor(high):.0f}"
        else:
            bounds = [f">= {np.floor(low) + 1:.0f}", f"<= {np.floor(high):.0f}"]
        finite = zip(bounds, np.isfinite([low, high]), strict=True)
        return " and ".join(f"{self.attribute} {bound}" for bound, is_finite in finite if is_finite)

    @property
    def kind(self) -> str:
        """The condition without its bounds, such as ``age >``: in other data they lie elsewhere."""
        if self.category is not None:
            return str(self)
        sides = [side for side, end in ((">", self.low), ("<", self.high)) if np.isfinite(end)]
        return " ".join([self.attribute, *sides])

    def __str__(self):
        if self.category is not None:
            return f"{self.attribute}: {self.category}"
        upper = "" if np.isinf(self.high) else f" ≤ {self.high:g}"
        if np.isinf(self.low):
            return f"{self.attribute}{upper}"
        return f"{self.low:g} < {self.attribute}{upper}" if upper else f"{self.attribute} > {self.low:g}"


@dataclass(eq=False)
class Node:
    """A subpopulation of the tree.

    Attributes
    ----------
    condition : Condition or None
        What tells it from its parent; None for the root.
    effect : float
        Strength of the association in training.
    size : int
        Number of people in training.
    labels : tuple of str
        In a discovery, the labels most associated with the sensitive feature.
    parent : Node or None
    children : list of Node
    """

    condition: Condition | None
    effect: float
    size: int
    labels: tuple[str, ...] = ()
    parent: "Node | None" = field(default=None, repr=False)
    children: "list[Node]" = field(default_factory=list, repr=False)

    @property
    def ancestors(self) -> "list[Node]":
        """All nodes above, the nearest first."""
        return [] if self.parent is None else [self.parent, *self.parent.ancestors]

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All that defines the subpopulation, one condition for each attribute, in the order of the path."""
        merged = {}
        for node in reversed([self, *self.ancestors[:-1]] if self.parent else []):
            new = node.condition
            old = merged.get(new.attribute, new)
            merged[new.attribute] = replace(new, low=max(old.low, new.low), high=min(old.high, new.high))
        return tuple(merged.values())

    def members(self, columns: Mapping[str, Column], rows: np.ndarray) -> np.ndarray:
        """Return the mask of the people in the subpopulation, of those in some rows of whole columns."""
        held = np.ones(len(rows), dtype=bool)
        for condition in self.conditions:
            held &= condition.holds(columns[condition.attribute].take(rows))
        return held

    @property
    def is_context(self) -> bool:
        """Whether it is to be tested: the root is, and what has an association in training."""
        return self.parent is None or self.effect > 0

    def walk(self) -> Iterator["Node"]:
        """Yield the node and all below it, depth first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def __str__(self):
        return ", ".join(map(str, self.conditions)) or "everyone"


def strongest(effects: Mapping[Node, float], *, ties: bool = True) -> list[Node]:
    """Return the nodes below the root with an effect that is stronger than all around them, the strongest first.

    Parameters
    ----------
    effects : dict of Node to float
        Of a tree, or of a part of it: other nodes count as without effect.
    ties : bool
        Whether an effect may equal the strongest around it.
    """

    def is_strong(node):
        around = max((effects.get(other, 0.0) for other in node.ancestors), default=np.inf)
        return effects[node] > 0 and (effects[node] > around or (ties and effects[node] == around))

    return sorted(filter(is_strong, effects), key=effects.get, reverse=True)


class Attribute(NamedTuple):
    """A context attribute, with the key that puts people into its groups: categories, or intervals of numbers."""

    column: Column
    key: Code | Cut

    @property
    def is_ordered(self) -> bool:
        """Whether the groups are intervals."""
        return not self.column.is_categorical


class BestSplit(NamedTuple):
    """The best admissible split of a node by one attribute: its score, its children, and which groups are in each."""

    attribute: Attribute
    score: float
    children: list[tuple[Condition, float, int]]  # with their effect and size
    codes: np.ndarray  # of each group the number of its child, -1 for none
    left: list[Attribute] = ()  # what the children may be split by


class _Open(NamedTuple):
    """A node that may be split, with the score that a child must exceed, and the attributes that may do it."""

    node: Node
    bar: float
    attributes: list[Attribute]


@dataclass(frozen=True)
class GuidedTree:
    """Builds the tree of one investigation and one sensitive feature, level by level.

    Of a metric of counts or sums it needs no people: it takes these for all nodes of a level and all attributes in one
    pass over the data.

    Parameters
    ----------
    metric : Metric
    confidence_level : float
        Of the intervals that effects are taken from.
    max_depth : int
        Most conditions on a path.
    min_leaf_size : int
        Fewest people in a subpopulation; for a conditional metric, in each of its strata that occurs.
    score_aggregation : {"avg", "weighted_avg", "max"}
        How the children's effects make the score of a split.
    max_bins : int
        Number of thresholds that are tried for a continuous attribute, at most.
    """

    metric: Metric
    confidence_level: float
    max_depth: int
    min_leaf_size: int
    score_aggregation: str
    max_bins: int

    def grow(self, sample: Sample, columns: list[Column], table: Table | None = None) -> Node:
        """Return the root of the tree of a sample, with the context attributes in `columns`.

        Parameters
        ----------
        sample : Sample
        columns : list of Column
        table : Table or None
            Where the keys of all columns are counted; None if the columns themselves have everybody's values.
        """
        if table is None:
            sample, columns, table = _numbered(sample, columns)
        numbers = [column.key for column in columns if not column.is_categorical]
        cuts = dict(zip(numbers, table.thresholds(numbers, self.max_bins) if numbers else [], strict=True))
        attributes = [
            Attribute(each, each.key if each.is_categorical else Cut(each.key, tuple(cuts[each.key].tolist())))
            for each in columns
        ]
        people = (_Counted if self.metric.by_sums else _People)(self, sample, table)
        if isinstance(people, _Counted):
            sample = _counted(self.metric, [sample], [people.keys], [(None, [None])], table)[0][None]
        effect = float(self.metric.effect(self.metric.approximate(sample, confidence_level=self.confidence_level)))
        root = Node(None, effect, len(sample), self.metric.labels(sample, confidence_level=self.confidence_level))
        parts, level = None, [_Open(root, 0.0, attributes)]
        for _ in range(self.max_depth):
            splits = [self._best_of(*each) for each in zip(level, people.children(parts, level), strict=True)]
            branches, below = [], []
            for opened, split in zip(level, splits, strict=True):
                codes = () if split is None else np.where(split.codes < 0, -1, split.codes + len(below)).tolist()
                branches.append(split and (split.attribute.key, tuple(codes)))
                below += [] if split is None else _children(opened.node, split)
            if not below:
                break
            parts, level = Split(parts, tuple(branches), len(below)), below
            people.label(parts, [opened.node for opened in level])
        return root

    def _best_of(self, opened: _Open, found) -> BestSplit | None:
        """Return the best split of a node, from what each of its attributes would make of it, if there is one."""
        splits = [self._admissible(attribute, *children) for attribute, children in found]
        admissible = [split for split in splits if split is not None]
        # The bar is the score of the split above, not the node's own effect.
        valid = [split for split in admissible if max(effect for _, effect, _ in split.children) > opened.bar]
        if not valid:
            return None
        best = max(valid, key=lambda split: split.score)
        # Where an attribute admits no split, it admits none further down; a category is not split again.
        left = [each.attribute for each in admissible if each is not best or each.attribute.is_ordered]
        return best._replace(left=left)

    def _admissible(self, attribute: Attribute, effect, size, smallest_stratum) -> BestSplit | None:
        """Return the best split by an attribute that makes large enough children, if there is one."""
        name, ordered = attribute.column.name, attribute.is_ordered
        large = smallest_stratum >= self.min_leaf_size
        kept = np.flatnonzero(large.all(axis=1) if ordered else large)
        if len(kept) < (1 if ordered else 2):
            return None
        scores = self._aggregate(effect[kept], size[kept])
        codes = np.full(attribute.key.size, -1)
        if ordered:
            best = kept[int(np.argmax(scores))]
            score, effects, sizes, threshold = scores.max(), effect[best], size[best], attribute.key.thresholds[best]
            conditions = [Condition(name, high=threshold), Condition(name, low=threshold)]
            codes[:] = np.arange(len(codes)) > best
        else:
            score, effects, sizes = scores * (size[kept].sum() / size.sum()), effect[kept], size[kept]
            conditions = [Condition(name, category=attribute.column.categories[code]) for code in kept]
            codes[kept] = np.arange(len(kept))
        children = list(zip(conditions, effects.tolist(), sizes.tolist(), strict=True))
        return BestSplit(attribute, float(score), children, codes)

    def _aggregate(self, effects, sizes):
        if self.score_aggregation == "max":
            return effects.max(axis=-1)
        return np.average(effects, axis=-1, weights=sizes if self.score_aggregation == "weighted_avg" else None)


class _Counted:
    """What splits would make of nodes, from counts."""

    def __init__(self, tree: GuidedTree, sample: Sample, table: Table):
        self._table, self._from_counts = table, tree.metric.from_counts
        self.keys = tree.metric.keys(sample, table)
        self._shape = _shape(sample, self.keys)
        self._children = partial(tree.metric.children_of, confidence_level=tree.confidence_level)
        self._most_nodes = max(1, MOST_CELLS // prod(self._shape))

    def children(self, parts: Split | None, opened: list[_Open]) -> Iterator[list]:
        """Yield for each node its attributes, with the children that splits by them would make."""
        keys = list(dict.fromkeys(attribute.key for each in opened for attribute in each.attributes))
        for piece, some in _pieces(parts, opened, self._most_nodes):
            given = () if piece is None else (piece,)
            counted = self._table.tabulate([(key, *given, *self.keys) for key in keys])
            tables = {
                key: self._from_counts(each.reshape(key.size, len(some), *self._shape))
                for key, each in zip(keys, counted, strict=True)
            }
            for place, each in enumerate(some):
                yield [
                    (one, self._children(np.ascontiguousarray(tables[one.key][:, place]), ordered=one.is_ordered))
                    for one in each.attributes
                ]

    def label(self, parts: Split, nodes: list[Node]) -> None:
        """Metrics of tables have no labels."""


class _People:
    """What splits would make of nodes, from their people in memory."""

    def __init__(self, tree: GuidedTree, sample: Sample, table: InMemory):
        self._metric, self._level, self._sample, self._table = tree.metric, tree.confidence_level, sample, table

    def children(self, parts: Split | None, opened: list[_Open]) -> Iterator[list]:
        """Yield for each node its attributes, with the children that splits by them would make."""
        for each, (rows, here) in zip(opened, self._members(parts, len(opened)), strict=True):
            yield [
                (
                    one,
                    self._metric.children(
                        here,
                        self._table.codes(one.key)[rows],
                        one.key.size,
                        ordered=one.is_ordered,
                        confidence_level=self._level,
                    ),
                )
                for one in each.attributes
            ]

    def label(self, parts: Split, nodes: list[Node]) -> None:
        """Set the labels of nodes, if the metric chooses some."""
        if type(self._metric).labels is not Metric.labels:
            for node, (_, here) in zip(nodes, self._members(parts, len(nodes)), strict=True):
                node.labels = self._metric.labels(here, confidence_level=self._level)

    def _members(self, parts, n_parts) -> Iterator[tuple[np.ndarray, Sample]]:
        """Yield the people of each part, by their rows and as a sample."""
        codes = np.zeros(len(self._sample), dtype=np.intp) if parts is None else self._table.codes(parts)
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(n_parts + 1))
        for start, end in pairwise(ends.tolist()):
            yield order[start:end], self._sample.take(order[start:end])


def _children(parent: Node, split: BestSplit) -> list[_Open]:
    """Return the children of a node that was split, which may be split themselves."""
    parent.children += [Node(condition, effect, size, (), parent) for condition, effect, size in split.children]
    return [_Open(child, split.score, split.left) for child in parent.children]


def _pieces(parts: Split | None, nodes: list, most: int) -> Iterator[tuple[Split | None, list]]:
    """Yield at most so many nodes at a time, with the key that tells them apart."""
    if len(nodes) <= most:
        yield parts, nodes
        return
    for start in range(0, len(nodes), most):
        some = nodes[start : start + most]
        branches = tuple(
            branch and (branch[0], tuple(code - start if 0 <= code - start < len(some) else -1 for code in branch[1]))
            for branch in parts.branches
        )
        yield Split(parts.parent, branches, len(some)), some


def count_nodes(
    root: Node, metric: AdditiveMetric, samples: list[Sample], columns: Mapping[str, Column], table: Table
) -> list[dict[Node, Sample]]:
    """Return the people of each node of a tree in another table, as samples of counts or sums.

    Parameters
    ----------
    root : Node
    metric : AdditiveMetric
        One that is `by_sums`.
    samples : list of Sample
        The columns that are counted, of everyone.
    columns : dict of str to Column
        Of the attributes that the tree splits by.
    table : Table
    """
    keys = [metric.keys(sample, table) for sample in samples]
    n_cells = sum(prod(key.size for key in some) for some in keys)
    ends: dict[str, set] = {}
    for node in root.walk():
        if node.condition and node.condition.category is None:
            ends.setdefault(node.condition.attribute, set()).update((node.condition.low, node.condition.high))
    cuts = {name: Cut(columns[name].key, tuple(sorted(filter(np.isfinite, some)))) for name, some in ends.items()}
    parts, nodes, pieces = None, [root], []
    while nodes:
        pieces += _pieces(parts, nodes, max(1, MOST_CELLS // n_cells))
        branches, below = [], []
        for node in nodes:
            branches.append(_branch(node.children, len(below), columns, cuts))
            below += node.children
        parts, nodes = Split(parts, tuple(branches), len(below)), below
    at_once = sum(len(some) for _, some in pieces) * n_cells <= MOST_CELLS
    members: list[dict] = [{} for _ in samples]
    for several in [pieces] if at_once else [[piece] for piece in pieces]:
        for known, found in zip(members, _counted(metric, samples, keys, several, table), strict=True):
            known |= found
    return members


def _counted(metric: AdditiveMetric, samples: list[Sample], keys: list, pieces: list, table: Table) -> list[dict]:
    """Return, for each sample and its keys, those of the people of several nodes, given as pieces of a tree."""
    given = [() if parts is None else (parts,) for parts, _ in pieces]
    counted = iter(table.tabulate([(*part, *own) for own in keys for part in given]))
    nodes, members = [node for _, some in pieces for node in some], []
    for sample, own in zip(samples, keys, strict=True):
        shaped = [next(counted).reshape(len(some), *_shape(sample, own)) for _, some in pieces]
        tables = np.concatenate(metric.completed(sample, table, own, [parts for parts, _ in pieces], shaped))
        members.append(dict(zip(nodes, map(sample.counted, tables), strict=True)))
    return members


def _shape(sample: Sample, keys: tuple) -> list[int]:
    """Return the shape of what is counted by the keys of a metric, of one node; the first axis is of strata."""
    return [1] * (sample.explanatory is None) + [key.size for key in keys]


def _branch(children: list[Node], first: int, columns, cuts) -> tuple | None:
    """Return the key that tells children apart, with the number of each, the first of which is given."""
    if not children:
        return None
    conditions = [child.condition for child in children]
    name = conditions[0].attribute
    if conditions[0].category is None:
        key, end = cuts[name], conditions[0].high
        return key, tuple(first + (place > key.thresholds.index(end)) for place in range(key.size))
    numbers = {condition.category: first + place for place, condition in enumerate(conditions)}
    return columns[name].key, tuple(numbers.get(category, -1) for category in columns[name].categories)


def _numbered(sample: Sample, columns: list[Column]) -> tuple[Sample, list[Column], InMemory]:
    """Return a sample and columns with keys of their own, and the table of these: their names may be alike."""
    known: dict[int, Column] = {}

    def own(column):
        if not isinstance(column, Column):
            return column
        key = len(known)
        known[key] = column
        return replace(column, key=Code(key, len(column.categories)) if column.is_categorical else key)

    parts = {name: own(getattr(sample, name)) for name in ("sensitive_features", "output", "explanatory")}
    return replace(sample, **parts), [own(column) for column in columns], InMemory(known)
