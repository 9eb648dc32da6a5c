"""The guided decision tree (algorithm 1): subpopulations where output and sensitive feature are ever more associated.

The authors' code differs from the published algorithm, and the published numbers come from that code. Associations are
measured by the strength that an interval proves, not by plain estimates. A split must give some child a stronger
association than the *score* of the split above it. The score of a categorical split is reduced by the share of people
whose child is too small.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np
import pandas as pd

from fairlab.cases.tables import Code, Cut, InMemory, Split, Table
from fairlab.fairtest.metrics import AdditiveMetric, Metric
from fairlab.fairtest.sample import Column, Sample

AGGREGATIONS = ("avg", "weighted_avg", "max")
LARGEST_HALF = 2**52  # below it, floats can represent the midpoints between whole numbers
LARGE = 1e9  # numbers for which twelve digits are too few
MOST_CELLS = 2**20  # in the tables of nodes counted at once


@dataclass(frozen=True)
class Condition:
    """The condition of one edge of the tree on an attribute.

    Attributes
    ----------
    attribute : str
    category : str or None
        The attribute's value, if it is categorical.
    low, high : float
        Otherwise the value is above `low` and at most `high`.
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

    def in_words(self, values: pd.Series, named: Callable[[float], str] | None = None) -> str:
        """Return the condition in terms of the table: bounds of whole numbers are whole numbers that can occur.

        Other bounds have six digits, or as many more as keep each person of the table on the same side. `named` formats
        numbers that stand for something else, such as dates.
        """
        if self.category is not None:
            return f"{self.attribute} = {self.category}"
        low, high, known = self.low, self.high, values.dropna().to_numpy(dtype=float)
        is_whole = not (known % 1).any() and np.abs(known).max(initial=0) < LARGEST_HALF
        if is_whole:
            low, high = np.floor(low) + 1, np.floor(high)
        named = named or ("{:.0f}".format if is_whole else partial(_written, known))
        if is_whole and low == high:
            return f"{self.attribute} = {named(high)}"
        ends = {">=" if is_whole else ">": low, "<=": high}
        return " and ".join(f"{self.attribute} {sign} {named(end)}" for sign, end in ends.items() if np.isfinite(end))

    @property
    def kind(self) -> str:
        """The condition without its bounds, such as ``age >``: bounds differ between data sets."""
        if self.category is not None:
            return str(self)
        sides = [side for side, end in ((">", self.low), ("<", self.high)) if np.isfinite(end)]
        return " ".join([self.attribute, *sides])

    def __str__(self):
        if self.category is not None:
            return f"{self.attribute}: {self.category}"
        # Fewer digits would move people across an end.
        low, high = (f"{end:.12g}" if abs(end) < LARGE else repr(float(end)) for end in (self.low, self.high))
        upper = "" if np.isinf(self.high) else f" ≤ {high}"
        if np.isinf(self.low):
            return f"{self.attribute}{upper}"
        return f"{low} < {self.attribute}{upper}" if upper else f"{self.attribute} > {low}"


def _written(values: np.ndarray, end: float) -> str:
    """Return an end of a condition in six digits, or in as many more as leave each value on its side."""
    above = values > end
    texts = (f"{end:.{digits}g}" for digits in range(6, 18))
    return next(text for text in texts if np.array_equal(values > float(text), above))


@dataclass(eq=False)
class Node:
    """A subpopulation of the tree.

    Attributes
    ----------
    condition : Condition or None
        Distinguishes it from its parent; None for the root.
    effect : float
        Strength of the association in training.
    size : int
        Number of people in training.
    labels : tuple of str
        In a discovery, the labels most associated with the sensitive feature.
    parent : Node or None
    children : list of Node
    level : Split or None
        Key that numbers the nodes of its depth, from the left; None for the root.
    """

    condition: Condition | None
    effect: float
    size: int
    labels: tuple[str, ...] = ()
    parent: "Node | None" = field(default=None, repr=False)
    children: "list[Node]" = field(default_factory=list, repr=False)
    level: Split | None = field(default=None, repr=False)

    @property
    def ancestors(self) -> "list[Node]":
        """All nodes above, the nearest first."""
        return [] if self.parent is None else [self.parent, *self.parent.ancestors]

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions that define the subpopulation, one for each attribute, in the order of the path."""
        merged = {}
        for node in reversed([self, *self.ancestors[:-1]] if self.parent else []):
            new = node.condition
            old = merged.get(new.attribute, new)
            merged[new.attribute] = replace(new, low=max(old.low, new.low), high=min(old.high, new.high))
        return tuple(merged.values())

    def members(self, columns: Mapping[str, Column], rows: np.ndarray) -> np.ndarray:
        """Return the mask of the people in the subpopulation among some rows of complete columns."""
        held = np.ones(len(rows), dtype=bool)
        for condition in self.conditions:
            held &= condition.holds(columns[condition.attribute].take(rows))
        return held

    @property
    def is_context(self) -> bool:
        """Whether it is to be tested: the root is, and every node with an association in training."""
        return self.parent is None or self.effect > 0

    def walk(self) -> Iterator["Node"]:
        """Yield the node and all below it, depth first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def __str__(self):
        return ", ".join(map(str, self.conditions)) or "everyone"


