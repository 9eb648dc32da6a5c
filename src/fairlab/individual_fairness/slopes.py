"""How a model's log odds change with each feature of a person: by gradients, or by differences between rows."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import logit

CERTAIN = 0.995  # a probability counts as no nearer to 1 than this, to 0 than the rest: no loss is zero or infinite
LIMIT = logit(CERTAIN)
STEP = 0.5  # of differences, in standard deviations; at least to the next value that occurs


@dataclass(frozen=True, eq=False)
class Scorer:
    """A case's scores on the scale of log odds.

    Parameters
    ----------
    case : Case
        With scores.

    Attributes
    ----------
    scale : float
        What scores that are no probabilities are divided by: their standard deviation. 1 for probabilities.
    """

    case: object

    @property
    def scale(self) -> float:
        """What log odds of the case are divided by."""
        return 1.0 if self.case.unit != "score" else float(self.case.log_odds().std()) or 1.0

    @property
    def threshold(self) -> float:
        """Log odds at which a decision turns favourable."""
        if self.case.unit == "score" or self.case.threshold is None:
            return 0.0
        return float(np.clip(logit(self.case.threshold), -LIMIT, LIMIT))

    def log_odds(self, rows: pd.DataFrame | None = None) -> np.ndarray:
        """Return log odds of the favourable class, shape (n_rows,); of probabilities, held within `CERTAIN`."""
        odds = self.case.log_odds(rows) / self.scale
        return np.clip(odds, -LIMIT, LIMIT) if self.case.unit == "probability" else odds


def rows_per_person(case) -> int:
    """Return how many rows the slopes of one person take at most."""
    encoding = case.encoding
    if case.has_gradients:
        return 1
    numbers = encoding.is_number
    return int(2 * numbers.sum() + (~numbers).sum()) + 1


def log_odds_slopes(scorer: Scorer, people: np.ndarray) -> np.ndarray:
    """Return the slopes of the log odds by the columns of the encoding, in its units.

    Networks give gradients. For any other model a slope is a difference: of a number, between the values that occur
    next to half a standard deviation above and below; of a category, between having it and the person's own; of a
    missing value, between missing it and not.

    Parameters
    ----------
    scorer : Scorer
    people : ndarray of int of shape (n_people,)
        Row numbers of the table.

    Returns
    -------
    ndarray of shape (n_people, n_columns)
    """
    case = scorer.case
    features = list(case.features)
    table = case.table[features]
    encoded = case.encoding.transform(table)
    if case.has_gradients:
        return case.log_odds_gradient(encoded[people])[1] / scorer.scale
    rows = table.iloc[people].reset_index(drop=True)
    changed = list(_changes(case, table, encoded, people))
    blocks = [rows.iloc[of].assign(**{name: _taken(table[name], values)}) for _, name, of, values, _ in changed]
    start = scorer.log_odds(rows)
    answers = scorer.log_odds(pd.concat(blocks, ignore_index=True)) if blocks else np.empty(0)
    rises, runs = np.zeros((2, len(people), encoded.shape[1]))
    for (column, _, of, _, run), answer in zip(changed, np.split(answers, _ends(blocks)), strict=True):
        # Above and below: the rise from one to the other, over the distance between them.
        sign = np.sign(run)
        rises[of, column] += sign * (answer - start[of])
        runs[of, column] += np.abs(run)
    return np.divide(rises, runs, out=np.zeros_like(rises), where=runs > 0)


def _changes(case, table, encoded, people):
    """Yield changes as (column, feature, which people, rows of the table whose value they get, signed distance)."""
    encoding = case.encoding
    everyone = np.arange(len(people))
    for name in case.features:
        columns = [j for j, source in enumerate(encoding.source) if source == name]
        missing = table[name].isna().to_numpy()
        known = np.flatnonzero(~missing)
        for j in columns:
            if encoding.is_number[j]:
                if not len(known):
                    continue
                values, first = np.unique(encoded[known, j], return_index=True)
                own = encoded[people, j]
                above = np.minimum(np.searchsorted(values, own + STEP - 1e-9), len(values) - 1)
                below = np.maximum(np.searchsorted(values, own - STEP + 1e-9, side="right") - 1, 0)
                for place in (above, below):
                    run = values[place] - own
                    of = everyone[(run != 0) & ~missing[people]]
                    if len(of):
                        yield j, name, of, known[first[place[of]]], run[of]
                continue
            holders = np.flatnonzero(encoded[:, j] > 0.5)
            others = np.flatnonzero(encoded[:, j] < 0.5)
            of = everyone[encoded[people, j] < 0.5]
            if len(holders) and len(of):
                yield j, name, of, np.full(len(of), holders[0]), np.ones(len(of))
            if len(columns) > 1 and encoding.is_number[columns[0]] and len(others):  # a number that is missing
                of = everyone[encoded[people, j] > 0.5]
                middle = known[np.argsort(encoded[known, columns[0]], kind="stable")[len(known) // 2]]
                if len(of):
                    yield j, name, of, np.full(len(of), middle), -np.ones(len(of))


def _taken(column: pd.Series, rows: np.ndarray) -> pd.api.extensions.ExtensionArray | np.ndarray:
    """Return values of a column by row number, in its dtype."""
    return column.iloc[rows].array


def _ends(blocks) -> np.ndarray:
    return np.cumsum([len(block) for block in blocks])[:-1]
