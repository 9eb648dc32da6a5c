"""The hiring data of Lipton et al. 2018 as FlipTest uses it (section 5.3): scaled groups, and the authors' model."""

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from fairlab.data.dataset import Dataset

GENDERS = {"women": "female", "men": "male"}
FEATURES = {
    "work_experience": "work experience (standard deviations)",
    "hair_length": "hair length (standard deviations)",
}

# Kept in the authors' notebooks; columns: work experience, hair length.
AUTHORS_COEF, AUTHORS_INTERCEPT = np.array([1.4028, 1.1688]), -0.8684


def authors_model(X) -> np.ndarray:
    """Decide as the linear rule kept in the authors' notebooks: 1 for hired.

    Parameters
    ----------
    X : DataFrame or array of shape (n_rows, 2)
        Work experience and hair length, in standard deviations.
    """
    return (np.asarray(X) @ AUTHORS_COEF + AUTHORS_INTERCEPT > 0).astype(int)


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
