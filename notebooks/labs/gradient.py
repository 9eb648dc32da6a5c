"""Lab 6: families whom an office looks into."""

import numpy as np
import pandas as pd

from fairlab.labs.draws import course_rng

# column: lowest and highest value
FAMILIES = {
    "income": (1, 20),
    "rent": (1, 10),
    "children": (1, 5),
    "hours": (0, 50),
    "years": (0, 20),
    "late": (0, 9),
    "origin": (0, 1),
}


def families(course: int = 0, *, n_people: int = 3000) -> pd.DataFrame:
    """Return generated families who get a supplement for the care of their children, and whom an office looked into.

    The clerks looked sooner into families that were born abroad.

    Parameters
    ----------
    course : int
        By how much sooner is drawn from it, too.
    n_people : int
        Families.

    Returns
    -------
    DataFrame
        Whole numbers within the bounds of `FAMILIES`: income and rent (in levels), children, hours of care a week,
        years at the address, late letters, origin (1: born abroad); and picked (0, 1).

    Examples
    --------
    >>> from fairlab.labs.gradient import families
    >>> families(n_people=5).shape[0]
    5
    """
    rng = course_rng("families", course)
    drawn = {
        "income": rng.gamma(4, 2.2, n_people),
        "children": 1 + rng.poisson(0.9, n_people),
        "years": rng.gamma(1.5, 5, n_people),
        "late": rng.poisson(1.5, n_people),
        "origin": rng.integers(0, 2, n_people),
    }
    drawn["rent"] = drawn["income"] / 3 + rng.normal(1.5, 1.2, n_people)
    drawn["hours"] = 18 + 4 * drawn["children"] + rng.normal(0, 10, n_people)
    low, high = np.array(list(FAMILIES.values())).T
    table = pd.DataFrame(drawn)[list(FAMILIES)].clip(low, high, axis=1).astype(int)
    counts = {"income": -0.3, "hours": 0.12, "years": -0.075, "late": 0.75}
    counts["origin"] = rng.uniform(0.68, 0.9) if course else 0.75
    odds = table[list(counts)] @ pd.Series(counts) - 2.55
    return table.assign(picked=(rng.random(n_people) < 1 / (1 + np.exp(-odds))).astype(int))
