"""The microbenchmark of FairTest (section 6.1, figure 5): effects of known size, planted into the Staples users.

Everybody has the same chance of the low price, whatever the income, except in ten chosen pairs of a state and a race:
there, users with at least 50,000 dollars get it more often than those below.
"""

from functools import lru_cache

import numpy as np
import pandas as pd

from fairlab.data.dataset import Dataset
from fairlab.data.sources import derive
from fairlab.data.variants.staples_population import draw_counts
from fairlab.papers.fairtest.lattice import ANY, draw_part, find_contexts, test_contexts
from fairlab.suite.seeds import Trial

# Classes of pairs by number of users, and how far a pair may differ from it, relatively.
SIZE_CLASSES = {100: 0.20, 500: 0.20, 1_000: 0.20, 2_000: 0.25, 5_000: 0.25, 10_000: 0.25}
CELLS = ["state", "gender", "race", "income"]
TRIALS_OF_A_RUN = 10  # of the published means
SMALLEST_SECOND_RACE = 300  # users; states with fewer of their second largest race are left out


def draw_pairs(dataset: Dataset, *, size: int, n_pairs: int = 10, seed: int = 0) -> pd.DataFrame:
    """Choose pairs of a state and a race with about the same number of users.

    As in the authors' code, only one of several pairs with exactly the same number of users is eligible. States with
    hardly more than one race are left out, since a pair there is nearly the whole state.

    Parameters
    ----------
    dataset : Dataset
        The users of `staples`, as many as the study takes.
    size : {100, 500, 1000, 2000, 5000, 10000}
        Class of `SIZE_CLASSES`.
    n_pairs : int
    seed : int

    Returns
    -------
    DataFrame of shape (n_pairs, 3)
        state, race, and users.

    Raises
    ------
    ValueError
        If the class is unknown, or the users have too few pairs of it.
    """
    counted = dataset.features.groupby(["state", "race"], observed=True).size()
    return choose_pairs(counted, size=size, n_pairs=n_pairs, seed=seed)


def choose_pairs(users: pd.Series, *, size: int, n_pairs: int = 10, seed: int = 0) -> pd.DataFrame:
    """Choose pairs as `draw_pairs` does, from numbers of users whose index has the levels ``state`` and ``race``."""
    if size not in SIZE_CLASSES:
        raise ValueError(f"size: expected one of {', '.join(map(str, SIZE_CLASSES))}, found {size!r}")
    table = users.groupby(["state", "race"], observed=True).sum().unstack(fill_value=0)
    sizes, slack = table.to_numpy(), SIZE_CLASSES[size] * size
    mixed = np.sort(sizes, axis=1)[:, -2] >= SMALLEST_SECOND_RACE
    state, race = np.nonzero(mixed[:, None] & (np.abs(sizes - size) <= slack))
    pairs = pd.DataFrame(
        {"state": table.index[state].astype(str), "race": table.columns[race].astype(str), "users": sizes[state, race]}
    ).drop_duplicates("users", keep="last")
    if len(pairs) < n_pairs:
        raise ValueError(
            f"{sizes.sum():,} users have {len(pairs)} pairs of a state and a race with about {size:,} users, "
            f"expected at least {n_pairs}; take more users"
        )
    chosen = np.random.default_rng(seed).choice(len(pairs), n_pairs, replace=False)
    return pairs.iloc[chosen].reset_index(drop=True)


def plant_effects(dataset: Dataset, pairs: pd.DataFrame, *, delta: float, seed: int = 0) -> Dataset:
    """Replace the price by one that depends on income in some pairs of a state and a race, and on nothing elsewhere.

    In every pair, (50 + delta)% of the users with at least 50,000 dollars and (50 - delta)% of those below get the low
    price, and half of all other users together; each number is rounded up. The users are drawn at random. The authors'
    code takes the others in file order, which is equivalent only if that order is random.

    Parameters
    ----------
    dataset : Dataset
        The users of `staples`.
    pairs : DataFrame of shape (n_pairs, any)
        With state and race, as `draw_pairs` returns it.
    delta : float
        Percentage points, from 0 to 50.
    seed : int

    Returns
    -------
    Dataset
        The same users with the new price as target.

    Raises
    ------
    ValueError
        If `delta` is out of range, or a pair is listed twice or has no users.
    """
    if not 0 <= delta <= 50:
        raise ValueError(f"delta: expected percentage points from 0 to 50, found {delta!r}")
    listed = pd.MultiIndex.from_frame(pairs[["state", "race"]].astype(str))
    users = dataset.features
    if listed.has_duplicates:
        raise ValueError(f"pairs: {', '.join(listed[listed.duplicated()][0])} is listed twice")
    pair = _pair_of_each(users, listed)
    empty = ~np.isin(np.arange(len(listed)), pair)
    if empty.any():
        raise ValueError(f"pairs: {', '.join(listed[empty][0])} has no users")
    rich = (users["income"] == ">=50K").to_numpy()
    # Groups with a fixed number of low prices: 0 for users outside all pairs, then two for each pair.
    group = np.where(pair < 0, 0, 1 + 2 * pair + rich)
    percent = np.concatenate([[50.0], np.tile([50.0 - delta, 50.0 + delta], len(listed))])
    low = np.ceil(np.bincount(group, minlength=len(percent)) * percent / 100)
    drawn, is_low = np.random.default_rng(seed).random(len(users)), np.zeros(len(users), dtype=bool)
    for number, n_low in enumerate(low.astype(int)):
        members = np.flatnonzero(group == number)
        is_low[members[np.argpartition(drawn[members], n_low - 1)[:n_low]] if n_low else []] = True
    price = np.where(is_low, "low", "high")
    target = pd.Series(pd.Categorical(price, categories=["high", "low"]), index=users.index, name="price")
    options = {"planted": listed.tolist(), "delta": float(delta), "plant_seed": int(seed)}
    return derive(dataset, target=target, options=options)


