"""Twelve models with a planted bias and twenty-four fair ones, by numpy and pandas alone, for any tool.

People are drawn so that sensitive features are independent of everything but the planted bias.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

N_PEOPLE = 3_000
N_FAIR = 24
JOBS = ("clerk", "miner", "nurse")
FEATURES = ["income", "debt", "years", "job"]


@dataclass(frozen=True)
class Planted:
    """A model, its people, and what is wrong with it.

    Attributes
    ----------
    name : str
    model : callable
        Takes a table, returns a decision or a probability for each row.
    table : DataFrame
    sensitive_features : tuple of str
    features : list of str
        Columns that the model gets.
    y_true : ndarray of bool of shape (n_people,)
    expected : tuple of tuple of str
        Pairs of sensitive features and measure; a finding with any of them names the bias; empty for a fair model.
    by_score : bool
        Whether the model gives probabilities.
    """

    name: str
    model: Callable[[pd.DataFrame], np.ndarray]
    table: pd.DataFrame
    sensitive_features: tuple[str, ...]
    features: list[str]
    y_true: np.ndarray
    expected: tuple[tuple[str, str], ...] = ()
    by_score: bool = field(default=False)


def people(rng: np.random.Generator, n: int = N_PEOPLE) -> pd.DataFrame:
    """Return people whose sensitive features are independent of everything else."""
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "race": rng.choice(["A", "B", "C"], n, p=[0.55, 0.35, 0.1]),
            "income": rng.gamma(4, 8_000, n).round(),
            "debt": rng.gamma(2, 3_000, n).round(),
            "years": rng.integers(0, 40, n),
            "job": rng.choice(JOBS, n),
        }
    )


def merit(rows: pd.DataFrame) -> np.ndarray:
    """Return the score that a fair model uses, with a mean of about 0 and a spread of about 1."""
    work = rows["job"].map({"clerk": 0.0, "miner": 0.2, "nurse": -0.2}).astype(float)
    return ((rows["income"] - 32_000) / 16_000 - (rows["debt"] - 6_000) / 8_000 + work).to_numpy()


def probability(odds: np.ndarray) -> np.ndarray:
    """Return the logistic function."""
    return 1 / (1 + np.exp(-odds))


def biased() -> list[Planted]:
    """Return the twelve models with a planted bias."""
    rng = np.random.default_rng(20_26)
    table = people(rng)
    truth = merit(table) + rng.normal(0, 0.5, len(table)) > 0
    both, seen = ("sex", "race"), ["sex", "race", *FEATURES]
    sex, race, pair = (f"{name}" for name in ("sex", "race", "sex and race"))
    selection, flips = "selection_rate_difference", "counterfactual_flip_rate"
    errors = ("true_positive_rate_difference", "false_positive_rate_difference")

    def of_sex(measures):
        return tuple((sex, measure) for measure in measures)

    def is_woman(rows):
        return (rows["sex"] == "f").to_numpy()

    # A proxy for sex that the model gets instead.
    height = np.where(is_woman(table), 165, 178) + rng.normal(0, 5, len(table))
    proxied = table.assign(height=height.round())
    # A column that predicts the truth for men, and is noise for women.
    signal = merit(table) + rng.normal(0, 0.5, len(table))
    noisy = table.assign(signal=np.where(is_woman(table), rng.permutation(signal), signal).round(3))
    late = table.assign(age=rng.integers(18, 80, len(table)))
    rare = table.assign(race=rng.choice(["A", "B", "D"], len(table), p=[0.6, 0.36, 0.04]))

    def plain(name, model, expected, *, table=table, features=seen, sensitive=both, y_true=truth, by_score=False):
        return Planted(name, model, table, sensitive, features, y_true, expected, by_score)

    return [
        plain("women need more", lambda r: merit(r) > 0.6 * is_woman(r), of_sex((selection, flips, *errors))),
        plain(
            "group B needs more",
            lambda r: merit(r) > 0.6 * (r["race"] == "B").to_numpy(),
            tuple((race, measure) for measure in (selection, flips, *errors)),
        ),
        plain(
            "women of group B need more",
            lambda r: merit(r) > 1.2 * (is_woman(r) & (r["race"] == "B").to_numpy()),
            tuple((pair, measure) for measure in (selection, flips, *errors)),
        ),
        plain(
            "a group of 4% needs more",
            lambda r: merit(r) > 1.2 * (r["race"] == "D").to_numpy(),
            tuple((race, measure) for measure in (selection, flips, *errors)),
            table=rare,
        ),
        plain(
            "people from 60 on need more",
            lambda r: merit(r) > 0.8 * (r["age"] >= 60).to_numpy(),
            tuple(("age", measure) for measure in (selection, flips, *errors)),
            table=late,
            features=["age", *FEATURES],
            sensitive=("age",),
        ),
        plain(
            "height stands for sex",
            lambda r: merit(r) + 0.06 * (r["height"].to_numpy() - 171) > 0,
            of_sex((selection, *errors, "excess_flip_rate", "loss_ratio")),
            table=proxied,
            features=["height", *FEATURES],
        ),
        plain(
            "as many women are selected, but by noise",
            lambda r: r["signal"].to_numpy() > 0,
            of_sex(errors),
            table=noisy,
            features=["signal", *FEATURES],
        ),
        plain(
            "women who are miners need more, nurses less",
            lambda r: (
                merit(r) > 0.8 * is_woman(r) * r["job"].map({"clerk": 0, "miner": 1, "nurse": -1}).to_numpy(float)
            ),
            of_sex((flips, selection, *errors)),
        ),
        plain(
            "women win at high incomes and lose at low ones",
            lambda r: merit(r) > 0.5 * np.where(r["income"] > 30_000, -1, 1) * is_woman(r),
            of_sex((flips, selection, *errors)),
        ),
        plain("a few women near the threshold", lambda r: merit(r) > 0.12 * is_woman(r), of_sex((flips,))),
        plain(
            "scores of women are lower",
            lambda r: probability(2 * merit(r) - 1.0 * is_woman(r)),
            of_sex((selection, flips, "loss_ratio", *errors)),
            by_score=True,
        ),
        plain(
            "scores of group C are lower",
            lambda r: probability(2 * merit(r) - 1.5 * (r["race"] == "C").to_numpy()),
            tuple((race, measure) for measure in (selection, flips, "loss_ratio", *errors)),
            by_score=True,
        ),
    ]


def fair() -> list[Planted]:
    """Return models with random weights on features that are independent of sensitive features."""
    found = []
    for number in range(N_FAIR):
        rng = np.random.default_rng([number, 24])
        table, weights = people(rng, (600, 1_500, 3_000)[number % 3]), rng.normal(size=3)
        worth = dict(zip(JOBS, rng.normal(size=3), strict=True))

        def odds(rows, weights=weights, worth=worth):
            z = (rows[FEATURES[:3]] - [32_000, 6_000, 20]) / [16_000, 4_000, 12]
            return (z @ weights + rows["job"].map(worth).astype(float)).to_numpy()

        def scores(rows, odds=odds):
            return probability(odds(rows))

        def steps(rows, odds=odds):
            return np.floor(odds(rows)) % 2 == 0  # in rules, as of a tree

        def labels(rows, odds=odds):
            return odds(rows) > 0

        truth = rng.random(len(table)) < probability(odds(table))
        model = (labels, scores, steps)[number // 3 % 3]
        features = FEATURES if number % 2 else ["sex", "race", *FEATURES]
        found.append(Planted(f"fair {number + 1}", model, table, ("sex", "race"), features, truth, (), model is scores))
    return found
