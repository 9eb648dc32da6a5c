"""How near a surrogate is to the real data that it replaces."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import ks_2samp

from fairlab.data.dataset import Dataset


@dataclass(frozen=True, eq=False)
class Fidelity:
    """Differences between real and generated rows.

    Attributes
    ----------
    marginals : DataFrame
        By column, the largest difference of the cumulative shares (Kolmogorov-Smirnov; of the shares themselves for
        categories: half the sum of their absolute differences).
    associations : DataFrame
        By pair of columns, Spearman's correlation of both and the difference; categories stand in the order of
        their mean label.
    groups : DataFrame
        By sensitive column and group, rows and mean label of both. The mean label is the share of the positive label,
        or the mean of a measured target.
    """

    marginals: pd.DataFrame
    associations: pd.DataFrame
    groups: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """Return one row per kind of difference: how many there are, their mean and largest absolute value."""
        differences = {
            "marginal": self.marginals["distance"],
            "association": self.associations["difference"].abs(),
            "label by group": (self.groups["surrogate"] - self.groups["real"]).abs(),
        }
        rows = [(kind, len(d), d.mean(), d.max(), d.idxmax()) for kind, d in differences.items()]
        return pd.DataFrame(rows, columns=["difference", "n", "mean", "largest", "where"])


def compare(real: Dataset, surrogate: Dataset) -> Fidelity:
    """Measure a surrogate against the real data set."""
    tables = [_table(dataset) for dataset in (real, surrogate)]
    labels = [label_score(dataset) for dataset in (real, surrogate)]
    return Fidelity(_marginals(*tables), _associations(tables, labels[0]), _by_group(real, surrogate, labels))


def label_score(dataset: Dataset) -> pd.Series:
    """Return 1 for the positive label and 0 for others, or the target itself if it is measured."""
    numeric = dataset.positive_label is None
    return dataset.target if numeric else (dataset.target == dataset.positive_label).astype(float)


def _table(dataset: Dataset) -> pd.DataFrame:
    return pd.concat([dataset.features, dataset.target], axis=1)


def _marginals(real: pd.DataFrame, surrogate: pd.DataFrame) -> pd.DataFrame:
    def distance(name):
        if pd.api.types.is_numeric_dtype(real[name]):
            return ks_2samp(real[name], surrogate[name]).statistic
        shares = [table[name].value_counts(normalize=True) for table in (real, surrogate)]
        return shares[0].sub(shares[1], fill_value=0).abs().sum() / 2

    return pd.DataFrame({"distance": {name: distance(name) for name in real.columns}})


def _associations(tables: list[pd.DataFrame], label: pd.Series) -> pd.DataFrame:
    def numbers(table):
        order = {
            name: label.groupby(tables[0][name], observed=True).mean().rank()
            for name in table.columns
            if not pd.api.types.is_numeric_dtype(table[name])
        }
        return table.assign(**{name: table[name].astype(str).map(ranks) for name, ranks in order.items()})

    first, second = np.triu_indices(tables[0].shape[1], k=1)
    names = tables[0].columns.to_numpy()
    real, surrogate = (numbers(table).corr(method="spearman").to_numpy()[first, second] for table in tables)
    return pd.DataFrame(
        {"real": real, "surrogate": surrogate, "difference": surrogate - real},
        index=pd.MultiIndex.from_arrays([names[first], names[second]], names=["first", "second"]),
    )


def _by_group(real: Dataset, surrogate: Dataset, labels: list[pd.Series]) -> pd.DataFrame:
    parts = {}
    for column in real.sensitive_features.columns:
        frames = [
            label.groupby(dataset.sensitive_features[column], observed=True).agg(["size", "mean"])
            for dataset, label in zip((real, surrogate), labels, strict=True)
        ]
        parts[column] = pd.DataFrame(
            {
                "rows_real": frames[0]["size"],
                "rows_surrogate": frames[1]["size"],
                "real": frames[0]["mean"],
                "surrogate": frames[1]["mean"],
            }
        )
    return pd.concat(parts, names=["column", "group"])