def count_users(dataset: Dataset) -> pd.Series:
    """Return the number of users by state, gender, race and income, every combination included."""
    return dataset.features[CELLS].astype("category").value_counts(sort=False).sort_index()


def plant_counts(users: pd.Series, pairs: pd.DataFrame, *, delta: float, rng: np.random.Generator) -> np.ndarray:
    """Draw the numbers of high and of low prices that `plant_effects` gives the users, without listing them.

    Parameters
    ----------
    users : Series
        As `count_users` returns it.
    pairs, delta
        As for `plant_effects`.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_states, n_genders, n_races, n_incomes, 2)
        In the order of the levels of `users`; high prices, then low ones.
    """
    states, genders, races, incomes = users.index.levels
    counts = users.to_numpy().reshape(len(states), len(genders), len(races), len(incomes))
    low, others = np.zeros_like(counts), counts.copy()
    for state, race in pairs[["state", "race"]].astype(str).itertuples(index=False):
        place = states.get_loc(state), slice(None), races.get_loc(race)
        for number, income in enumerate(incomes):
            percent = 50.0 + delta * (1 if income == ">=50K" else -1)
            low[(*place, number)] = _some_low(counts[(*place, number)], percent, rng)
        others[place] = 0
    low += _some_low(others, 50.0, rng)
    return np.stack([counts - low, low], axis=-1)


def _some_low(counts: np.ndarray, percent: float, rng: np.random.Generator) -> np.ndarray:
    """Draw how many users of each kind get the low price: `percent` of all of them, rounded up."""
    n_low = int(np.ceil(counts.sum() * percent / 100))
    return rng.multivariate_hypergeometric(counts.ravel(), n_low, method="marginals").reshape(counts.shape)


def _pair_of_each(users: pd.DataFrame, listed: pd.MultiIndex) -> np.ndarray:
    """Return the position of each user's pair of state and race in `listed`, -1 if it is not listed."""
    codes, found = zip(*(pd.factorize(users[name]) for name in ("state", "race")), strict=True)
    pairs = pd.MultiIndex.from_product([names.astype(str) for names in found])
    return listed.get_indexer(pairs)[codes[0] * len(found[1]) + codes[1]]


def users_of_a_run(trial, n_users) -> pd.Series:
    """Return the users of the run that a trial belongs to."""
    return _count_users(n_users, Trial(trial.name, trial.index // TRIALS_OF_A_RUN, trial.root).seed("users"))


@lru_cache(maxsize=8)
def _count_users(n_users, seed) -> pd.Series:
    """Draw users anew and return how many of each kind there are, over all prices."""
    counts = draw_counts(n_users, seed=seed)
    kinds = pd.MultiIndex.from_product(counts.index.levels[:-1], names=counts.index.names[:-1])
    return pd.Series(counts.to_numpy().reshape(len(kinds), -1).sum(axis=1), kinds)


def find_and_test(prices, rng, *, min_leaf_size, exact):
    """Split each population of users in half; yield its contexts, the counts of its test half, and p-values."""
    training = np.stack([draw_part(counts, int(counts.sum()) // 2, rng) for counts in prices])
    for contexts, test in zip(find_contexts(training, min_leaf_size=min_leaf_size), prices - training, strict=True):
        [p_values] = test_contexts([(test, contexts)], rng if exact else None)
        yield contexts, test, p_values


def may_hold(cell, pairs) -> bool:
    """Whether a context of state, gender and race may hold users of some pairs of a state and a race."""
    return any(cell[0] in (ANY, state) and cell[2] in (ANY, race) for state, race in pairs)
