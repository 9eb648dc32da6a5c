"""Datasheet of `ssl`: Chicago's Strategic Subject List, people with an arrest and the risk score they were given.

What: 398,582 people listed by the Chicago police with a score from 0 to 500 for the risk of being party to a
    shooting, as published by the city in 2017 (view 4aki-r3np); the program ended in 2019.
Sources: either of two files, with the same table as the result. The city's export: 398,684 rows, in any order, its
    columns named as the portal shows them or as its interfaces spell them. Or the file that FlipTest cleaned (Black
    et al. 2020).
Licence: City of Chicago data terms of use. The list cannot be passed on with this project.
Checks: the portal writes its export anew each time, so that no hash of it is known. It must have the moments and the
    mean scores by race that others printed of the list and its surrogate was fitted to, within one per cent.
Columns: age, the band of age at the latest arrest as the integer of its first two digits (10 for "less than 20");
    counts of being a victim of shootings and of battery or assault, of arrests for violent, narcotics and weapons
    offences; gang affiliation (0 or 1); trend in criminal activity; score (the target); sex and race as coded by the
    city (F, M, X; API, BLK, I, U unknown, WBH black Hispanic, WHI, WWH white Hispanic).
Dropped: rows without age at the latest arrest (102) or race; every other column, places and dates among them.
Order: score descending, then the other columns, so that the order of the source does not matter. Fit for: repeating
    published experiments on how such scores treat people. Unfit for: statements about crime or about people; arrests
    measure policing as much as conduct, and the counts are of the city's records.
Surrogate: registry.yaml says what it gets right and what not.
"""

import re
from pathlib import Path

import pandas as pd

from fairlab.data.documents import read_yaml
from fairlab.data.errors import DataError
from fairlab.data.project import project

EXPORT, CLEANED = "ssl/strategic_subject_list.csv", "ssl/chicago-ssl-clean.csv"
ROWS = {EXPORT: 398_684, CLEANED: 398_582}

# Our names, and the city's without case and with every other sign as one underscore. In FlipTest's order.
COLUMNS = {
    "score": "ssl_score",
    "age": "predictor_rat_age_at_latest_arrest",
    "shooting_victim": "predictor_rat_victim_shooting_incidents",
    "assault_victim": "predictor_rat_victim_battery_or_assault",
    "violent_arrests": "predictor_rat_arrests_violent_offenses",
    "gang_affiliation": "predictor_rat_gang_affiliation",
    "narcotics_arrests": "predictor_rat_narcotic_arrests",
    "crime_trend": "predictor_rat_trend_in_criminal_activity",
    "weapons_arrests": "predictor_rat_uuw_arrests",
    "sex": "sex_code_cd",
    "race": "race_code_cd",
}
AGES = {"less than 20": 10, "20-30": 20, "30-40": 30, "40-50": 40, "50-60": 50, "60-70": 60, "70-80": 70}
TOLERANCE = 0.01  # relative: which rows were left out of what is printed is not always said
COUNTS = [name for name in COLUMNS if name not in ("age", "crime_trend", "sex", "race")]


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return the table of whichever source is there."""
    [(source, path)] = raw.items()
    table = pd.read_csv(path, dtype=str, low_memory=False)
    prepared = prepare(table, source, rows=ROWS[source])
    if source == EXPORT:
        printed = read_yaml(project().data_scripts / "surrogates" / "ssl.yaml")["published"]
        check(moments(table, prepared), printed["fitted"] | printed["held out"])
    return prepared


def moments(table: pd.DataFrame, prepared: pd.DataFrame) -> dict[str, float]:
    """Return moments of all rows of the export, and the correlation of score and age of those that are kept."""
    table = _select(table, EXPORT)
    named = [name for name in table if name not in ("score", "age", "sex", "race")]
    numbers = pd.DataFrame({name: _numbers(table[name], EXPORT, whole=False) for name in ["score", *named]})
    parts = {
        "mean of": numbers[named].mean(),
        "deviation of": numbers[named].std(),
        "mean score, race": numbers["score"].groupby(_codes(table["race"])).mean(),
        "correlation of score and": prepared[["age"]].corrwith(prepared["score"]),
    }
    return {f"{what} {of}": value for what, values in parts.items() for of, value in values.items()}


def check(found: dict[str, float], printed: dict[str, float]) -> None:
    """Raise a DataError unless the moments are, within one per cent, those that others printed of the list."""
    beginnings = ("mean of", "deviation of", "mean score, race", "correlation of score and age")
    for name in (name for name in printed if name.startswith(beginnings)):
        if not abs(found.get(name, float("nan")) - printed[name]) <= TOLERANCE * abs(printed[name]):
            raise DataError(f"{EXPORT}: {name}: expected {printed[name]}, as published, found {found.get(name)}")


def prepare(table: pd.DataFrame, source: str, *, rows: int) -> pd.DataFrame:
    """Return the columns that are used, as numbers and codes, in a fixed order of rows.

    Raises
    ------
    DataError
        If columns or rows are missing, an age band is unknown, or a count is no whole number.
    """
    if len(table) != rows:
        raise DataError(f"{source}: {len(table):,} rows, expected {rows:,}")
    table = _select(table, source)
    table = table.dropna(subset=["age", "race"])
    ages = table["age"].str.strip().str.lower()
    if unknown := sorted(set(ages) - set(AGES)):
        raise DataError(f"{source}: unknown age bands {', '.join(unknown)}; expected {', '.join(AGES)}")
    numbers = {name: _numbers(table[name], source, whole=name in COUNTS) for name in [*COUNTS, "crime_trend"]}
    codes = {name: _codes(table[name]) for name in ("sex", "race")}
    table = table.assign(age=ages.map(AGES), **numbers, **codes)
    return table.sort_values(list(COLUMNS), ascending=[False] + [True] * 10, ignore_index=True)


def _select(table: pd.DataFrame, source: str) -> pd.DataFrame:
    if source == CLEANED and len(table.columns) == len(COLUMNS):
        return table.set_axis(list(COLUMNS), axis=1)  # its header is not documented, the order of its columns is
    names = {re.sub(r"[^a-z0-9]+", "_", str(column).lower()).strip("_"): column for column in table.columns}
    missing = [name for name in COLUMNS.values() if name not in names]
    if missing:
        raise DataError(
            f"{source}: misses the columns {', '.join(missing)}; found {', '.join(map(str, table.columns))}"
        )
    return table[[names[official] for official in COLUMNS.values()]].set_axis(list(COLUMNS), axis=1)


def _codes(column: pd.Series) -> pd.Series:
    return column.str.strip().str.upper()


def _numbers(column: pd.Series, source: str, *, whole: bool) -> pd.Series:
    numbers = pd.to_numeric(column, errors="coerce")
    bad = numbers.isna() | (whole & (numbers % 1 != 0))
    if bad.any():
        what = "whole numbers" if whole else "numbers"
        raise DataError(f"{source}: column {column.name!r} holds {column[bad].iloc[0]!r}, expected {what}")
    return numbers.astype("int64" if whole else "float64")


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
