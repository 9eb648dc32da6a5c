"""Datasheet of `staples`: synthetic shoppers, and the price that a rule by distance would show them.

What: 98,924 of the 100,000 synthetic users that the authors of FairTest (Tramer et al. 2017) drew from US census tables
    by zip code, with the price of their simulation of Staples' online shop: low if a store of a competitor (Office
    Depot or OfficeMax) lies within 20 miles of the centre of the zip code, else high. No real person, price or order.
Columns: state; gender; race (the eight census groups); income, below or from 50,000 dollars a year, the lower four of
    the authors' eight bands against the upper four; and two prices, as data_scripts/make_zip_prices.py explains:
    `price_as_published` is what stands behind the published numbers, `price_as_specified` follows the rule.
Dropped: 1,076 users whose zip code has no coordinates; user number, zip code, city, distance and exact income.
Rows: in the order of the users' file.
Licence: Apache-2.0 (FairTest).
Fit for: repeating the study. Unfit for: statements about Staples, or about real people's incomes; income is drawn by
    zip code and race and is not tied to gender or age.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from fairlab.data.errors import DataError

USERS = "fairtest/staples/users_100000.csv"
ZIP_PRICES = "fairtest/staples/zip_prices.csv"
PRICES = ["price_as_published", "price_as_specified"]

INCOME_LIMIT = 50_000  # dollars a year
GENDERS = {"0": "M", "1": "F"}
RACES = {
    "1": "White Not Hispanic or Latino",
    "2": "Hispanic or Latino",
    "3": "Black or African American",
    "4": "American Indian and Alaska Native",
    "5": "Asian",
    "6": "Native Hawaiian and Other Pacific Islander",
    "7": "Some Other Race",
    "8": "Two or More Races",
}


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return one row per user whose zip code has coordinates, with both prices."""
    users = read(raw[USERS], USERS, ["zipcode", "sex", "race", "income"])
    zip_codes = read(raw[ZIP_PRICES], ZIP_PRICES, ["zip", "state", *PRICES]).set_index("zip")
    table = users.join(zip_codes, on="zipcode", how="inner").reset_index(drop=True)
    return pd.DataFrame(
        {
            "state": table["state"],
            "gender": table["sex"].map(GENDERS),
            "race": table["race"].map(RACES),
            "income": np.where(table["income"].astype(int) < INCOME_LIMIT, "<50K", ">=50K"),
            **table[PRICES],
        }
    )


def read(path: Path, name: str, columns: list[str]) -> pd.DataFrame:
    """Return some columns of one of the files as text; their headers start with a number sign.

    Raises
    ------
    DataError
        If a column is missing.
    """
    table = pd.read_csv(path, dtype=str, skipinitialspace=True).rename(columns=lambda column: column.strip(" #"))
    missing = [column for column in columns if column not in table]
    if missing:
        raise DataError(f"{name}: misses the columns {', '.join(missing)}; found {', '.join(table.columns)}")
    return table[columns]


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
