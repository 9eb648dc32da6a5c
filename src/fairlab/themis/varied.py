"""Decisions on rows whose sensitive columns, or columns that stand for them, take all of their values in turn."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_mutual_info_score

from fairlab.cases.case import Case
from fairlab.cases.finding import beside
from fairlab.statistics import difference_p_value, exact_interval, exclusive_correlation

LEAST = 0.05  # adjusted mutual information, of which chance explains none
MOST = 2  # proxies of one column
PEOPLE = 5_000  # that associations are measured on


def proxies_of(case: Case, name: str, *, random_state: int = 0) -> tuple[str, ...]:
    """Return the features that tell most about a sensitive column, at most `MOST`; none if all tell next to nothing.

    Measured by adjusted mutual information: 0 where chance explains all, 1 where one column says the other. Wide
    numbers are taken by their bins.

    Parameters
    ----------
    case : Case
    name : str
        Sensitive column.
    random_state : int
        Of the people looked at, if there are more than `PEOPLE`.
    """
    people = case.table.reset_index(drop=True)
    chosen = people.index if len(people) <= PEOPLE else people.sample(PEOPLE, random_state=random_state).index
    groups = case.groups(name).cat.codes.to_numpy()[chosen]
    codes = case.schema.encode(people.loc[chosen, list(case.features)])
    candidates = [k for k, feature in enumerate(case.features) if feature not in case.sensitive_features]
    told = {case.features[k]: adjusted_mutual_info_score(groups, codes[:, k]) for k in candidates}
    strengths = pd.Series(told, dtype=float).sort_values(ascending=False, kind="stable")
    return tuple(strengths.index[strengths >= LEAST][:MOST])


SHOWN = 50  # pairs
REPETITIONS = 200


@dataclass(frozen=True)
class Varied:
    """Decisions on some rows, each with all values of some columns.

    Attributes
    ----------
    decisions : ndarray of bool of shape (n_rows, n_assignments)
    own : ndarray of bool of shape (n_rows,)
        The decision on each row as it is.
    rows : DataFrame of shape (n_rows, n_features)
        As they are.
    values : DataFrame of shape (n_assignments, n_columns)
        What the columns take.
    places : ndarray of int of shape (n_rows,), or None
        Of people: which rows of the table they are. None for rows that are made up.
    """

    decisions: np.ndarray
    own: np.ndarray
    rows: pd.DataFrame
    values: pd.DataFrame
    places: np.ndarray | None = None

    @property
    def generated(self) -> bool:
        """Whether the rows are made up."""
        return self.places is None

    @property
    def hits(self) -> np.ndarray:
        """Whether some values change the decision, of shape (n_rows,)."""
        return (self.decisions != self.own[:, None]).any(axis=1)

    def causal(self, alpha: float) -> tuple[float, float, float]:
        """Return the share of rows whose decision changes, with its exact interval at the level 1 - `alpha`."""
        low, high = exact_interval(self.hits.sum(), len(self.hits), alpha=alpha)
        return float(self.hits.mean()), float(low), float(high)

    def group(self, alpha: float, rng: np.random.Generator) -> tuple[float, float, float]:
        """Return the highest less the lowest favourable rate among the values, and its interval.

        All values are seen on the same rows, so that rates are compared in pairs: how often one value is favoured
        where the other is not. The interval has Clopper and Pearson's for every ordered pair at once (Bonferroni).
        The estimate is corrected for the noise that makes a highest rate look higher (bootstrap over rows).
        """
        n_rows, n_values = self.decisions.shape
        rates = self.decisions.mean(axis=0)
        spread = float(np.ptp(rates))
        only_first = (self.decisions.T.astype(float) @ ~self.decisions).astype(np.int64)
        ends = exact_interval(np.arange(n_rows + 1), n_rows, alpha=alpha / (n_values * (n_values - 1)))
        lows, highs = (end[only_first] for end in ends)
        low, high = (
            float(max(0.0, (lows - highs.T).max())),
            float((highs - lows.T)[~np.eye(n_values, dtype=bool)].max()),
        )
        weights = rng.multinomial(n_rows, np.full(n_rows, 1 / n_rows), size=REPETITIONS) / n_rows
        noise = np.ptp(weights @ self.decisions, axis=1).mean() - spread
        return float(np.clip(spread - max(noise, 0.0), low, high)), low, high

    def group_p_value(self, margin: float = 0.0) -> float:
        """Return the p-value of "no two values' favourable rates differ by more than `margin`".

        It is that of the extreme pair, by its rows in which one value is favoured and the other is not, times the
        number of pairs (Bonferroni).
        """
        n_rows, n_values = self.decisions.shape
        (first, second), n_pairs = self.extremes, n_values * (n_values - 1) // 2
        counts = [int((first & ~second).sum()), int((second & ~first).sum())]
        correlation = exclusive_correlation(counts[0], counts[1], n_rows)
        return min(1.0, n_pairs * difference_p_value(counts, [n_rows] * 2, margin, correlation=correlation))

    @property
    def extremes(self) -> tuple[np.ndarray, np.ndarray]:
        """Decisions with the value that is favoured most often, and with that which is least often."""
        rates = self.decisions.mean(axis=0)
        return self.decisions[:, rates.argmax()], self.decisions[:, rates.argmin()]

    def pairs(self, people: pd.DataFrame | None = None, *, most: int = SHOWN) -> pd.DataFrame:
        """Return rows whose decision some values change, at most so many, each beside the first such values.

        The decision is that on the row, first those that are not favourable; with the other values it is the opposite.
        `people` are shown in place of rows.
        """
        shown = np.flatnonzero(self.hits)
        shown = shown[np.argsort(self.own[shown], kind="stable")][:most]
        partner = (self.decisions[shown] != self.own[shown, None]).argmax(axis=1)
        rows = self.rows if people is None else people
        return beside(rows.iloc[shown], self.values.iloc[partner], self.own[shown], generated=self.generated)

    def extreme_pairs(self) -> pd.DataFrame:
        """Return rows where the values with the highest rate are favoured and those with the lowest are not."""
        rates = self.decisions.mean(axis=0)
        first, second = rates.argmax(), rates.argmin()
        shown = np.flatnonzero(self.decisions[:, first] & ~self.decisions[:, second])[:SHOWN]
        own, partner = (self.values.iloc[[number] * len(shown)] for number in (first, second))
        rows = self.rows.iloc[shown].assign(**{name: column.array for name, column in own.items()})
        return beside(rows, partner, True, generated=self.generated)


def over_inputs(case: Case, names: tuple[str, ...], n_inputs: int, rng: np.random.Generator) -> Varied:
    """Return decisions on generated inputs: each feature is drawn by itself from the people of the table.

    Parameters
    ----------
    case : Case
    names : tuple of str
        Features to vary; of a number in bins they take the middle value of each.
    n_inputs : int
        How many are drawn.
    rng : Generator
    """
    drawn = case.draw(n_inputs, rng)
    schema = case.schema
    positions = schema.positions(names)
    values = case.values(names)
    codes = schema.encode(drawn)[:, positions]
    own = np.ravel_multi_index(tuple(codes.T), [schema.sizes[position] for position in positions])
    rows = drawn.assign(**{name: column.take(own).array for name, column in values.items()})
    decisions = case.vary(rows, names)
    return Varied(decisions, decisions[np.arange(n_inputs), own], rows, values)


def over_people(case: Case, names: tuple[str, ...], people: np.ndarray) -> Varied:
    """Return decisions on people of the case's table, given by their places."""
    rows = case.table[list(case.features)].iloc[people]
    return Varied(case.vary(rows, names), case.decide(rows), rows, case.values(names), people)
