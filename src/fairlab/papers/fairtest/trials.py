"""How many planted effects FairTest finds (section 6.1, figure 5), and how often it reports what is not there."""

import pandas as pd

from fairlab.data import Dataset, load
from fairlab.data.variants.planted import draw_pairs, plant_effects
from fairlab.fairtest.finding import Finding
from fairlab.fairtest.investigation import Testing
from fairlab.fairtest.procedure import investigate
from fairlab.fairtest.reporting import report
from fairlab.fairtest.source import DataSource

PAIR = ("state", "race")
SMALL = 1_000  # pairs of fewer users are tested by resampling, as in the authors' code


def planted_effects(trial, *, n_users, size: int, deltas, n_pairs: int = 10, min_leaf_size: int = 50) -> pd.DataFrame:
    """Plant effects of several strengths into the same pairs of a state and a race, and look for them.

    A function for `fairlab.Experiment.trials`.

    Parameters
    ----------
    trial : fairlab.seeds.Trial
    n_users : int or None
        Of `staples`; None for the users as they are.
    size : int
        Class of pairs; see `fairlab.data.variants.planted.SIZE_CLASSES`.
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
    users = load("staples", n_users=n_users)
    pairs = draw_pairs(users, size=size, n_pairs=n_pairs, seed=trial.seed("pairs"))
    planted = set(pairs[list(PAIR)].itertuples(index=False, name=None))
    rows = []
    for delta in deltas:
        dataset = plant_effects(users, pairs, delta=delta, seed=trial.seed(f"prices {delta}"))
        investigation = investigate_prices(
            dataset, min_leaf_size=min_leaf_size, exact=size < SMALL, random_state=trial.seed("split")
        )
        found = investigation.findings_["income"]
        named = {finding: pairs_named(finding) for finding in found}
        significant = [finding for finding in found if finding.is_significant]
        rows.append(
            {
                "delta": delta,
                "found": len(planted & set().union(*named.values())),
                "validated": len(planted & set().union(*(named[finding] for finding in significant))),
                "false": sum(not touches(finding, planted) for finding in significant),
            }
        )
    return pd.DataFrame(rows)


def false_alarms(trial, *, n_users, min_leaf_size: int = 100) -> dict[str, int]:
    """Give everybody a price by the toss of a coin; return how many contexts are significant, and how many reported.

    A function for `fairlab.Experiment.trials`.
    """
    users = load("staples", n_users=n_users)
    none = pd.DataFrame(columns=list(PAIR))
    dataset = plant_effects(users, none, delta=0, seed=trial.seed("prices"))
    investigation = investigate_prices(
        dataset, min_leaf_size=min_leaf_size, exact=True, random_state=trial.seed("split")
    )
    [section] = report(investigation).sections
    return {
        "contexts": len(section.findings),
        "significant": len(section.significant),
        "reported": len(section.reported),
    }


def investigate_prices(dataset: Dataset, *, min_leaf_size: int, exact: bool, random_state: int) -> Testing:
    """Look for associations of price and income in contexts of state, gender and race."""
    data = dataset.features.assign(price=dataset.target)
    investigation = Testing(DataSource(data, random_state=random_state), "income", "price")
    investigate(investigation, min_leaf_size=min_leaf_size, exact=exact)
    return investigation


def pairs_named(finding: Finding) -> set[tuple[str, str]]:
    """Return the pair that the conditions of a context name, if they name both of its parts."""
    named = {condition.attribute: condition.category for condition in finding.node.conditions}
    return {tuple(named[name] for name in PAIR)} if set(PAIR) <= set(named) else set()


def touches(finding: Finding, pairs: set[tuple[str, str]]) -> bool:
    """Whether a context may hold users of some of the pairs."""
    named = {condition.attribute: condition.category for condition in finding.node.conditions}
    return any(all(named.get(name, part) == part for name, part in zip(PAIR, pair, strict=True)) for pair in pairs)
