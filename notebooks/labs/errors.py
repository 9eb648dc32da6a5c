"""Lab 9: people whom a court scores, and who is arrested again."""

import numpy as np
import pandas as pd

from fairlab.labs.draws import course_rng, redrawn

# quarter: shape of the Beta distribution of the risks of its people
RISKS = {"harbour": (3.0, 2.4), "hill": (2.2, 3.6)}


def arrested(course: int = 0, *, n_people: int = 6000) -> pd.DataFrame:
    """Return generated people whom a court scored, and whether each was arrested again within two years.

    Half of them live in each quarter. A score of 7 means a risk between 60% and 70%, in both quarters, and arrests are
    drawn from the risks: the score is calibrated as it is made. The quarters differ in how many have a high risk. They
    are drawn again until the share of those arrested again differs between the quarters by at least 12 percentage
    points, and, among scores of 6 or more, by at most 3.

    Parameters
    ----------
    course : int
        How the risks of the harbour are distributed is drawn from it, too.
    n_people : int

    Returns
    -------
    DataFrame
        Columns quarter (harbour, hill), score (1 to 10, 10 is the highest risk) and again (0, 1).

    Examples
    --------
    >>> from fairlab.labs.errors import arrested
    >>> arrested(n_people=1000).shape
    (1000, 3)
    """
    rng = course_rng("arrested", course)
    more = rng.uniform(-0.2, 0.2) if course else 0.0
    shapes = RISKS | {"harbour": (RISKS["harbour"][0] + more, RISKS["harbour"][1])}

    def drawn():
        risk = np.concatenate([rng.beta(*shape, n_people // 2) for shape in shapes.values()])
        table = pd.DataFrame({"quarter": np.repeat(list(shapes), n_people // 2), "score": np.ceil(10 * risk)})
        return table.assign(score=table["score"].astype(int), again=(rng.random(len(risk)) < risk).astype(int))

    return redrawn(drawn, _is_calibrated_with_other_base_rates)


def _is_calibrated_with_other_base_rates(table: pd.DataFrame) -> bool:
    high = table[table["score"] >= 6]
    base, precision = (some.groupby("quarter")["again"].mean() for some in (table, high))
    return abs(base["harbour"] - base["hill"]) >= 0.12 and abs(precision["harbour"] - precision["hill"]) <= 0.03
