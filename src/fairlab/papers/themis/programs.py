"""Small programs that the paper explains its definitions with (sections 2 and 3), and some that go beyond."""

import numpy as np
import pandas as pd

from fairlab.cases.schema import Schema
from fairlab.themis.themis import Themis

PEOPLE_OF_RARE = Schema.from_dict({"sex": ["f", "m"], "person": range(1000)})
STAYS = Schema.from_dict({"device": ["phone", "laptop"], "nights": range(1, 15)})
# Programs, in Python, that fail in each of the ways a command can.
BROKEN = {
    "crashes": "import sys; sys.exit(3)",
    "hangs": "import time; time.sleep(60)",
    "chatters": "print('certainly')",
}


def loan(inputs: pd.DataFrame) -> np.ndarray:
    """Lend as LOAN does, for all inputs at once: to purple by name, to green by savings (section 2)."""
    return np.where(inputs["race"] == "green", inputs["savings"] >= 7, inputs["name"] < 3)


def draw_applicants(n_applicants: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return applicants for LOAN of whom the purple rarely have savings."""
    race = rng.choice(["green", "purple"], n_applicants)
    return pd.DataFrame(
        {
            "age": rng.choice(["under40", "over40"], n_applicants),
            "race": race,
            "name": rng.integers(10, size=n_applicants),
            "savings": np.where(race == "green", rng.integers(4, 10, n_applicants), rng.integers(0, 6, n_applicants)),
        }
    )


def pairs_by(suite: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return pairs of inputs of a test suite that differ in one characteristic and in their output, one pair a row.

    Parameters
    ----------
    suite : DataFrame
        As `Themis.test_suite` returns it.
    name : str
        The characteristic; of a pair, the smaller value comes first.
    """
    same = [column for column in suite if column not in (name, "output")]
    pairs = suite.merge(suite, on=same, suffixes=("", " of the counterpart"))
    other, output = pairs[f"{name} of the counterpart"], pairs["output of the counterpart"]
    return pairs[(pairs[name] < other) & (pairs["output"] != output)]


def group_score_of_shares(shares: tuple[float, float], n_people: int) -> float:
    """Return the group score of a program that says yes to these shares of two groups, all of whom are tried."""
    schema = Schema.from_dict({"group": [0, 1], "person": range(n_people)})
    yes = np.round(np.array(shares) * n_people)
    themis = Themis(lambda x: x["person"] < yes[x["group"]], schema, min_samples=n_people, max_samples=n_people + 1)
    return themis.group_score("group").score


def unfair_to_one_in_twenty(inputs: pd.DataFrame) -> pd.Series:
    """Refuse women whose number ends with 00, 20, 40, 60 or 80."""
    return ~((inputs["sex"] == "f") & (inputs["person"] % 20 == 0))


def stopping_rules(scores: dict[str, pd.DataFrame], *, truth: float, error_bound: float) -> pd.DataFrame:
    """Return how estimates of one score fare under different stopping rules, one row a rule.

    Parameters
    ----------
    scores : dict of str to DataFrame
        By rule, one row for each estimate with the attributes of `Score`.
    truth : float
    error_bound : float
        What the rule is to keep.
    """
    rows = []
    for rule, found in scores.items():
        rows.append(
            {"rule": rule, "mean samples": found["samples"].mean(), "mean score": found["score"].mean()}
            | {"scores of exactly 0": (found["score"] == 0).mean()}
            | {"off by more than the bound": ((found["score"] - truth).abs() > error_bound).mean()}
            | {f"interval covers {truth:.0%}": ((found["low"] <= truth) & (found["high"] >= truth)).mean()}
        )
    return pd.DataFrame(rows)


def price_of_stay(inputs: pd.DataFrame) -> np.ndarray:
    """Return the price of a stay: 10% more on a laptop."""
    return 60.0 * inputs["nights"] * np.where(inputs["device"] == "laptop", 1.1, 1.0)


def relative_difference(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return by what share of the higher price two prices differ."""
    return np.abs(first - second) / np.maximum(first, second)
