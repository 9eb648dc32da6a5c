"""The law students of FlipTest's section 5.4."""

import pandas as pd

from fairlab.data.dataset import Dataset

RACES = ("Black", "White")


def black_and_white(dataset: Dataset) -> pd.DataFrame:
    """Return the black and the white students: race as two indicators, sex as one, LSAT and GPA, not scaled.

    Parameters
    ----------
    dataset : Dataset
        ``law-school``.
    """
    kept = dataset.features[dataset.features["race"].isin(RACES)]
    race = {name.lower(): (kept["race"] == name).astype(float) for name in RACES}
    scores = {"male": (kept["sex"] == "male").astype(float), "LSAT": kept["LSAT"], "GPA": kept["UGPA"]}
    return pd.DataFrame(race | scores)
