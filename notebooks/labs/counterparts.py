"""Lab 4: people who apply for a job, and the company that hires."""

import numpy as np
import pandas as pd

from fairlab.data.variants.lipton import draw
from fairlab.labs.draws import course_rng, redrawn


def hiring(course: int = 0, *, n_people: int = 1000) -> pd.DataFrame:
    """Return generated people who apply for a job, half of them women (Lipton, McAuley and Chouldechova 2018).

    Parameters
    ----------
    course : int
    n_people : int
        Of each gender. They are drawn again until the shares of women and of men whom `company` hires differ by at most
        one percentage point.

    Returns
    -------
    DataFrame
        Columns gender (male, female), work (years of experience beyond what the job asks for) and hair (its length in
        centimetres): see `fairlab.data.variants.lipton`.

    Examples
    --------
    >>> from fairlab.labs.counterparts import hiring
    >>> hiring(n_people=6).shape
    (12, 3)
    """
    rng = course_rng("hiring", course)
    names = {"gender": "gender", "work_experience": "work", "hair_length": "hair"}
    return redrawn(lambda: draw(n_people, seed=rng.integers(10**6))[list(names)].rename(columns=names), _hires_alike)


def company(people: pd.DataFrame) -> np.ndarray:
    """Return 1 for those whom a company hires: who reach 16 with their years and 0.6 times the length of their hair.

    Parameters
    ----------
    people : DataFrame
        With the columns work and hair of `hiring`.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairlab.labs.counterparts import company
    >>> company(pd.DataFrame({"work": [16, 10], "hair": [0, 5]})).tolist()
    [1, 0]
    """
    return (people["work"] + 0.6 * people["hair"] >= 16).astype(int).to_numpy()


def _hires_alike(people: pd.DataFrame) -> bool:
    return np.ptp(pd.Series(company(people)).groupby(people["gender"]).mean()) <= 0.01
