"""Lab 1: applications for graduate studies."""

from collections.abc import Callable

import pandas as pd

from fairlab.labs.draws import course_rng, redrawn

# department: men admitted, men rejected, women admitted, women rejected
# Bickel, Hammel and O'Connell (1975), as counted in the file of FairTest; the same as `fairlab.load("berkeley")`.
ADMISSIONS = {
    "A": (512, 313, 89, 19),
    "B": (353, 207, 20, 5),
    "C": (120, 205, 202, 391),
    "D": (138, 279, 131, 244),
    "E": (53, 138, 94, 299),
    "F": (16, 256, 24, 317),
}


def admissions(course: int = 0) -> pd.DataFrame:
    """Return applications for graduate studies at Berkeley in 1973, one a row.

    Parameters
    ----------
    course : int
        0: the published counts. Else: as many applicants of each gender to each department, who are admitted at
        random with the published rates; drawn again until men are ahead by at least ten percentage points overall, and
        women in departments A and B and in the mean of the departments, weighted by their applicants.

    Returns
    -------
    DataFrame
        Columns gender (man, woman), department (A to F) and admitted (yes, no).

    Examples
    --------
    >>> from fairlab.labs.berkeley import admissions
    >>> len(admissions()), list(admissions())
    (4425, ['gender', 'department', 'admitted'])
    """
    rng = course_rng("admissions", course)
    if not course:
        return _applications(lambda yes, no: yes)
    return redrawn(lambda: _applications(lambda yes, no: int(rng.binomial(yes + no, yes / (yes + no)))), _turns_round)


def _applications(count: Callable) -> pd.DataFrame:
    """Return one row for each application; `count` says how many are admitted, given the published counts."""
    blocks = []
    for department, counts in ADMISSIONS.items():
        for gender, yes, no in (("man", *counts[:2]), ("woman", *counts[2:])):
            admitted = count(yes, no)
            blocks += [(gender, department, "yes")] * admitted + [(gender, department, "no")] * (yes + no - admitted)
    return pd.DataFrame(blocks, columns=["gender", "department", "admitted"])


def _turns_round(table: pd.DataFrame) -> bool:
    chosen = table["admitted"] == "yes"
    overall = chosen.groupby(table["gender"]).mean()
    rate = chosen.groupby([table["department"], table["gender"]]).mean().unstack()
    gap = rate["woman"] - rate["man"]
    weighted = (gap * table["department"].value_counts(normalize=True)).sum()
    return overall["man"] - overall["woman"] >= 0.1 and gap[["A", "B"]].min() > 0 and weighted > 0
