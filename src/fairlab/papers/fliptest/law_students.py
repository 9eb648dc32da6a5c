"""The law students of FlipTest's section 5.4: who they are, and their causal counterparts."""

import pandas as pd

from fairlab.data.dataset import Dataset
from fairlab.papers.fliptest.counterfactual import KnowledgeModel

RACES = ("Black", "White")
ATTRIBUTES = ["black", "male"]  # of the causal model


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


def to_white(applicants: pd.DataFrame) -> pd.DataFrame:
    """Return a copy with race set to white and all else left."""
    return applicants.assign(black=0.0, white=1.0)


def white_counterfactual(model: KnowledgeModel, applicants: pd.DataFrame, **options) -> pd.DataFrame:
    """Return the applicants as white, with the scores that their knowledge gives them.

    Parameters
    ----------
    model : KnowledgeModel
        Fitted to `ATTRIBUTES`.
    applicants : DataFrame, as `black_and_white` returns
    **options
        Of `KnowledgeModel.counterfactual`.
    """
    switched = to_white(applicants)
    observed = {"gpa": applicants["GPA"], "lsat": applicants["LSAT"]}
    scores = model.counterfactual(applicants[ATTRIBUTES], switched[ATTRIBUTES], **observed, **options)
    return switched.assign(LSAT=scores["lsat"], GPA=scores["gpa"])
