"""Individual discrimination (definition 2.1): whether another value of a protected attribute changes the class.

One attribute is varied, or several together.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from fairlab.adf.decisions import as_classes
from fairlab.cases.schema import Schema
from fairlab.checks import check_count, check_number, check_seed

CHUNK = 1 << 18  # inputs, counterparts included, that are held at once


@dataclass(frozen=True)
class Fairness:
    """Share of discriminatory inputs in a uniform sample of the domain.

    Attributes
    ----------
    n : int
        Inputs drawn.
    n_discriminatory : int

    Examples
    --------
    >>> from fairlab.adf import Fairness
    >>> fairness = Fairness(n=1_000, n_discriminatory=200)
    >>> fairness.share, round(fairness.standard_error, 3)
    (0.2, 0.013)
    """

    n: int
    n_discriminatory: int

    @property
    def share(self) -> float:
        """Estimated share."""
        return self.n_discriminatory / self.n

    @property
    def standard_error(self) -> float:
        """Of the share."""
        return float(np.sqrt(self.share * (1 - self.share) / self.n))

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the exact confidence interval of the share (Clopper and Pearson 1934).

        Raises
        ------
        ValueError
            If `confidence` is not between 0 and 1.
        """
        check_number(confidence, "confidence", above=0, below=1)
        low, high = proportion_confint(self.n_discriminatory, self.n, alpha=1 - confidence, method="beta")
        return float(low), float(high)

    def to_frame(self) -> pd.DataFrame:
        """Return one row with all numbers."""
        return pd.DataFrame([{"n": self.n, "share": self.share, "standard_error": self.standard_error}])


def check_schema(schema, name: str = "schema") -> Schema:
    """Return a schema as it is; raise a TypeError if it is none."""
    if not isinstance(schema, Schema):
        raise TypeError(f"{name}: expected a Schema, found {type(schema).__name__}")
    return schema


def sensitive_columns(schema: Schema, sensitive) -> list[int]:
    """Return the columns of the protected attributes, in the schema's order.

    Raises
    ------
    ValueError
        If one is not in the schema or named twice, there is none, or no other attribute is left to search along.
    """
    columns = _positions(check_schema(schema), sensitive)
    if len(columns) == len(schema.names):
        raise ValueError("sensitive: no attribute is left to search along")
    return columns


def _positions(schema: Schema, sensitive) -> list[int]:
    if not isinstance(sensitive, Iterable):
        raise ValueError(f"sensitive: expected names of attributes, found {sensitive!r}")
    return schema.positions(sensitive)


def counterparts(X: np.ndarray, sensitive, *, schema: Schema) -> np.ndarray:
    """Return every input with each combination of protected values in turn, its own among them.

    Returns
    -------
    ndarray of shape (n_rows, n_combinations, n_attributes)
    """
    values = schema.values(sensitive)
    every = np.repeat(X[:, None, :], len(values), axis=1)
    every[:, :, schema.positions(sensitive)] = values
    return every


class Partners:
    """Looks for other protected values that change the class of inputs.

    Parameters
    ----------
    classify : callable
        Takes rows of integers, returns one class per row.
    sensitive : str or sequence of str
    schema : Schema

    Attributes
    ----------
    columns : list of int
        Where the protected attributes stand.
    values : ndarray of int of shape (n_combinations, n_sensitive)
        Combinations of their values.
    """

    def __init__(self, classify, sensitive, *, schema: Schema):
        self.classify = classify
        self.columns, self.values = schema.positions(sensitive), schema.values(sensitive)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return which is the first combination that gives each input another class, -1 if none does.

        Parameters
        ----------
        X : ndarray of int of shape (n_rows, n_attributes)
        """
        n, n_values = len(X), len(self.values)
        own = X[:, None, self.columns] == self.values
        own = own[:, :, 0] if len(self.columns) == 1 else own.all(axis=2)
        among = own.any(axis=1)  # an input need not be asked about again
        rows = np.empty((n * n_values + n - among.sum(), X.shape[1]), dtype=X.dtype)
        every = rows[: n * n_values].reshape(n, n_values, X.shape[1])
        every[:], rows[n * n_values :] = X[:, None, :], X[~among]
        every[:, :, self.columns] = self.values
        classes = self.classify(rows)
        others, mine = classes[: n * n_values].reshape(n, n_values), np.empty(n, dtype=classes.dtype)
        mine[among], mine[~among] = others[own], classes[n * n_values :]
        differs = others != mine[:, None]
        return np.where(differs.any(axis=1), differs.argmax(axis=1), -1)


def discriminatory(model, X, sensitive, *, schema: Schema, threshold: float | None = None) -> np.ndarray:
    """Return which inputs are discriminatory: some other protected values, all else equal, change the class.

    Parameters
    ----------
    model : Keras model, Network, object with ``predict``, or callable
        Gives classes; with a threshold, scores. See `fairlab.adf.decisions`.
    X : DataFrame or array of integers of shape (n_rows, n_attributes)
        Inputs may lie outside of the bounds; protected values within them are tried all the same.
    sensitive : str or sequence of str
        With several attributes, every combination of their values is tried.
    schema : Schema
        Its bounds say which values there are.
    threshold : float or None
        For models that give scores: the class is whether the score is at least this.

    Returns
    -------
    ndarray of bool of shape (n_rows,)

    Raises
    ------
    ValueError
        If a protected attribute is not in the schema, `X` or the model has other columns, or what the model returns is
        no class, as probabilities are not.

    Examples
    --------
    >>> from fairlab.adf import discriminatory
    >>> from fairlab.cases import Schema
    >>> schema = Schema.from_bounds({"income": (0, 9), "sex": (0, 1)})
    >>> model = lambda X: (X[:, 0] + 2 * X[:, 1] >= 5).astype(int)
    >>> discriminatory(model, np.array([[4, 0], [4, 1], [9, 0]]), "sex", schema=schema).tolist()
    [True, True, False]
    """
    X, classify = check_schema(schema).check(X), as_classes(model, threshold=threshold)
    _positions(schema, sensitive)
    rows = max(1, CHUNK // len(schema.values(sensitive)))
    pieces, partners = range(0, len(X), rows), Partners(classify, sensitive, schema=schema)
    return np.concatenate([partners(X[start : start + rows]) >= 0 for start in pieces])


def estimate_unfairness(
    model, *, schema: Schema, sensitive, n: int = 100_000, threshold: float | None = None, random_state=0
) -> Fairness:
    """Estimate the share of discriminatory inputs among all of the domain (section 4.2, RQ3).

    Parameters
    ----------
    model, schema, sensitive
        As for `discriminatory`.
    n : int
        Uniform draws; the protected attributes are drawn, too.
    threshold : float or None
        As for `discriminatory`.
    random_state : int, Generator or None

    Returns
    -------
    Fairness

    Examples
    --------
    >>> from fairlab.adf import estimate_unfairness
    >>> from fairlab.cases import Schema
    >>> schema = Schema.from_bounds({"income": (0, 9), "sex": (0, 1)})
    >>> fairness = estimate_unfairness(
    ...     lambda X: (X[:, 0] + 2 * X[:, 1] >= 5).astype(int), schema=schema, sensitive="sex", n=1_000
    ... )
    >>> low, high = fairness.interval()
    >>> low < 0.2 < high
    True
    """
    X = check_schema(schema).sample(check_count(n, "n"), random_state=check_seed(random_state))
    found = discriminatory(model, X, sensitive, schema=schema, threshold=threshold)
    return Fairness(len(X), int(found.sum()))
