"""The guided decision tree (algorithm 1): subpopulations where output and sensitive feature are ever more associated.

The authors' code differs from the printed algorithm, and is what the published numbers come from. Associations are
those that an interval proves, not plain estimates. A split must give some child a stronger association than the
*score* of the split above it. The score of a categorical split is reduced by the share of people whose child is too
small.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from fairlab.fairtest.metrics import Metric
from fairlab.fairtest.sample import Column, Sample

AGGREGATIONS = ("avg", "weighted_avg", "max")


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
    """A context attribute of the training set, in groups: its categories, or the intervals between its thresholds."""

    column: Column
    groups: np.ndarray
    n_groups: int
    thresholds: np.ndarray | None


class BestSplit(NamedTuple):
    """The best admissible split of a node by one attribute, with its score and the effect in each child."""

    attribute: Attribute
    score: float
    effects: dict[Condition, float]


@dataclass(frozen=True)
class GuidedTree:
    """Builds the tree of one investigation and one sensitive feature.

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

    def grow(self, sample: Sample, columns: list[Column]) -> Node:
        """Return the root of the tree of a sample, with the context attributes in `columns`."""
        attributes = [group(column, self.max_bins) for column in columns]
        effect = float(self.metric.effect(self.metric.approximate(sample, confidence_level=self.confidence_level)))
        root = Node(None, effect, len(sample), self.metric.labels(sample, confidence_level=self.confidence_level))
        self._split(root, sample, np.arange(len(sample)), attributes, bar=0.0, depth=0)
        return root

    def _split(self, node, here, rows, attributes, *, bar, depth):
        """Grow the tree below a node; `here` are its people, `rows` their numbers in the training set."""
        if depth == self.max_depth:
            return
        found = [self._best_split(here, attribute, rows) for attribute in attributes]
        admissible = [split for split in found if split is not None]
        # The bar is the score of the split above, not the node's own effect.
        valid = [split for split in admissible if max(split.effects.values()) > bar]
        if not valid:
            return
        best = max(valid, key=lambda split: split.score)
        # Where an attribute admits no split, it admits none further down; a category is not split again.
        left = [s.attribute for s in admissible if s is not best or not s.attribute.column.is_categorical]
        column = best.attribute.column.take(rows)
        for condition, effect in best.effects.items():
            members = condition.holds(column)
            there = here.take(members)
            labels = self.metric.labels(there, confidence_level=self.confidence_level)
            child = Node(condition, effect, len(there), labels, node)
            node.children.append(child)
            self._split(child, there, rows[members], left, bar=best.score, depth=depth + 1)

    def _best_split(self, here, attribute, rows) -> BestSplit | None:
        """Return the best split of some people by an attribute that makes large enough children, if there is one."""
        column, groups, n_groups, thresholds = attribute
        ordered = not column.is_categorical
        effect, size, smallest_stratum = self.metric.children(
            here, groups[rows], n_groups, ordered=ordered, confidence_level=self.confidence_level
        )
        large = smallest_stratum >= self.min_leaf_size
        kept = np.flatnonzero(large.all(axis=1) if ordered else large)
        if len(kept) < (1 if ordered else 2):
            return None
        scores = self._aggregate(effect[kept], size[kept])
        if ordered:
            best = int(np.argmax(scores))
            score, effects, threshold = scores[best], effect[kept[best]], float(thresholds[kept[best]])
            conditions = [Condition(column.name, high=threshold), Condition(column.name, low=threshold)]
        else:
            score, effects = scores * (size[kept].sum() / size.sum()), effect[kept]
            conditions = [Condition(column.name, category=column.categories[code]) for code in kept]
        return BestSplit(attribute, float(score), dict(zip(conditions, effects.tolist(), strict=True)))

    def _aggregate(self, effects, sizes):
        if self.score_aggregation == "max":
            return effects.max(axis=-1)
        return np.average(effects, axis=-1, weights=sizes if self.score_aggregation == "weighted_avg" else None)


def group(column: Column, max_bins: int) -> Attribute:
    """Return a column in groups; thresholds are found once, on the whole training set."""
    if column.is_categorical:
        return Attribute(column, column.values, len(column.categories), None)
    thresholds = find_thresholds(column.values, max_bins)
    groups = np.searchsorted(thresholds, column.values, side="left")
    return Attribute(column, groups, len(thresholds) + 1, thresholds)


def find_thresholds(values: np.ndarray, max_bins: int) -> np.ndarray:
    """Return thresholds that cut numbers into parts of similar size.

    With at most `max_bins` distinct values, all midpoints between neighbours. Otherwise the target is a multiple
    of ``n / (max_bins + 1)``: a threshold lies halfway before the first value up to which, itself included, the count
    is further from the target than without it.
    """
    distinct, counts = np.unique(values, return_counts=True)
    midpoints = (distinct[1:] + distinct[:-1]) / 2
    if len(distinct) <= max_bins:
        return midpoints
    cumulative = counts.cumsum()
    # Counts before and after a value lie on both sides of the target or on one; either way the one before is the
    # nearer of the two if and only if their sum exceeds twice the target.
    both = cumulative[1:] + cumulative[:-1]
    step = len(values) / (max_bins + 1)
    chosen, target = [], step
    while (place := max(np.searchsorted(both, 2 * target, side="right"), chosen[-1] + 1 if chosen else 0)) < len(both):
        chosen.append(place)
        target += step
    return midpoints[chosen]
