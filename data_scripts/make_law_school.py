"""Datasheet of `law-school`: admission scores and first-year average of US law students.

What: 21,791 students who entered law school in 1991, from the Bar Passage Study of the Law School Admission Council
    (Wightman 1998), in the subset of Kusner et al. (2017), "Counterfactual Fairness".
Licence: none stated with the public copies; there is no official download.
Columns: race; sex; LSAT (10 to 48, the scale of those years); UGPA, the undergraduate grade point average; ZFYA, the
    first-year average standardised within each school (the target, a number).
Coding of sex: the file has 1 and 2 without a codebook. Read as 1 female, 2 male, as Kusner et al. do. The data bears
    it out: code 1 has 44% of all rows, about the share of women who entered in 1991, but 62% of the rows of Black
    students, among whom women were the majority; and it has the higher UGPA and the lower LSAT.
Dropped: the row number; region_first (not used, and one region has a single student); sander_index, which is exactly
    0.4 UGPA / 4.2 + 0.6 LSAT / 48; first_pf (bar passed at first try), an outcome later than the target.
Quirks: some LSAT scores are averages of several sittings (halves and thirds). Two students have UGPA 0.
Fit for: repeating published experiments. Unfit for: statements about today's students or admissions; the rows are those
    who were admitted, stayed and agreed to take part.
Surrogate: registry.yaml says what it gets right and what not.
"""

from pathlib import Path

import pandas as pd

COLUMNS = ["race", "sex", "LSAT", "UGPA", "ZFYA"]


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return the columns that are used, with sex in words."""
    table = pd.read_csv(raw["law/law_data.csv"], usecols=COLUMNS, dtype=str)[COLUMNS]
    numbers = table[["LSAT", "UGPA", "ZFYA"]].astype(float)  # by way of text, to keep every digit
    return table.assign(sex=table["sex"].map({"1": "female", "2": "male"}), **numbers)


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
