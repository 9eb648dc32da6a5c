"""One trial of each experiment that repeats something: planted effects, nothing to find, and other splits."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from fairlab.data import load
from fairlab.data.variants.staples_population import draw_counts
from fairlab.fairtest.investigation import Investigation, investigate
from fairlab.fairtest.metrics import Difference
from fairlab.fairtest.report import SIGNIFICANCE
from fairlab.fairtest.sample import CONFIDENCE_LEVEL, PUBLISHED, DataSource
from fairlab.papers.fairtest.lattice import ANY, draw_part, find_contexts, report_contexts, test_contexts
from fairlab.papers.fairtest.microbenchmark import PAIR, TRIALS_OF_A_RUN
from fairlab.papers.fairtest.planted import choose_pairs, plant_counts
from fairlab.papers.fairtest.studies import (
    AGE,
    CARE,
    CONFIDENCE,
    PREDICTION,
    TRUTH,
    mean_errors,
    patients_of,
    table_2_row,
)
from fairlab.seeds import Trial
from fairlab.statistics import bonferroni_level

SMALL = 1_000  # pairs of fewer users are tested by resampling, as in the authors' code


def planted_effects(
    trial, *, n_users: int, size: int, deltas, n_pairs: int = 10, min_leaf_size: int = 50
) -> pd.DataFrame:
    """Plant effects of several strengths into the same pairs of a state and a race, and look for them (figure 5).

    Parameters
    ----------
    trial : fairlab.seeds.Trial
    n_users : int
        Drawn anew for every ten trials, which is what the figure's means are over; the paper had one population.
    size : int
        Class of pairs; see `fairlab.papers.fairtest.planted.SIZE_CLASSES`.
    deltas : sequence of float
        Strengths, in percentage points.
    n_pairs, min_leaf_size : int

    Returns
    -------
    DataFrame
        One row for each strength: ``found``, the pairs that some context names after training, whatever else it names,
        which is what the published curve counts; ``validated``, those that some significant context names; and
        ``false``, the significant contexts without any user of a planted pair.
    """
    users = _users_of_a_run(trial, n_users)
    pairs = choose_pairs(users, size=size, n_pairs=n_pairs, seed=trial.seed("pairs"))
    states, _, races, _ = users.index.levels
    planted = set(zip(states.get_indexer(pairs["state"]), races.get_indexer(pairs["race"]), strict=True))
    rng = trial.rng("prices and halves")
    prices = np.stack([plant_counts(users, pairs, delta=delta, rng=rng) for delta in deltas])
    rows = []
    tested = _tested(prices, rng, min_leaf_size=min_leaf_size, exact=size < SMALL)
    for delta, (_, _, p_values) in zip(deltas, tested, strict=True):
        significant = [cell for cell, p_value in p_values.items() if p_value <= SIGNIFICANCE]
        named, validated = ({cell[::2] for cell in cells} & planted for cells in (p_values, significant))
        false = sum(not _may_hold(cell, planted) for cell in significant)
        rows.append({"delta": delta, "found": len(named), "validated": len(validated), "false": false})
    return pd.DataFrame(rows)


def false_alarms(trial, *, n_users: int, min_leaf_size: int = 100) -> dict[str, int]:
    """Give everybody a price by the toss of a coin; return how many contexts are significant, and how many reported."""
    rng, users = trial.rng("prices and halves"), _users_of_a_run(trial, n_users)
    none = pd.DataFrame(columns=list(PAIR))
    prices = plant_counts(users, none, delta=0, rng=rng)[None]
    [(found, test, p_values)] = _tested(prices, rng, min_leaf_size=min_leaf_size, exact=True)
    level = bonferroni_level(CONFIDENCE_LEVEL, len(found))
    return {
        "contexts": len(found),
        "significant": sum(p_value <= SIGNIFICANCE for p_value in p_values.values()),
        "reported": len(report_contexts(test, found, p_values, confidence_level=level, rng=rng)),
    }


def _users_of_a_run(trial, n_users) -> pd.Series:
    """Return the users of the run that a trial belongs to."""
    return _count_users(n_users, Trial(trial.name, trial.index // TRIALS_OF_A_RUN, trial.root).seed("users"))


@lru_cache(maxsize=8)
def _count_users(n_users, seed) -> pd.Series:
    """Draw users anew; return how many of each kind there are, whatever the price."""
    counts = draw_counts(n_users, seed=seed)
    kinds = pd.MultiIndex.from_product(counts.index.levels[:-1], names=counts.index.names[:-1])
    return pd.Series(counts.to_numpy().reshape(len(kinds), -1).sum(axis=1), kinds)


def _tested(prices, rng, *, min_leaf_size, exact):
    """Split populations of users in half; yield the contexts of each, the counts of its other half, and p-values."""
    training = np.stack([draw_part(counts, int(counts.sum()) // 2, rng) for counts in prices])
    for contexts, test in zip(find_contexts(training, min_leaf_size=min_leaf_size), prices - training, strict=True):
        [p_values] = test_contexts([(test, contexts)], rng if exact else None)
        yield contexts, test, p_values


def _may_hold(cell, pairs) -> bool:
    """Whether a context of state, gender and race may hold users of some pairs of a state and a race."""
    return any(cell[0] in (ANY, state) and cell[2] in (ANY, race) for state, race in pairs)


def adult_split(trial, *, people: pd.DataFrame, protected: list[str], output: str) -> pd.DataFrame:
    """Split people anew and return the contexts that are tested, one row for each.

    Returns
    -------
    DataFrame
        ``protected``, ``significant``, ``reported``, and ``attributes``: those that define the context, joined by
        commas.
    """
    seed = trial.seed("split")
    source = DataSource(people, random_state=seed, variant=PUBLISHED)
    rows = [
        {
            "protected": section.sensitive_features,
            "significant": finding.is_significant,
            "reported": finding in section.reported,
            "attributes": ",".join(condition.attribute for condition in finding.node.conditions),
        }
        for section in investigate(source, Investigation(protected, output, random_state=seed)).sections
        for finding in section.subgroups
    ]
    return pd.DataFrame(rows)


def berkeley_split(trial, *, applicants: pd.DataFrame, smoothing: float) -> dict[str, float]:
    """Split applicants anew and return corrected p-values: without explanation, given it, by department."""
    seed = trial.seed("split")
    p_values = {}
    for name, explanatory in (("everyone", None), ("everyone, given the department", "department")):
        source = DataSource(applicants, random_state=seed, variant=PUBLISHED)
        metric = Difference(smoothing=smoothing)
        about = {"explanatory": explanatory, "context": [], "metric": metric, "random_state": seed}
        tests = investigate(source, Investigation("gender", "accepted", **about)).sections[0].everyone.associations
        p_values |= {a.part or name: a.p_value for a in tests}
        if explanatory:
            p_values["some department, to the disadvantage of women"] = min(
                [a.p_value for a in tests if a.part and a.high < 0], default=1.0
            )
    return p_values


def health_order(trial, *, data_hash: str, surrogate: bool, n_rows: int, budget: int = 2) -> dict:
    """Study the errors of the health predictor with the patients in another order, that of the trial's number.

    Parameters
    ----------
    trial : fairlab.seeds.Trial
    data_hash : str
        Of the patients in their first order; it makes the results of other data other trials.
    surrogate : bool
        Whether the patients are surrogates.
    n_rows : int
    budget : int
        Of test sets; training and each of them get a share 1 / (budget + 1) of the patients.

    Returns
    -------
    dict
        ``counts``: what table 2 prints; ``reported``: the attributes that define each reported context; ``in_tree``:
        whether urgent care is one of the tree's; with two test sets also ``tests``: size, p-value and interval by
        name, ``others``: lower bounds of the tree's other contexts, and ``errors``: mean errors in days.
    """
    health = load("health", order=trial.index, surrogate=surrogate)
    patients, split = patients_of(health).head(n_rows), {"budget": budget, "train_size": round(1 / (budget + 1), 2)}
    context = [name for name in health.features if name not in (AGE, "predicted_days", CONFIDENCE)]
    source = DataSource(patients, variant=PUBLISHED, **split)
    detection = Investigation(AGE, PREDICTION, ground_truth=TRUTH, context=context).fit(source)
    report = detection.test()
    [section] = report.sections
    in_tree = section.find(f"{CARE} > 0.5")
    result = {
        "counts": {name: int(count) for name, count in table_2_row(health, [detection], report).items()},
        "reported": sorted(",".join(c.attribute for c in finding.node.conditions) for finding in section.reported),
        "in_tree": in_tree is not None,
    }
    if budget < 2:
        return result
    again, asking = DataSource(patients, variant=PUBLISHED, **split), {"explanatory": "urgent care", "context": []}
    in_logs = Investigation(AGE, PREDICTION, ground_truth=TRUTH, **asking)
    in_days = Investigation(AGE, "days", ground_truth="true days", **asking)
    logs, days = (asked.everyone for asked in investigate(again, [in_logs, in_days]).sections)
    given = detection.with_explanatory(CONFIDENCE).test().section(AGE).everyone
    tests = {
        "everyone": section.everyone.association(),
        "urgent care": in_tree.association() if in_tree else logs.association("urgent care: yes"),
        "everyone, given confidence": given.association(),
        **{f"{level} confidence": given.association(f"{CONFIDENCE}: {level}") for level in ("low", "high")},
    }
    others = [finding.association().low for finding in section.subgroups[1:] if finding is not in_tree]
    return result | {
        "tests": {name: [float(x) for x in (a.size, a.p_value, a.low, a.high)] for name, a in tests.items()},
        "others": [float(low) for low in others],
        "errors": mean_errors(days),
    }


def health_split(
    trial,
    *,
    patients: pd.DataFrame,
    age: str,
    prediction: str,
    truth: str,
    confidence: str,
    budget: int,
    train_size: float,
) -> pd.DataFrame:
    """Split patients anew and return the intervals of everybody: plain, given confidence, and by confidence.

    Returns
    -------
    DataFrame
        Columns ``metric``, ``part``, ``low`` and ``high``.
    """
    seed = trial.seed("split")
    source = DataSource(patients, budget=budget, train_size=train_size, random_state=seed, variant=PUBLISHED)
    plain = Investigation(age, prediction, ground_truth=truth, context=[], random_state=seed).fit(source)
    reports = [plain.test(), plain.with_explanatory(confidence).test()]
    return pd.concat([report.to_frame() for report in reports], ignore_index=True)[["metric", "part", "low", "high"]]


def recommender_split(
    trial, *, users: pd.DataFrame, outputs: Sequence[str], protected: list[str], genres: list[str]
) -> pd.DataFrame:
    """Split users anew and return the associations among everybody.

    Returns
    -------
    DataFrame
        Columns ``output``, ``part``, ``protected``, ``low`` and ``high``.
    """
    seed = trial.seed("split")
    source = DataSource(users, random_state=seed, variant=PUBLISHED)
    investigations = [Investigation(protected, output, context=[], random_state=seed) for output in outputs]
    for name in ("gender", "generation"):
        investigations.append(Investigation(name, genres, top_k=len(genres), context=[], random_state=seed))
    found = investigate(source, investigations).to_frame().rename(columns={"sensitive_features": "protected"})
    return found[["output", "part", "protected", "low", "high"]]