def strongest(effects: Mapping[Node, float], *, ties: bool = True) -> list[Node]:
    """Return the nodes below the root whose effect is stronger than all of their ancestors', the strongest first.

    Parameters
    ----------
    effects : dict of Node to float
        Effects of all or some nodes of a tree; the effect of other nodes is taken to be 0.
    ties : bool
        Whether an effect may equal its strongest ancestor's.
    """

    def is_strong(node):
        around = max((effects.get(other, 0.0) for other in node.ancestors), default=np.inf)
        return effects[node] > 0 and (effects[node] > around or (ties and effects[node] == around))

    return sorted(filter(is_strong, effects), key=effects.get, reverse=True)


class BestSplit(NamedTuple):
    """The best admissible split of a node by one attribute: its score, its children, and which groups are in each."""

    attribute: Column
    score: float
    children: list[Node]
    codes: np.ndarray  # of each group the number of its child, -1 for none


class _Open(NamedTuple):
    """A node that may be split, with the score that the effect of a child must exceed, and the attributes to split by.

    The key of an attribute puts people into its groups: categories, or intervals of numbers.
    """

    node: Node
    bar: float
    attributes: list[Column]


@dataclass(frozen=True)
class GuidedTree:
    """Builds the tree of one investigation and one sensitive feature, level by level.

    With a metric of counts or sums, it needs no single rows: one pass over the data gives these for all nodes of a
    level and all attributes.

    Parameters
    ----------
    metric : Metric
    confidence_level : float
        Level of the intervals from which effects are taken.
    max_depth : int
        Maximum number of conditions on a path.
    min_leaf_size : int
        Minimum number of people in a subpopulation; for a conditional metric, in each of its non-empty strata.
    score_aggregation : {"avg", "weighted_avg", "max"}
        How the score of a split is computed from the children's effects.
    max_bins : int
        Maximum number of thresholds tried for a continuous attribute.
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
            Where the keys of all columns are counted; None if the columns themselves hold all values.
        """
        if table is None:
            sample, columns, table = _numbered(sample, columns)
        metric, numbers = self.metric, [column.key for column in columns if not column.is_categorical]
        cuts = dict(zip(numbers, table.thresholds(numbers, self.max_bins) if numbers else [], strict=True))
        attributes = [
            each if each.is_categorical else replace(each, key=Cut(each.key, tuple(cuts[each.key].tolist())))
            for each in columns
        ]
        if metric.by_sums:
            keys = metric.keys(sample, table)
            split_up = partial(self._count, sample, table, keys)
            sample = _counted(metric, [sample], [keys], [(None, [None])], table)[0][None]
        else:
            split_up = partial(self._take, sample, table)
        effect = float(metric.effect(metric.approximate(sample, confidence_level=self.confidence_level)))
        root, level = Node(None, effect, len(sample)), None
        opened = [_Open(root, 0.0, attributes)]
        for _ in range(self.max_depth):
            branches, below = [], []
            for each, found in zip(opened, split_up(level, opened), strict=True):
                split, left = self._best_split(each, found)
                if split is None:
                    branches.append(None)
                    continue
                codes = np.where(split.codes < 0, -1, split.codes + len(below))
                branches.append((split.attribute.key, tuple(codes.tolist())))
                each.node.children = split.children
                below += [_Open(child, split.score, left) for child in split.children]
            if not below:
                break
            level, opened = Split(level, tuple(branches), len(below)), below
            for each in opened:
                each.node.level = level
        return root

    def _count(self, sample: Sample, table: Table, keys: tuple, level: Split | None, opened: list[_Open]) -> Iterator:
        """Yield for each node the children of splits by its attributes, from counts; see `Metric.children`."""
        by_key = list(dict.fromkeys(attribute.key for each in opened for attribute in each.attributes))
        shape, most_groups = _shape(sample, keys), max((key.size for key in by_key), default=1)
        for piece, some in _pieces(level, opened, max(1, MOST_CELLS // prod(shape) // most_groups)):
            given = () if piece is None else (piece,)
            counted = table.tabulate([(key, *given, *keys) for key in by_key])
            statistics = {
                key: self.metric.from_counts(each.reshape(key.size, len(some), *shape))
                for key, each in zip(by_key, counted, strict=True)
            }
            for place, each in enumerate(some):
                yield [
                    self.metric.children_of(
                        np.ascontiguousarray(statistics[attribute.key][:, place]),
                        ordered=not attribute.is_categorical,
                        confidence_level=self.confidence_level,
                    )
                    for attribute in each.attributes
                ]

    def _take(self, sample: Sample, table: InMemory, level: Split | None, opened: list[_Open]) -> Iterator:
        """Yield for each node the children of splits by its attributes, from its people in memory."""
        codes = np.zeros(len(sample), dtype=np.intp) if level is None else table.codes(level)
        order = np.argsort(codes, kind="stable")  # once, however many nodes there are
        ends = np.searchsorted(codes[order], np.arange(len(opened) + 1)).tolist()
        for each, (start, end) in zip(opened, pairwise(ends), strict=True):
            rows = order[start:end]
            here = sample.take(rows)
            yield [
                self.metric.children(
                    here,
                    table.codes(attribute.key)[rows],
                    attribute.key.size,
                    ordered=not attribute.is_categorical,
                    confidence_level=self.confidence_level,
                )
                for attribute in each.attributes
            ]

    def _best_split(self, opened: _Open, found: list) -> tuple[BestSplit | None, list[Column]]:
        """Return the best split of a node, if there is one, and the attributes that may split its children.

        `found` has, for each attribute of the node, the children that a split by it would make.
        """
        splits = [
            self._admissible(opened.node, attribute, *children)
            for attribute, children in zip(opened.attributes, found, strict=True)
        ]
        admissible = [split for split in splits if split is not None]
        # The bar is the score of the split above, not the node's own effect.
        valid = [split for split in admissible if max(child.effect for child in split.children) > opened.bar]
        if not valid:
            return None, []
        best = max(valid, key=lambda split: split.score)
        # An attribute that admits no split here admits none further down; a categorical one is not used again.
        left = [each.attribute for each in admissible if each is not best or not each.attribute.is_categorical]
        return best, left

    def _admissible(self, parent: Node, attribute: Column, effect, size, smallest_stratum) -> BestSplit | None:
        """Return the best split by an attribute that makes large enough children, if there is one."""
        name, ordered = attribute.name, not attribute.is_categorical
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
            conditions = [Condition(name, category=attribute.categories[code]) for code in kept]
            codes[kept] = np.arange(len(kept))
        about = zip(conditions, effects.tolist(), sizes.tolist(), strict=True)
        return BestSplit(attribute, float(score), [Node(*each, parent=parent) for each in about], codes)

    def _aggregate(self, effects, sizes):
        if self.score_aggregation == "max":
            return effects.max(axis=-1)
        return np.average(effects, axis=-1, weights=sizes if self.score_aggregation == "weighted_avg" else None)


def _pieces(parts: Split | None, nodes: list, most: int) -> Iterator[tuple[Split | None, list]]:
    """Yield at most `most` nodes at a time, with the key that distinguishes them."""
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


def count_nodes(root: Node, metric: AdditiveMetric, samples: list[Sample], table: Table) -> list[dict[Node, Sample]]:
    """Return the people of each node of a tree in another table, as samples of counts or sums.

    Parameters
    ----------
    root : Node
    metric : AdditiveMetric
        One that is `by_sums`.
    samples : list of Sample
        The columns that are counted, of everyone.
    table : Table
        With the columns that the tree splits by.
    """
    keys = [metric.keys(sample, table) for sample in samples]
    n_cells = sum(prod(key.size for key in some) for some in keys)
    levels: dict[int, list[Node]] = {}
    for node in root.walk():
        levels.setdefault(len(node.ancestors), []).append(node)
    most = max(1, MOST_CELLS // n_cells)
    pieces = [piece for nodes in levels.values() for piece in _pieces(nodes[0].level, nodes, most)]
    at_once = sum(len(some) for _, some in pieces) * n_cells <= MOST_CELLS
    members: list[dict] = [{} for _ in samples]
    for several in [pieces] if at_once else [[piece] for piece in pieces]:
        for known, found in zip(members, _counted(metric, samples, keys, several, table), strict=True):
            known |= found
    return members


def _counted(metric: AdditiveMetric, samples: list[Sample], keys: list, pieces: list, table: Table) -> list[dict]:
    """Return, for each sample and its keys, the samples of several nodes, given as pieces of a tree."""
    given = [() if parts is None else (parts,) for parts, _ in pieces]
    counted = iter(table.tabulate([(*part, *own) for own in keys for part in given]))
    nodes, members = [node for _, some in pieces for node in some], []
    for sample, own in zip(samples, keys, strict=True):
        shaped = [next(counted).reshape(len(some), *_shape(sample, own)) for _, some in pieces]
        tables = np.concatenate(metric.completed(sample, table, own, [parts for parts, _ in pieces], shaped))
        members.append(dict(zip(nodes, map(sample.counted, tables), strict=True)))
    return members


def _shape(sample: Sample, keys: tuple) -> list[int]:
    """Return the shape of one node's counts by the keys of a metric; the first axis is of strata."""
    return [1] * (sample.explanatory is None) + [key.size for key in keys]


def _numbered(sample: Sample, columns: list[Column]) -> tuple[Sample, list[Column], InMemory]:
    """Return a sample and columns with unique keys, and a table of the columns: their names may coincide."""
    known: dict[int, Column] = {}

    def own(column):
        if not isinstance(column, Column):
            return column
        key = len(known)
        known[key] = column
        return replace(column, key=Code(key, len(column.categories)) if column.is_categorical else key)

    parts = {name: own(getattr(sample, name)) for name in ("sensitive_features", "output", "explanatory")}
    return replace(sample, **parts), [own(column) for column in columns], InMemory(known)
