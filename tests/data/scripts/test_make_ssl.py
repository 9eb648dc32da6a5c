import numpy as np
import pandas as pd
import pytest

from fairlab.data.errors import DataError
from fairlab.data.tables import load_script
from fairlab.paths import project

DATA_SCRIPTS = project().data_scripts

MAKE = load_script(DATA_SCRIPTS / "make_ssl.py")
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


def prepare(table, source=MAKE.EXPORT):
    return MAKE.prepare(table, source, rows=len(table))


def test_columns_become_numbers_and_codes():
    table = prepare(export())
    assert list(table.columns) == list(OFFICIAL)
    assert table["age"].tolist() == [20, 10, 10, 70]
    assert table["score"].tolist() == [500, 388, 388, 139]
    assert table.iloc[0].tolist() == [500, 20, 0, 1, 4, 1, 1, 1.0, 1, "M", "BLK"]
    assert table.dtypes["narcotics_arrests"] == np.int64
    assert table.dtypes["crime_trend"] == np.float64


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


def test_the_cleaned_file_is_read_by_the_order_of_its_columns():
    cleaned = export().drop(columns="LATITUDE").set_axis([f"column {j}" for j in range(11)], axis=1)
    pd.testing.assert_frame_equal(prepare(cleaned, MAKE.CLEANED), prepare(export()))


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


def test_another_number_of_rows_is_refused(tmp_path):
    path = tmp_path / "list.csv"
    export().to_csv(path, index=False)
    with pytest.raises(DataError, match="4 rows, expected 398,684"):
        MAKE.make({MAKE.EXPORT: path})
