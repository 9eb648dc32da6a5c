"""The authors' train and test parts of Adult and COMPAS (Appendices F.1 and G)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from fairlab.data import Dataset

TRAIN_SHARE = 0.8

# Seeds of the data split and of the model, for each of the ten repetitions.
ADULT_SEEDS = (
    (98539, 77708), (5192, 98047), (50057, 73349), (21440, 98448), (20609, 49100),
    (7751, 43757), (31228, 36230), (97561, 21758), (45413, 35730), (51668, 64395),
)  # fmt: skip
COMPAS_SEEDS = tuple(
    {(98539, 77708): (767, 1876), (45413, 35730): (2367, 4534)}.get(pair, pair) for pair in ADULT_SEEDS
)


@dataclass(frozen=True, eq=False)
class Split:
    """One division of a data set into training and test part, encoded as numbers.

    Attributes
    ----------
    X_train, X_test : DataFrame of shape (n_rows, n_features)
        Categories one-hot; numbers in standard deviations of the training part from its mean.
    y_train, y_test : Series of length n_rows
        Labels 0 and 1.
    sensitive_train, sensitive_test : DataFrame of shape (n_rows, 2)
        Columns sex and race, zeros and ones.

    Raises
    ------
    ValueError
        If a part has one class only.
    """

    X_train: pd.DataFrame
    X_test: pd.DataFrame
    y_train: pd.Series
    y_test: pd.Series
    sensitive_train: pd.DataFrame
    sensitive_test: pd.DataFrame

    def __post_init__(self):
        for part, y in (("training", self.y_train), ("test", self.y_test)):
            if y.nunique() != 2:
                raise ValueError(f"the {part} part has one class only: every label is {y.iloc[0]}")


def adult_split(dataset: Dataset, seed: int) -> Split:
    """Divide `adult-individual` as aif360 does under a seed of NumPy's legacy generator.

    Parameters
    ----------
    dataset : Dataset
    seed : int
        The first of a pair of `ADULT_SEEDS`.

    Returns
    -------
    Split
        39 features; sex is 1 for men, race for White people; label 1 for more than 50,000 dollars.
    """
    numbers = dataset.features.select_dtypes("number").columns
    X = pd.get_dummies(dataset.features, dtype=float).astype(float)
    sensitive_features = _privileged(dataset)
    order = np.random.RandomState(seed).permutation(len(X))  # the generator of the authors
    train, test = np.split(order, [int(TRAIN_SHARE * len(X))])
    return _split(X, (dataset.target == dataset.positive_label).astype(int), sensitive_features, train, test, numbers)


def compas_split(dataset: Dataset, seed: int) -> Split:
    """Divide `compas-individual`, stratified by label.

    Parameters
    ----------
    dataset : Dataset
    seed : int
        The first of a pair of `COMPAS_SEEDS`.

    Returns
    -------
    Split
        Seven features, the first of which are sex (1 for women) and race (1 for Caucasian people); label 1 for a new
        charge.
    """
    sensitive_features = _privileged(dataset)
    others = dataset.features.drop(columns=sensitive_features.columns)
    X = sensitive_features.join(pd.get_dummies(others, dtype=float)).drop(columns="c_charge_degree_M").astype(float)
    y = dataset.target
    train, test = train_test_split(np.arange(len(X)), train_size=TRAIN_SHARE, stratify=y, random_state=seed)
    return _split(X, y, sensitive_features, train, test, ["priors_count"])


SEEDS = {"adult": ADULT_SEEDS, "compas": COMPAS_SEEDS}
DIVIDE = {"adult": adult_split, "compas": compas_split}


def _privileged(dataset: Dataset) -> pd.DataFrame:
    """Return ones for the members of each privileged group."""
    groups = dataset.privileged_group
    return pd.DataFrame({name: (dataset.sensitive_features[name] == groups[name]).astype(int) for name in groups})


def _split(X, y, sensitive_features, train, test, numbers) -> Split:
    part = X.loc[train, numbers]
    X = X.assign(**((X[numbers] - part.mean()) / part.std(ddof=0)))
    parts = [table.iloc[rows].reset_index(drop=True) for table in (X, y, sensitive_features) for rows in (train, test)]
    return Split(*parts)
