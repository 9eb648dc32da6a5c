"""Datasheet of `adult-uci`: UCI Adult, also called Census Income.

What: 48,842 people from the 1994 Current Population Survey of the US Census Bureau, extracted by Barry Becker; the task
    is to tell whether a person earned more than 50,000 dollars a year.
Licence: CC BY 4.0, as stated by the UCI repository. Cite Becker and Kohavi (1996), doi:10.24432/C5XW20.
Rows: the 32,561 of adult.data, then the 16,281 of adult.test, in file order. Nothing is dropped, duplicates neither.
Columns: the 14 attributes under UCI's names, and `income` ("<=50K", ">50K").
Quirks: blanks around values are stripped, the final dot of the test labels is removed, "?" (unknown) stays as a
    category of workclass, occupation and native-country. `education` and `education-num` say the same. `fnlwgt` is
    the number of people that a row stands for. 99,999 in `capital-gain` is a cap. Countries are spelt as in the file.
Fit for: repeating published experiments. Unfit for: statements about today's incomes, or about race and gender beyond
    two sexes and five coarse races, as the survey recorded them.
"""

from pathlib import Path

import pandas as pd

COLUMNS = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
    "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
]  # fmt: skip


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return the training part followed by the test part."""
    layout = {"header": None, "names": COLUMNS, "skipinitialspace": True, "keep_default_na": False}
    train = pd.read_csv(raw["adult/adult.data"], **layout)
    test = pd.read_csv(raw["adult/adult.test"], skiprows=1, **layout)  # the first line is a comment
    table = pd.concat([train, test], ignore_index=True)
    return table.assign(income=table["income"].str.removesuffix("."))


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
