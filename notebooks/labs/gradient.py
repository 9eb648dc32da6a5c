"""Lab 6: families whom an office looks into."""

import numpy as np
import pandas as pd

from fairlab.labs.draws import course_rng
from fairlab.networks import FeedForward
from fairlab.papers.adf.training import majority_vote, retrain

# column: lowest and highest value
FAMILIES = {
    "income": (1, 20),
    "rent": (1, 10),
    "children": (1, 5),
    "hours": (0, 50),
    "years": (0, 20),
    "late": (0, 9),
    "origin": (0, 1),
}


def families(course: int = 0, *, n_people: int = 3000) -> pd.DataFrame:
    """Return generated families who get a supplement for the care of their children, and whom an office looked into.

    The clerks looked sooner into families that were born abroad.

    Parameters
    ----------
    course : int
        By how much sooner is drawn from it, too.
    n_people : int
        Families.

    Returns
    -------
    DataFrame
        Whole numbers within the bounds of `FAMILIES`: income and rent (in levels), children, hours of care a week,
        years at the address, late letters, origin (1: born abroad); and picked (0, 1).

    Examples
    --------
    >>> from fairlab.labs.gradient import families
    >>> families(n_people=5).shape[0]
    5
    """
    rng = course_rng("families", course)
    drawn = {
        "income": rng.gamma(4, 2.2, n_people),
        "children": 1 + rng.poisson(0.9, n_people),
        "years": rng.gamma(1.5, 5, n_people),
        "late": rng.poisson(1.5, n_people),
        "origin": rng.integers(0, 2, n_people),
    }
    drawn["rent"] = drawn["income"] / 3 + rng.normal(1.5, 1.2, n_people)
    drawn["hours"] = 18 + 4 * drawn["children"] + rng.normal(0, 10, n_people)
    low, high = np.array(list(FAMILIES.values())).T
    table = pd.DataFrame(drawn)[list(FAMILIES)].clip(low, high, axis=1).astype(int)
    counts = {"income": -0.3, "hours": 0.12, "years": -0.075, "late": 0.75}
    counts["origin"] = rng.uniform(0.68, 0.9) if course else 0.75
    odds = table[list(counts)] @ pd.Series(counts) - 2.55
    return table.assign(picked=(rng.random(n_people) < 1 / (1 + np.exp(-odds))).astype(int))


def answers_around(model, family: np.ndarray) -> np.ndarray:
    """Return whom a network picks at every income (rows) and hours of care (columns), all else as in one family.

    0 is nobody, 1 only those born here, 2 only those born abroad, 3 both.
    """
    columns = list(FAMILIES)
    (least, most), (fewest, longest) = FAMILIES["income"], FAMILIES["hours"]
    incomes, hours = np.mgrid[least : most + 1, fewest : longest + 1]
    rows = np.tile(family, (incomes.size, 1))
    rows[:, columns.index("income")], rows[:, columns.index("hours")] = incomes.ravel(), hours.ravel()
    twins = [np.where(np.arange(len(columns)) == columns.index("origin"), origin, rows) for origin in (0, 1)]
    here, abroad = map(model.predict, twins)
    return (here + 2 * abroad).reshape(incomes.shape)


def train_on(weights: list, start: int, X: np.ndarray, y: np.ndarray, pairs: np.ndarray, course: int) -> dict:
    """Return four networks each that were trained on with nothing, with finds, and with finds and their twins.

    Parameters
    ----------
    weights : list
        Of the networks that vote on the labels of what is added.
    start : int
        Which of them is trained on.
    X, y : ndarray
        The rows and labels that they learned from.
    pairs : ndarray
        Finds and their twins, of shape (n, 2, columns).
    course : int
        The finds that are added are drawn from it.
    """
    rng = np.random.default_rng(course)
    networks = [FeedForward(each) for each in weights]
    twins = [np.concatenate(pairs[rng.choice(len(pairs), 500)]) for _ in range(4)]
    finds = [pairs[rng.choice(len(pairs), 1000), 0] for _ in range(4)]
    born_here = np.arange(X.shape[1]) != list(FAMILIES).index("origin")
    ways = {
        "nothing": ([X[:0]] * 4, [y[:0]] * 4),
        "finds, by vote": (finds, [majority_vote(networks, rows) for rows in finds]),
        "twins, one label": (twins, [majority_vote(networks, rows * born_here) for rows in twins]),
    }
    return {
        way: [
            FeedForward(each)
            for each in retrain(weights[start], X, y, added, labels, n_epochs=10, random_states=range(4))
        ]
        for way, (added, labels) in ways.items()
    }
