import numpy as np
import pandas as pd
import pytest

from fairlab.data import DataError, load
from fairlab.data.tables import load_script
from fairlab.paths import project

DATA_SCRIPTS = project().data_scripts

MAKE = load_script(DATA_SCRIPTS / "make_staples.py")
HOMES = pd.DataFrame(
    {"latitude": [40.0, 40.0, 40.0], "longitude": [-100.0, -100.35, -99.0], "state": "NE"},
    index=["68001", "68002", "68003"],
)
STORES = pd.DataFrame({"zipcode": ["1"], "latitude": [40.0], "longitude": [-100.0]})


def by_haversine(homes, stores, first, second):
    """The authors' formula, pair by pair."""
    prices = []
    for _, home in homes.iterrows():
        miles = []
        for _, store in stores.iterrows():
            a, b = np.radians(home[first]), np.radians(store[first])
            angle = np.radians(store[second] - home[second])
            h = np.sin((b - a) / 2) ** 2 + np.cos(a) * np.cos(b) * np.sin(angle / 2) ** 2
            miles.append(2 * 3956 * np.arcsin(np.sqrt(h)))
        prices.append("low" if min(miles) <= 20 else "high")
    return prices


def test_price_by_hand():
    # At 40 degrees north a degree of longitude is 52.9 miles: the second home is 18.5 miles away, the third 52.9.
    assert MAKE.price(HOMES, STORES, coordinates=["latitude", "longitude"]).tolist() == ["low", "low", "high"]
    # With the coordinates swapped, a degree of longitude is 69.0 miles anywhere.
    assert MAKE.price(HOMES, STORES, coordinates=["longitude", "latitude"]).tolist() == ["low", "high", "high"]


@pytest.mark.parametrize("coordinates", MAKE.READINGS.values(), ids=MAKE.READINGS)
def test_price_is_that_of_the_haversine_formula(coordinates):
    rng = np.random.default_rng(0)
    homes = pd.DataFrame({"latitude": rng.uniform(25, 48, 150), "longitude": rng.uniform(-122, -80, 150)})
    stores = homes[:40] + rng.uniform(-0.5, 0.5, (40, 2))
    stores = stores.assign(zipcode=[str(k) for k in range(40)])
    prices = MAKE.price(homes, stores, coordinates=coordinates)
    assert prices.tolist() == by_haversine(homes, stores, *coordinates)
    assert set(prices) == {"low", "high"}


def test_a_later_store_of_a_zip_code_replaces_an_earlier_one():
    moved = pd.DataFrame({"zipcode": ["1", "1"], "latitude": [40.0, 30.0], "longitude": [-100.0, -90.0]})
    assert set(MAKE.price(HOMES, moved, coordinates=["latitude", "longitude"])) == {"high"}


@pytest.fixture
def files(tmp_path):
    """Three users, one of them in a zip code without coordinates."""
    texts = {
        MAKE.USERS: "#uid, zipcode, sex, race, income \n0,68003,0,4,49999\n1,99999,1,1,5\n2,68001,1,8,50000\n",
        MAKE.ZIP_CODES: "#zip,city,state,latitude,longitude,timezone,dst\n"
        "68001,Here,NE,40,-100,-6,1\n68003,There,NE,40,-99,-6,1\n",
        MAKE.STORES: "#store_numder,zipcode,latitude,longitude\n7,68001,40,-100\n",
    }
    paths = {name: tmp_path / name.rpartition("/")[2] for name in texts}
    for name, text in texts.items():
        paths[name].write_text(text)
    return paths


def test_make_by_hand(files):
    table = MAKE.make(files)
    assert table.to_numpy().tolist() == [
        ["NE", "M", "American Indian and Alaska Native", "<50K", "high", "high"],
        ["NE", "F", "Two or More Races", ">=50K", "low", "low"],
    ]


def test_a_file_without_a_column_is_named(files):
    files[MAKE.STORES].write_text("#store_numder,zipcode,latitude\n7,68001,40\n")
    with pytest.raises(DataError, match=r"office_depot_max_coordinates\.csv: misses the columns longitude; found"):
        MAKE.make(files)


@pytest.fixture
def simulation(mirror):
    """The authors' own sample of users with prices."""
    columns = ["distance", "zipcode", "city", "state", "gender", "race", "band", "price"]
    path = mirror / "fairtest" / "staples" / "simulation_staples.csv"
    return pd.read_csv(path, header=None, names=columns, dtype=str)


@pytest.mark.parametrize(("reading", "share"), [("as_published", 1.0), ("as_described", 0.797)])
def test_prices_of_the_authors_sample(mirror, simulation, reading, share):
    homes = MAKE.read(mirror / MAKE.ZIP_CODES, "zip codes", ["zip", "latitude", "longitude"]).set_index("zip")
    stores = MAKE.read(mirror / MAKE.STORES, "stores", ["zipcode", "latitude", "longitude"])
    assert stores["zipcode"].nunique() == 1559
    sample = simulation.drop_duplicates("zipcode").set_index("zipcode")
    assert len(sample) == 12_116
    prices = MAKE.price(homes.loc[sample.index], stores, coordinates=MAKE.READINGS[reading])
    assert (prices == sample["price"]).mean() == pytest.approx(share, abs=0.001)


def test_codes_of_race_and_gender_are_those_of_the_authors_sample(simulation):
    dataset = load("staples")
    ours = pd.crosstab(dataset.features["race"], dataset.features["gender"], normalize=True)
    theirs = pd.crosstab(simulation["race"], simulation["gender"], normalize=True)
    np.testing.assert_allclose(ours, theirs, rtol=0.25, atol=0.0015)
    income = (dataset.features["income"] == "<50K").mean()
    assert income == pytest.approx(simulation["band"].isin(list("1234")).mean(), abs=0.01)
