"""Datasheet of `berkeley`: graduate admissions of 1973, Bickel, Hammel and O'Connell (1975).

What: applications to the six largest departments of the University of California at Berkeley: gender, department,
    accepted. The textbook case of Simpson's paradox.
Rows: the 4,425 of FairTest (Tramer et al. 2017), made here from their 24 counts in the order of that file, so that a
    split by position is the same too.
Quirks: not the 4,526 rows of R's UCBAdmissions. Four counts differ: women in B 20 and 5 (R: 17 and 8), men in F 16 and
    256 (R: 22 and 351).
Licence: published counts.
Fit for: showing what an explanatory attribute does. Unfit for: judging Berkeley; nothing is known of an applicant but
    gender and department.
"""

from pathlib import Path

import numpy as np
import pandas as pd

# department: men admitted, men rejected, women admitted, women rejected
COUNTS = {
    "A": (512, 313, 89, 19),
    "C": (120, 205, 202, 391),
    "B": (353, 207, 20, 5),
    "E": (53, 138, 94, 299),
    "D": (138, 279, 131, 244),
    "F": (16, 256, 24, 317),
}


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return one row per applicant; needs no raw file."""
    blocks = [(gender, department, accepted) for department in COUNTS for gender, accepted in (
        ("Male", "Yes"), ("Male", "No"), ("Female", "Yes"), ("Female", "No"))]  # fmt: skip
    rows = np.repeat(np.arange(len(blocks)), np.concatenate(list(COUNTS.values())))
    return pd.DataFrame(blocks, columns=["gender", "department", "accepted"]).iloc[rows].reset_index(drop=True)


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
