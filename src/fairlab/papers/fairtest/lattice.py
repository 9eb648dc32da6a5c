"""All contexts of some categorical attributes at once: counts of people, guided trees over them, and their tests.

A context of categorical attributes is a cell of a table of counts that has one more entry along each attribute, for
"any". One array operation then computes the associations of all contexts of many populations, and a tree only looks
them up. Trees and tests are those of `fairlab.fairtest`, for populations that are drawn a thousand times.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fairlab.fairtest.investigation import SMALLEST_P_VALUE
from fairlab.fairtest.metrics import NMI
from fairlab.fairtest.report import SIGNIFICANCE
from fairlab.fairtest.resampling import (
    EXACT_LIMIT,
    TABLES,
    bootstrap_tables,
    exact_p_value,
    percentile_interval,
    table_p_value,
)
from fairlab.fairtest.sample import PUBLISHED
from fairlab.statistics import g_test, holm

ANY = -1  # in place of a category's number
METRIC = NMI(variant=PUBLISHED)
FEW_TABLES, NOT_SURE = 2_000, 0.5  # first random tables, and the corrected p-value up to which all are drawn

Cell = tuple[int, ...]


def with_any(counts: np.ndarray, n_attributes: int) -> np.ndarray:
    """Return counts with one more entry along each attribute: the sum of the others.

    Parameters
    ----------
    counts : ndarray of shape (..., *n_categories, n_protected, n_output)
    n_attributes : int
    """
    for axis in range(-2 - n_attributes, -2):
        counts = np.concatenate([counts, counts.sum(axis=axis, keepdims=True)], axis=axis)
    return counts


def draw_part(counts: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return the counts of `n` of the people, drawn without replacement."""
    return rng.multivariate_hypergeometric(counts.ravel(), n, method="marginals").reshape(counts.shape)


def find_contexts(
    counts: np.ndarray, *, min_leaf_size: int, confidence_level: float = 0.95
) -> list[dict[Cell, tuple[Cell, ...]]]:
    """Grow a guided tree for each population, as `fairlab.fairtest.Investigation` does.

    Parameters
    ----------
    counts : ndarray of shape (n_populations, *n_categories, n_protected, n_output)
        Counts of the training sets.
    min_leaf_size : int
    confidence_level : float

    Returns
    -------
    list of dict
        For each population, its contexts, the root first, each with its ancestors in the tree, the nearest first.
    """
    n_attributes = counts.ndim - 3
    tables = with_any(counts, n_attributes)
    effects = METRIC.training_effect(tables[..., None, :, :], confidence_level=confidence_level)
    root = (ANY,) * n_attributes
    return [
        {root: ()} | dict(_below(root, (), effect, size, list(range(n_attributes)), 0.0, min_leaf_size))
        for effect, size in zip(effects, tables.sum(axis=(-2, -1)), strict=True)
    ]


def _below(cell, around, effects, sizes, attributes, bar, min_leaf_size) -> Iterator[tuple[Cell, tuple[Cell, ...]]]:
    """Yield the contexts below a cell; the rules are those of `fairlab.fairtest.tree.GuidedTree`."""
    admissible = {}
    for attribute in attributes:
        line = (*cell[:attribute], slice(None, -1), *cell[attribute + 1 :])
        size = sizes[line]
        kept = np.flatnonzero(size >= min_leaf_size)
        if len(kept) > 1:
            effect = effects[line][kept]
            score = effect.mean() * (size[kept].sum() / size.sum())
            admissible[attribute] = (score, effect.max(), kept)
    valid = {attribute: split for attribute, split in admissible.items() if split[1] > bar}
    if not valid:
        return
    best = max(valid, key=lambda attribute: valid[attribute][0])
    score, _, kept = valid[best]
    left = [attribute for attribute in admissible if attribute != best]
    for category in kept.tolist():
        child = (*cell[:best], category, *cell[best + 1 :])
        if effects[child] > 0:
            yield child, (cell, *around)
        yield from _below(child, (cell, *around), effects, sizes, left, score, min_leaf_size)


def test_contexts(
    populations: Sequence[tuple[np.ndarray, Sequence[Cell]]], rng: np.random.Generator | None
) -> list[dict[Cell, float]]:
    """Return p-values of contexts on test sets, corrected by Holm's method over all of them.

    Parameters
    ----------
    populations : sequence of pair
        For each protected attribute the counts of the test set, of shape (*n_categories, n_protected, n_output), and
        the contexts.
    rng : numpy.random.Generator or None
        For Monte Carlo tests of contexts of at most 1,000 people, each with few random tables at first, and with all if
        it may be significant. If None, they get the G test, as larger contexts do.
    """
    tables = [table for counts, contexts in populations for table in _tables(counts, contexts)]
    p_values = np.concatenate([g_test(_tables(counts, contexts))[2] for counts, contexts in populations])
    small = [i for i, table in enumerate(tables) if rng and table.sum() <= EXACT_LIMIT]
    for n_tables in (FEW_TABLES, TABLES):
        for i in small:
            random_p_value = two_by_two_p_value if tables[i].shape == (2, 2) else table_p_value
            p_values[i] = random_p_value(tables[i], rng, n_tables=n_tables)
        corrected = holm(np.maximum(p_values, SMALLEST_P_VALUE))
        small = [i for i in small if corrected[i] <= NOT_SURE]
    corrected = iter(corrected.tolist())
    return [{cell: next(corrected) for cell in contexts} for _, contexts in populations]


def report_contexts(
    counts: np.ndarray,
    contexts: Mapping[Cell, Sequence[Cell]],
    p_values: Mapping[Cell, float],
    *,
    confidence_level: float,
    rng: np.random.Generator,
) -> dict[Cell, tuple[float, float]]:
    """Return the intervals of the contexts to report for one protected attribute: the root, then the strongest first.

    The rules are those of `fairlab.fairtest.report.judge`. Intervals are bootstrapped only where the report needs them.

    Parameters
    ----------
    counts : ndarray of shape (*n_categories, n_protected, n_output)
        Counts of the test set.
    contexts : dict
        As `find_contexts` returns them.
    p_values : dict
        As `test_contexts` returns them.
    confidence_level : float
        Corrected level of each interval.
    rng : numpy.random.Generator
        For the bootstrap.
    """
    root, *others = [cell for cell in contexts if not contexts[cell] or p_values[cell] <= SIGNIFICANCE]
    around = {cell: [one for one in contexts[cell] if one in contexts] for cell in others}
    needed = list(dict.fromkeys([root, *others, *(one for several in around.values() for one in several)]))
    bounds = {
        cell: percentile_interval(bootstrap_tables(table, rng, METRIC.estimate), confidence_level)
        for cell, table in zip(needed, _tables(counts, needed), strict=True)
    }
    low = {cell: bound for cell, (bound, _) in bounds.items()}
    strong = [cell for cell in others if 0 < low[cell] >= max(low[one] for one in around[cell])]
    return {cell: bounds[cell] for cell in (root, *sorted(strong, key=lambda cell: -low[cell]))}


def two_by_two_p_value(table: np.ndarray, rng: np.random.Generator, *, n_tables: int = TABLES) -> float:
    """Return a p-value distributed like that of `table_p_value` for a 2 x 2 table, without drawing random tables.

    The number of random tables with at least as large a statistic is drawn from its binomial distribution.
    """
    return (1 + int(rng.binomial(n_tables, exact_p_value(table)))) / (1 + n_tables)


def _tables(counts, contexts) -> np.ndarray:
    """Return the contingency tables of some contexts."""
    every = with_any(counts, counts.ndim - 2)
    return np.stack([every[cell] for cell in contexts])
