"""Datasheet of `staples`: synthetic shoppers, and the price that a rule by distance would show them.

What: 98,924 of the 100,000 synthetic users that the authors of FairTest (Tramer et al. 2017) drew from US census tables
    by zip code, with the price of their simulation of Staples' online shop: low if a store of a competitor (Office
    Depot or OfficeMax) lies within 20 miles of the centre of the zip code, else high. No real person, price or order.
Columns: state; gender; race (the eight census groups); income, below or from 50,000 dollars a year, the lower four of
    the authors' eight bands against the upper four; and two prices. `price_as_described` follows the rule.
    `price_as_published` is what stands behind the published numbers: the authors' code hands latitude and longitude
    to the distance function in the wrong order, which makes stores to the east and west seem near.
Dropped: 1,076 users whose zip code has no coordinates; user number, zip code, city, distance and exact income.
Rows: in the order of the users' file. Distances: haversine on a sphere of radius 3,956 miles; of several stores in a
    zip code only the last one listed counts, as in the authors' code.
Licence: Apache-2.0 (FairTest); the origin of its table of zip codes is not stated.
Fit for: repeating the study. Unfit for: statements about Staples, or about real people's incomes; income is drawn by
    zip code and race and is not tied to gender or age.
Surrogate: registry.yaml says what it gets right and what not.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree

from fairlab.data.errors import DataError

USERS = "fairtest/staples/users_100000.csv"
ZIP_CODES = "fairtest/staples/zipcodes.csv"
STORES = "fairtest/staples/office_depot_max_coordinates.csv"

EARTH_RADIUS = 3956  # miles
NEAR = 20  # miles
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
# The order in which the distance function is given a place's coordinates.
READINGS = {"as_published": ["longitude", "latitude"], "as_described": ["latitude", "longitude"]}


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return one row per user whose zip code has coordinates, with both prices."""
    users = read(raw[USERS], USERS, ["zipcode", "sex", "race", "income"])
    zip_codes = read(raw[ZIP_CODES], ZIP_CODES, ["zip", "state", "latitude", "longitude"]).set_index("zip")
    stores = read(raw[STORES], STORES, ["zipcode", "latitude", "longitude"])
    users = users[users["zipcode"].isin(zip_codes.index)].reset_index(drop=True)
    homes = zip_codes.loc[users["zipcode"].unique()]
    prices = {
        f"price_{reading}": users["zipcode"].map(price(homes, stores, coordinates=coordinates))
        for reading, coordinates in READINGS.items()
    }
    return pd.DataFrame(
        {
            "state": users["zipcode"].map(zip_codes["state"]),
            "gender": users["sex"].map(GENDERS),
            "race": users["race"].map(RACES),
            "income": np.where(users["income"].astype(int) < INCOME_LIMIT, "<50K", ">=50K"),
            **prices,
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


def price(homes: pd.DataFrame, stores: pd.DataFrame, *, coordinates: list[str]) -> pd.Series:
    """Return the price in each zip code: low within 20 miles of a store, else high.

    Parameters
    ----------
    homes : DataFrame of shape (n_zip_codes, any)
        Indexed by zip code, with latitude and longitude in degrees.
    stores : DataFrame of shape (n_stores, any)
        With zipcode, latitude and longitude; a later store of a zip code replaces an earlier one.
    coordinates : list of str
        Which columns stand in for latitude and longitude.

    Returns
    -------
    Series of shape (n_zip_codes,)
    """
    stores = stores.drop_duplicates("zipcode", keep="last")
    # Two places are near if the chord between them is short: the haversine formula without its inverse sine.
    chord, _ = cKDTree(unit_vectors(stores[coordinates])).query(unit_vectors(homes[coordinates]))
    miles = 2 * EARTH_RADIUS * np.arcsin(np.minimum(chord / 2, 1))
    return pd.Series(np.where(miles <= NEAR, "low", "high"), homes.index)


def unit_vectors(places: pd.DataFrame) -> np.ndarray:
    """Return points of the unit sphere for angles in degrees: the first column up, the second around."""
    up, around = np.radians(places.to_numpy(dtype=float)).T
    return np.column_stack([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
