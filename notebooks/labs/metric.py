"""Lab 5: people who ask a bank for a loan."""

import numpy as np
import pandas as pd

from fairlab.labs.draws import course_rng, redrawn


def borrowers(course: int = 0, *, n_people: int = 300) -> pd.DataFrame:
    """Return generated people who asked a bank for a loan.

    Parameters
    ----------
    course : int
    n_people : int

    Returns
    -------
    DataFrame
        Columns merit and quarter, both with mean 0 and standard deviation 1 (the second has to do with a group that is
        not in the table), and repaid (0, 1), which depends on merit alone: drawn again until its correlation with the
        quarter is below 0.1.

    Examples
    --------
    >>> from fairlab.labs.metric import borrowers
    >>> borrowers(n_people=5).shape[0]
    5
    """
    rng = course_rng("borrowers", course)

    def drawn():
        group = rng.integers(0, 2, n_people)
        features = np.column_stack([rng.normal(size=n_people), rng.normal(1.6 * group, 0.6)])
        features = (features - features.mean(axis=0)) / features.std(axis=0)
        repaid = rng.random(n_people) < 1 / (1 + np.exp(-2 * features[:, 0]))
        return pd.DataFrame(features, columns=["merit", "quarter"]).assign(repaid=repaid.astype(int))

    return redrawn(drawn, lambda people: abs(people["quarter"].corr(people["repaid"])) < 0.1)
