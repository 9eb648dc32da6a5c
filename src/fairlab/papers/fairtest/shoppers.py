"""The Staples study on repeated draws of shoppers: the results of one draw, and a table of several."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from fairlab.data.variants.staples_population import N_USERS, draw_counts
from fairlab.fairtest.report import SIGNIFICANCE
from fairlab.fairtest.resampling import bootstrap_tables, percentile_interval
from fairlab.fairtest.sample import CONFIDENCE_LEVEL
from fairlab.papers.fairtest.contexts import table_values
from fairlab.papers.fairtest.lattice import (
    ANY,
    METRIC,
    draw_part,
    find_contexts,
    report_contexts,
    test_contexts,
    with_any,
)
from fairlab.statistics import bonferroni_level, g_test

# Attributes that define contexts, by protected attribute: the axes of counts, before protected attribute and price.
CONTEXT = {"income": ["state", "gender", "race"], "race": ["state", "gender", "income"]}
MIN_LEAF_SIZE = 100

# Figures 2 and 11, of the shoppers.
WHITE, BLACK, NATIVE = "White Not Hispanic or Latino", "Black or African American", "American Indian and Alaska Native"
LOW_INCOME_NEW_YORK = ("state: NY", "income: <50K")
PROTECTED = {"figure-2": "income", "figure-11": "race"}
SHOWN: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "figure-2": {
        "global": (),
        "sub1": ("state: CA", f"race: {WHITE}"),
        "sub2": ("state: NY", f"race: {BLACK}", "gender: M"),
    },
    # The men are not in the figure; the text compares the women with them.
    "figure-11": {
        "global": (),
        "sub1": (*LOW_INCOME_NEW_YORK, "gender: F"),
        "men": (*LOW_INCOME_NEW_YORK, "gender: M"),
    },
}
OUTPUTS = {"high": "high", "low": "low"}
GROUPS = {
    "figure-2": {"low_income": "<50K", "high_income": ">=50K"},
    "figure-11": {
        "asian": "Asian",
        "black": BLACK,
        "hispanic": "Hispanic or Latino",
        "american_indian": NATIVE,
        "white": WHITE,
    },
}
SHORT = {
    WHITE: "White",
    BLACK: "Black",
    NATIVE: "American Indian",
    "Hispanic or Latino": "Hispanic",
    "Native Hawaiian and Other Pacific Islander": "Native Hawaiian",
}
Halves = Mapping[str, tuple[np.ndarray, np.ndarray]]


def drawn_shoppers(trial, *, budget: int = 1, reading: str = "as_published", n_users: int = N_USERS) -> dict:
    """Draw shoppers anew and report on price by income and by race.

    Parameters
    ----------
    trial : fairlab.suite.seeds.Trial
        The shoppers of a trial are the same with every budget and reading.
    budget : int
        Number of test sets; the training set and each test set get a share 1 / (budget + 1) of the shoppers.
    reading : {"as_published", "as_specified"}
        Protocol variant of the price.
    n_users : int

    Returns
    -------
    dict
        ``counts``: the counts of table 2 and section 6.1; ``strongest``: the strongest subpopulation reported, for
        ``income``, for ``race`` and for ``all``; ``reported_effects``: lower bounds of the reported effects, in the
        report's order; ``values``: the numbers of figures 2 and 11 by their ids, also for contexts missing from the
        tree; ``in_tree``: which of these contexts are in the tree; ``high_prices``: percentages of shoppers with the
        high price, by race.
    """
    population = draw_counts(n_users, seed=trial.seed("shoppers"), reading=reading)
    halves = parted(population, budget, trial.rng(f"halves for a budget of {budget}"))
    confidence_level = CONFIDENCE_LEVEL ** (1 / budget)
    trees = {
        name: find_contexts(train[None], min_leaf_size=MIN_LEAF_SIZE, confidence_level=confidence_level)[0]
        for name, (train, _) in halves.items()
    }
    n_tests = sum(map(len, trees.values()))
    rng, level = trial.rng(f"tests for a budget of {budget}"), bonferroni_level(confidence_level, n_tests)
    p_values = dict(zip(trees, test_contexts([(halves[name][1], trees[name]) for name in trees], rng), strict=True))
    reports = {
        name: report_contexts(halves[name][1], tree, p_values[name], confidence_level=level, rng=rng)
        for name, tree in trees.items()
    }
    levels = dict(zip(population.index.names, population.index.levels, strict=True))
    sizes = {name: with_any(test, 3).sum(axis=(-2, -1)) for name, (_, test) in halves.items()}
    small = [sizes[name][cell] for name in trees for cell, p in p_values[name].items() if p <= SIGNIFICANCE]
    strongest = {name: list(report)[1] for name, report in reports.items() if len(report) > 1}
    by_strength = sorted(strongest, key=lambda name: -reports[name][strongest[name]][0])
    words = {name: _in_words(cell, name, levels) for name, cell in strongest.items()}
    high, low = halves["race"][1].sum(axis=(0, 1, 2)).T
    values, in_tree = _printed_contexts(levels, halves, p_values, level, n_tests, rng)
    return {
        "counts": {
            "discovered": n_tests,
            "validated": len(small),
            "reported": sum(map(len, reports.values())),
            "smallest_reported": int(min(small, default=0)),
        },
        "strongest": words | {"all": next((f"{name} in {words[name]}" for name in by_strength), "none")},
        "reported_effects": {name: [low for low, _ in report.values()] for name, report in reports.items()},
        "values": values,
        "in_tree": in_tree,
        "high_prices": dict(zip(population.index.unique("race"), (100 * high / (high + low)).tolist(), strict=True)),
    }


def parted(population: pd.Series, budget: int, rng: np.random.Generator) -> Halves:
    """Return the counts of a training and a test set by protected attribute; see `CONTEXT` for their axes.

    Parameters
    ----------
    population : Series
        As `fairlab.data.variants.staples_population.draw_counts` returns it.
    budget : int
    rng : numpy.random.Generator
    """
    counts = population.to_numpy().reshape([len(level) for level in population.index.levels])
    train = draw_part(counts, int(counts.sum() * (1 / (budget + 1))), rng)
    rest = counts - train
    test = draw_part(rest, int(rest.sum()) // budget, rng)
    axes = {
        name: [population.index.names.index(one) for one in (*others, name, "price")]
        for name, others in CONTEXT.items()
    }
    return {name: (train.transpose(order), test.transpose(order)) for name, order in axes.items()}


def _in_words(cell, protected, levels) -> str:
    """Return a cell in words."""
    named = zip(CONTEXT[protected], cell, strict=True)
    return short(", ".join(f"{name}: {levels[name][code]}" for name, code in named if code != ANY))


def _printed_contexts(levels, halves, p_values, level, n_tests, rng):
    """Return the numbers of figures 2 and 11, and which of their contexts are in the tree.

    A context that is not in the tree is tested directly, with Bonferroni's correction for `n_tests` tests.
    """
    values, in_tree = {}, {}
    for artefact, shown in SHOWN.items():
        protected = PROTECTED[artefact]
        every, numbers = with_any(halves[protected][1], 3), {}
        for name, conditions in shown.items():
            asked = dict(condition.split(": ") for condition in conditions)
            cell = tuple(levels[n].get_loc(asked[n]) if n in asked else ANY for n in CONTEXT[protected])
            counts, own = every[cell], p_values[protected].get(cell)
            p_value = own if own is not None else min(1.0, n_tests * float(g_test(counts)[2]))
            interval = percentile_interval(bootstrap_tables(counts, rng, METRIC.estimate), level)
            table = pd.DataFrame(counts.T, index=levels["price"], columns=levels[protected])
            table["Total"] = table.sum(axis=1)
            table.loc["Total"] = table.sum()
            groups = GROUPS[artefact]
            numbers |= {f"{name}.p": p_value, f"{name}.nmi": interval}
            of_table = table_values(table, outputs=OUTPUTS, groups=groups)
            numbers |= {f"{name}.{id}": value for id, value in of_table.items()}
            in_tree[f"{artefact} {name}"] = own is not None
        values[artefact] = numbers
    return values, in_tree


def count_table(draws: Mapping[int, Sequence[dict]]) -> pd.DataFrame:
    """Return the counts of each draw with each budget.

    Parameters
    ----------
    draws : dict of int to sequence of dict
        Results of `drawn_shoppers` by budget.

    Returns
    -------
    DataFrame
        Columns ``budget``, ``draw``, ``discovered``, ``validated``, ``reported``, ``smallest_reported``, and the
        subpopulations ``strongest of income``, ``strongest of race`` and ``strongest of all``.
    """
    return pd.DataFrame(
        [
            {"budget": budget, "draw": k}
            | draw["counts"]
            | {f"strongest of {name}": words for name, words in draw["strongest"].items()}
            for budget, several in draws.items()
            for k, draw in enumerate(several)
        ]
    )


def short(words: str) -> str:
    """Return the words of a context with short names of races."""
    for long, brief in SHORT.items():
        words = words.replace(long, brief)
    return words
