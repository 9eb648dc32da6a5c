"""Generated people for the Strategic Subject List: first a group, then the predictors, then the score.

Groups of race, sex and age have their published sizes. In a group, a log-linear model determines which of six
predictors a person has at all, such as a violent arrest or a gang affiliation: the log-odds are sums of effects of
race, sex and age, and one effect for every pair of predictors. The number beyond the first is geometric; the log-odds
of one more are sums of similar effects and an effect of the number of other predictors that the person has. The trend
is independent of everything.

The score comes last. The people of a group are ranked by a published cubic fit plus normal noise, and by this rank they
get the group's scores in the published counts. So scores by race, sex and age are the published ones, and who gets
which score follows from the predictors.
"""

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pandas as pd
from scipy.special import expit, softmax

from fairlab.data.surrogates.copula import Counts

COUNTED = ("shooting_victim", "assault_victim", "violent_arrests", "narcotics_arrests", "weapons_arrests")
PREDICTORS = (*COUNTED, "gang_affiliation")
COLUMNS = (
    "score",
    "age",
    "shooting_victim",
    "assault_victim",
    "violent_arrests",
    "gang_affiliation",
    "narcotics_arrests",
    "crime_trend",
    "weapons_arrests",
    "sex",
    "race",
)

# Terms of the log-odds of having a predictor, and of having one more; decades are counted from age 30.
PRESENCE_TERMS = ("one", "black", "hispanic", "other", "woman", "black woman", "decades", "decades squared")
MORE_TERMS = ("one", "black", "hispanic", "woman", "decades", "other predictors")

# The 64 patterns of predictors that a person may have, and the pairs in each pattern.
PATTERNS = np.array(list(product((0, 1), repeat=len(PREDICTORS))))
PAIRS = tuple(combinations(PREDICTORS, 2))
TOGETHER = np.stack([a * b for a, b in combinations(PATTERNS.T, 2)], axis=1)


@dataclass(frozen=True)
class Cohort:
    """People of one race, sex and band of age, with their scores.

    Attributes
    ----------
    race : str
        As in the published counts: Black, Hispanic, White, Asian, Unknown-Not-Listed.
    sex : str
    age : int
        First year of the band.
    scores : Counts
    """

    race: str
    sex: str
    age: int
    scores: Counts


