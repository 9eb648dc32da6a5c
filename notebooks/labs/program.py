"""Lab 3: the program of an agency, queried as a black box."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from fairlab.labs.draws import course_rng

# What the agency asks for, and the possible answers.
QUESTIONS = {
    "gender": ["woman", "man"],
    "origin": ["local", "foreign"],
    "age": ["young", "middle", "old"],
    "children": [0, 1, 2, 3],
    "smoker": ["no", "yes"],
    "income": list(range(1, 11)),
}


def agency(course: int = 0) -> Callable[[pd.DataFrame], np.ndarray]:
    """Return the program of an agency that decides who is invited to view a flat.

    Parameters
    ----------
    course : int
        Limits, and which age is asked more of, are drawn from it.

    Returns
    -------
    callable
        Takes a DataFrame of people, one a row, with the columns of `QUESTIONS`; returns True for those invited.

    Examples
    --------
    >>> from fairlab.labs.program import agency
    >>> agency().__name__
    'invited'
    """
    rng = course_rng("agency", course)
    # Of income: what is enough, what women get or lose, what is asked of people from abroad at a certain age.
    enough, step, more = rng.integers([4, 1, 1], [6, 3, 3]) if course else (4, 1, 2)
    age = rng.choice(QUESTIONS["age"]) if course else "old"

    def invited(people: pd.DataFrame) -> np.ndarray:
        by_gender = np.where(people["children"] >= 2, step, -step) * (people["gender"] == "woman")
        by_origin = more * ((people["origin"] == "foreign") & (people["age"] == age))
        needed = enough + by_gender + by_origin + (people["smoker"] == "yes")
        return (people["income"] >= needed).to_numpy()

    return invited
