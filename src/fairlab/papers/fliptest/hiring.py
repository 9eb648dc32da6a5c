"""The hiring data of Lipton et al. 2018 as FlipTest uses it (section 5.3): women and men on one scale."""

import pandas as pd
from sklearn.preprocessing import StandardScaler

from fairlab.data.dataset import Dataset

GENDERS = {"women": "female", "men": "male"}


def scaled_groups(training: Dataset, *others: Dataset) -> list[dict[str, pd.DataFrame]]:
    """Scale draws of the hiring data by mean and standard deviation of the training draw, both genders together.

    Parameters
    ----------
    training, *others : Dataset
        ``lipton``.

    Returns
    -------
    list of dict of str to DataFrame
        Per draw, the features of ``women`` and ``men``.
    """
    scaler = StandardScaler().set_output(transform="pandas").fit(pd.concat(_groups(training).values()))
    return [{name: scaler.transform(X) for name, X in _groups(draw).items()} for draw in (training, *others)]


def _groups(draw: Dataset) -> dict[str, pd.DataFrame]:
    gender = draw.sensitive_features["gender"]
    return {name: draw.features[gender == code] for name, code in GENDERS.items()}
