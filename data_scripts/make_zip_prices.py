"""Make the price in each zip code, as in FairTest's simulation of Staples: python data_scripts/make_zip_prices.py.

The simulation's rule: the price is low if a store of a competitor (Office Depot or OfficeMax) lies within 20 miles of
the centre of the zip code, else high. Distances are haversine on a sphere of radius 3,956 miles; of several stores in a
zip code only the last one listed counts, as in the authors' code. `price_as_specified` follows the rule.
`price_as_published` is the price behind the published numbers: the authors' code passes latitude and longitude to the
distance function in the wrong order, which makes stores to the east and west seem near.

Where the authors' table of zip codes comes from is not stated, so it is no part of fairlab; the state and the two
prices of a zip code, which follow from it, are facts. They are packed beside the data that comes with fairlab.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from make_staples import ZIP_PRICES, read
from pack import write
from scipy.spatial import cKDTree

from fairlab.data.files import fetch_file
from fairlab.data.registry import project_registry
from fairlab.data.tables import to_bytes

ZIP_CODES = "fairtest/staples/zipcodes.csv"
STORES = "fairtest/staples/office_depot_max_coordinates.csv"
EARTH_RADIUS = 3956  # miles
NEAR = 20  # miles
# The order in which a place's coordinates are passed to the distance function.
READINGS = {"as_published": ["longitude", "latitude"], "as_specified": ["latitude", "longitude"]}


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return the state and both prices of every zip code."""
    zip_codes = read(raw[ZIP_CODES], ZIP_CODES, ["zip", "state", "latitude", "longitude"]).set_index("zip")
    stores = read(raw[STORES], STORES, ["zipcode", "latitude", "longitude"])
    prices = {f"price_{name}": price(zip_codes, stores, coordinates=order) for name, order in READINGS.items()}
    return zip_codes[["state"]].assign(**prices).sort_index().reset_index()


def price(homes: pd.DataFrame, stores: pd.DataFrame, *, coordinates: list[str]) -> pd.Series:
    """Return the price in each zip code: low within 20 miles of a store, else high.

    Parameters
    ----------
    homes : DataFrame of shape (n_zip_codes, any)
        Indexed by zip code, with latitude and longitude in degrees.
    stores : DataFrame of shape (n_stores, any)
        With zipcode, latitude and longitude; a later store of a zip code replaces an earlier one.
    coordinates : list of str
        Columns that are used as latitude and longitude.

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
    """Return points of the unit sphere for angles in degrees, the first column as latitude, the second as longitude."""
    up, around = np.radians(places.to_numpy(dtype=float)).T
    return np.column_stack([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])


if __name__ == "__main__":
    files = map(project_registry().file, (ZIP_CODES, STORES))
    write(ZIP_PRICES, to_bytes(make({file.path: fetch_file(file) for file in files})))