@dataclass(frozen=True, eq=False)
class SubjectModel:
    """Parameters of the generated list.

    Attributes
    ----------
    groups : tuple of Cohort
    races : dict of str to dict of str to float
        For each race of the groups, the codes of the official list and their shares.
    presence : ndarray of shape (6, 8)
        Log-odds of having each of `PREDICTORS`, by `PRESENCE_TERMS`.
    pairs : ndarray of shape (15,)
        Effect of each of `PAIRS`, in their order, on the log-odds of having both.
    more : ndarray of shape (5, 6)
        Log-odds of having one more of each of `COUNTED`, by `MORE_TERMS`.
    largest : tuple of int
        Highest number of each of `COUNTED`.
    trend : Counts
    level : tuple of float
        Score of those who have no predictor and no trend, by band of age.
    effects : tuple of (float, tuple of str)
        Coefficient in the score of the product of the named features, age in decades above 10.
    noise : tuple of float
        Residual standard deviation of the score, by band of age.
    """

    groups: tuple[Cohort, ...]
    races: dict[str, dict[str, float]]
    presence: np.ndarray
    pairs: np.ndarray
    more: np.ndarray
    largest: tuple[int, ...]
    trend: Counts
    level: tuple[float, ...]
    effects: tuple[tuple[float, tuple[str, ...]], ...]
    noise: tuple[float, ...]

    @property
    def sizes(self) -> np.ndarray:
        """Published number of people of each group."""
        return np.array([sum(group.scores.counts) for group in self.groups])

    def sample(self, n_rows: int, *, random_state=None) -> pd.DataFrame:
        """Draw a table in the order of the prepared list: falling scores, then the other columns.

        Parameters
        ----------
        n_rows : int
        random_state : int, Generator or None

        Returns
        -------
        DataFrame of shape (n_rows, 11)
            With columns `COLUMNS`.
        """
        table = self.draw(n_rows, random_state=random_state)[list(COLUMNS)]
        ascending = [name != "score" for name in COLUMNS]
        return table.sort_values(list(COLUMNS), ascending=ascending, ignore_index=True)

    def draw(self, n_rows: int, *, random_state=None) -> pd.DataFrame:
        """Draw a table, group by group, with two more columns: number of the ``group`` and ``latent`` score."""
        rng = np.random.default_rng(random_state)
        sizes = _apportion(self.sizes, n_rows)
        group = np.repeat(np.arange(len(self.groups)), sizes)
        described = pd.DataFrame([(g.race, g.sex, g.age) for g in self.groups], columns=["race", "sex", "age"])
        table = described.iloc[group].reset_index(drop=True).assign(group=group)
        shares = self.presence_shares()
        patterns = [rng.choice(len(PATTERNS), size, p=p) for size, p in zip(sizes, shares, strict=True)]
        present = PATTERNS[np.concatenate(patterns)]
        numbers = np.minimum(rng.geometric(1 - self.continuation(group, present)), self.largest)
        table[list(COUNTED)] = numbers * present[:, : len(COUNTED)]
        table["gang_affiliation"] = present[:, -1]
        table["crime_trend"] = self.trend.ppf(rng.random(n_rows))
        noise = np.asarray(self.noise)[decade(table["age"])]
        table["latent"] = self.expected_score(table) + noise * rng.standard_normal(n_rows)
        table["score"] = self._ranked_scores(table["latent"].to_numpy(), sizes)
        return table.assign(race=self._codes(table["race"], rng))

    def presence_shares(self) -> np.ndarray:
        """Return the probability of each of `PATTERNS` in each group, shape (n_groups, 64)."""
        odds = group_terms(self.groups)[list(PRESENCE_TERMS)].to_numpy() @ self.presence.T
        return softmax(odds @ PATTERNS.T + TOGETHER @ self.pairs, axis=1)

    def continuation(self, group: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Return the probability of one more of each of `COUNTED`, shape (n_rows, 5).

        Parameters
        ----------
        group : ndarray of shape (n_rows,)
            Numbers of groups.
        present : ndarray of shape (n_rows, 6)
            Whether somebody has each of `PREDICTORS`.
        """
        by_group = group_terms(self.groups)[list(MORE_TERMS[:-1])].to_numpy() @ self.more[:, :-1].T
        others = present.sum(axis=1, keepdims=True) - 1
        return expit(by_group[group] + others * self.more[:, -1])

    def expected_score(self, table: pd.DataFrame) -> np.ndarray:
        """Return the score expected from the features, before ranking."""
        columns = {name: table[name].to_numpy(dtype=float) for name in COLUMNS[1:9]}
        columns["age"] = decade(table["age"])
        score = np.asarray(self.level)[columns["age"]]
        for coefficient, names in self.effects:
            score = score + coefficient * np.prod([columns[name] for name in names], axis=0)
        return score

    def _ranked_scores(self, latent: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        scores = np.empty(len(latent), dtype="int64")
        for group, rows in zip(self.groups, np.split(np.arange(len(latent)), np.cumsum(sizes)[:-1]), strict=True):
            ordered = rows[np.argsort(latent[rows])]
            scores[ordered] = group.scores.ppf((np.arange(len(rows)) + 0.5) / max(len(rows), 1))
        return scores

    def _codes(self, race: pd.Series, rng: np.random.Generator) -> np.ndarray:
        codes = np.empty(len(race), dtype=object)
        for name, shares in self.races.items():
            rows = np.flatnonzero(race == name)
            codes[rows] = rng.choice(list(shares), len(rows), p=list(shares.values()))
        return codes

    @classmethod
    def model_validate(cls, content: dict) -> "SubjectModel":
        """Return the model that a file describes."""
        return cls(
            groups=tuple(
                Cohort(race, sex, age, Counts(values=scores, counts=counts))
                for race, sex, age, scores, counts in content["groups"]
            ),
            races=content["races"],
            presence=np.array([content["presence"][name] for name in PREDICTORS]),
            pairs=np.array([effect for *_, effect in content["pairs"]]),
            more=np.array([content["more"][name] for name in COUNTED]),
            largest=tuple(content["largest"]),
            trend=Counts(**content["trend"]),
            level=tuple(content["level"]),
            effects=tuple((effect, tuple(names)) for *names, effect in content["effects"]),
            noise=tuple(content["noise"]),
        )


def decade(age) -> np.ndarray:
    """Return the number of the band of age: 0 for those under 20, 1 from 20 to 30, and so on."""
    return np.asarray(age) // 10 - 1


def group_terms(groups: tuple[Cohort, ...]) -> pd.DataFrame:
    """Return the terms of the log-odds of each group, one row per group."""
    race = np.array([group.race for group in groups])
    woman = np.array([group.sex for group in groups]) == "F"
    decades = decade([group.age for group in groups]) - 2
    black = race == "Black"
    terms = {
        "one": np.ones(len(groups)),
        "black": black,
        "hispanic": race == "Hispanic",
        "other": ~np.isin(race, ["White", "Black", "Hispanic"]),
        "woman": woman,
        "black woman": black & woman,
        "decades": decades,
        "decades squared": decades**2,
    }
    return pd.DataFrame(terms, dtype=float)


def _apportion(counts: np.ndarray, n_rows: int) -> np.ndarray:
    """Split rows in proportion to counts; the largest fractions are rounded up."""
    exact = counts / counts.sum() * n_rows
    sizes = np.floor(exact).astype(int)
    sizes[np.argsort(sizes - exact, kind="stable")[: n_rows - sizes.sum()]] += 1
    return sizes
