"""Datasheet of `health`: a year of insurance claims, the days in hospital of the next, and a prediction of them.

What: members of the Heritage Health Prize (release 3, 2011) with what they claimed in a year, as the 128 attributes of
    the winners of its first milestone, and the days (0 to 15) they spent in hospital in the following year. FairTest
    (Tramer et al. 2017) studies the errors of a predictor of these days.
Rows: one per member and year with known days (2 and 3), sex and age, less the quarter that the predictor is trained
    on: 86,358. In random order.
Columns: the attributes under the names of FairTest's files; predicted_days and confidence; days (the target). Age is
    the middle of a decade, 85 for 80 and more. A missing average, minimum or maximum is 0, a missing range or standard
    deviation -1, but 0 where there is only one claim. Averages are cut to whole numbers, but for drugs and labs.
Predictor: gradient boosting (500 trees, rate 0.05, depth 4, at least 50 in a leaf) of log(1 + days), as in FairTest's
    code; the paper speaks of a random forest. Confidence is low where the middle 90% of the single trees' predictions
    is at least as wide as at the median.
Licence: the contest's terms; not passed on with this project.
Not checked against FairTest's own table, which could not be had: the names, codes and sums of the attributes are those
    of a sample of 1,000 rows in its tests, the choice of the training quarter is ours.
Fit for: repeating the study. Unfit for: care of patients; the claims are coarse, masked and from one network.
Surrogate: registry.yaml says what it gets right and what not.
"""

from pathlib import Path
from zipfile import BadZipFile, ZipFile

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import train_test_split

from fairlab.data.errors import DataError

ARCHIVE = "heritage/data.zip"
KEY = ["MemberID", "Year"]
FILES = {
    "Members.csv": ["MemberID", "AgeAtFirstClaim", "Sex"],
    "Claims.csv": [
        *KEY, "ProviderID", "Vendor", "PCP", "Specialty", "PlaceSvc", "PayDelay", "LengthOfStay", "DSFS",
        "PrimaryConditionGroup", "CharlsonIndex", "ProcedureGroup", "SupLOS",
    ],
    "DrugCount.csv": [*KEY, "DrugCount"],
    "LabCount.csv": [*KEY, "LabCount"],
    "DaysInHospital_Y2.csv": ["MemberID", "ClaimsTruncated", "DaysInHospital"],
    "DaysInHospital_Y3.csv": ["MemberID", "ClaimsTruncated", "DaysInHospital"],
}  # fmt: skip

AGES = {"0-9": 5, **{f"{age}-{age + 9}": age + 5 for age in range(10, 80, 10)}, "80+": 85}
SEXES = {"F": "female", "M": "male"}
CHARLSON = {"0": 0, "1-2": 2, "3-4": 4, "5+": 6}
MONTHS = {f"{month - 1}-{month} month{'s' * (month > 1)}": month for month in range(1, 13)}
STAYS = {
    "1 day": 1,
    **{f"{days} days": days for days in range(2, 7)},
    **{"1-2 weeks": 11, "2-4 weeks": 21, "4-8 weeks": 42, "26+ weeks": 180},
}

# Columns that are counted by value, with the words of the attributes and all values.
COUNTED = {
    "PrimaryConditionGroup": ("Condition", [
        "AMI", "APPCHOL", "ARTHSPIN", "CANCRA", "CANCRB", "CANCRM", "CATAST", "CHF", "COPD", "FLaELEC", "FXDISLC",
        "GIBLEED", "GIOBSENT", "GYNEC1", "GYNECA", "HEART2", "HEART4", "HEMTOL", "HIPFX", "INFEC4", "LIVERDZ",
        "METAB1", "METAB3", "MISCHRT", "MISCL1", "MISCL5", "MSC2a3", "NEUMENT", "NULL", "ODaBNCA", "PERINTL",
        "PERVALV", "PNCRDZ", "PNEUM", "PRGNCY", "RENAL1", "RENAL2", "RENAL3", "RESPR4", "ROAMI", "SEIZURE", "SEPSIS",
        "SKNAUT", "STROKE", "TRAUMA", "UTI",
    ]),
    "Specialty": ("Speciality", [
        "Anesthesiology", "Diagnostic Imaging", "Emergency", "General Practice", "Internal", "Laboratory", "NULL",
        "Obstetrics and Gynecology", "Other", "Pathology", "Pediatrics", "Rehabilitation", "Surgery",
    ]),
    "PlaceSvc": ("Treated at", [
        "Ambulance", "Home", "Independent Lab", "Inpatient Hospital", "NULL", "Office", "Other", "Outpatient Hospital",
        "Urgent Care",
    ]),
    "ProcedureGroup": ("Treatment Code", [
        "ANES", "EM", "MED", "NULL", "PL", "RAD", "SAS", "SCS", "SDS", "SEOA", "SGS", "SIS", "SMCD", "SMS", "SNS",
        "SO", "SRS", "SUS",
    ]),
}  # fmt: skip
DISTINCT = {
    "ProviderID": "Number Of Providers",
    "Vendor": "Number of Vendors",
    "PCP": "Number of Primary Physicians",
    "PlaceSvc": "Number of Places Where Treated",
    "Specialty": "Number Of Specialties",
    "PrimaryConditionGroup": "Number of Primary Condition Groups",
    "ProcedureGroup": "Number of Procedure Groups",
}
MEASURED = {
    "CharlsonIndex": "Charlson Index",
    "DSFS": "Days Since First Service",
    "LengthOfStay": "Length Of Stay",
    "PayDelay": "Payment Delay",
}
RANGES = {"CharlsonIndex": "Range Charlson IndexI_range", "DSFS": "Range Days Since First Service"}  # as misspelt there


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return the table of an archive with the contest's files, in whatever folder inside."""
    path = raw[ARCHIVE]
    try:
        with ZipFile(path) as archive:
            places = {Path(member).name: member for member in archive.namelist()}
            return predict(attributes({name: _read(archive, places, name) for name in FILES}))
    except BadZipFile as error:
        raise DataError(f"{path.name}: not an intact zip") from error


def make_from_folder(folder: Path) -> pd.DataFrame:
    """Return the table of a folder with the contest's files."""
    return predict(attributes({name: read(folder / name, name) for name in FILES}))


def read(source, name: str) -> pd.DataFrame:
    """Return the columns that are used of one of the files, as text.

    Raises
    ------
    DataError
        If the file or a column is missing.
    """
    try:
        table = pd.read_csv(source, dtype=str)
    except FileNotFoundError as error:
        raise DataError(f"{name}: not found; expected {', '.join(FILES)}") from error
    missing = [column for column in FILES[name] if column not in table]
    if missing:
        raise DataError(f"{name}: misses the columns {', '.join(missing)}; found {', '.join(table.columns)}")
    return table[FILES[name]]


def attributes(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the 128 attributes and the days of every member and year whose sex, age and days are known.

    Parameters
    ----------
    tables : dict of str to DataFrame
        By name of the file, as text.
    """
    # The days of year 2 follow the claims of year 1.
    known = pd.concat(
        [tables[f"DaysInHospital_{year}.csv"].assign(Year=claimed) for year, claimed in (("Y2", "Y1"), ("Y3", "Y2"))]
    )
    people = known.merge(tables["Members.csv"].dropna(), on="MemberID").set_index(KEY).sort_index()
    claims = tables["Claims.csv"]
    claims = claims[pd.MultiIndex.from_frame(claims[KEY]).isin(people.index)]
    if lost := len(people.index.difference(pd.MultiIndex.from_frame(claims[KEY]))):
        raise DataError(f"Claims.csv: no claims of {lost:,} members with days in hospital, expected some of each")
    frames = [_of_claims(claims), *(_of_months(tables[f"{kind}Count.csv"], kind, people) for kind in ("Drug", "Lab"))]
    table = pd.concat(frames, axis=1)
    table["Age"] = _codes(people["AgeAtFirstClaim"], AGES)
    table["Suppressed Claims"] = people["ClaimsTruncated"].astype(int)
    table = table[sorted(table.columns)]
    table["Gender"] = people["Sex"].map(SEXES)
    table["days"] = people["DaysInHospital"].astype(int)
    return table.reset_index(drop=True)


def predict(table: pd.DataFrame, *, n_trees: int = 500) -> pd.DataFrame:
    """Train on a quarter of the rows and return the others with predicted days and confidence."""
    inputs = table.drop(columns="days").assign(Gender=table["Gender"] == "male").astype(np.float32)
    train, rest = train_test_split(table.index, train_size=0.25, random_state=0)
    model = GradientBoostingRegressor(
        n_estimators=n_trees, learning_rate=0.05, max_depth=4, min_samples_leaf=50, random_state=0
    ).fit(inputs.loc[train], np.log1p(table.loc[train, "days"]))
    held_out = inputs.loc[rest].to_numpy()
    trees = np.stack([tree.predict(held_out).astype(np.float32) for tree in model.estimators_[:, 0]])
    width = np.subtract(*np.percentile(trees, [95, 5], axis=0))
    predicted = np.expm1(model.predict(inputs.loc[rest])).clip(0, 15)
    table = table.loc[rest].reset_index(drop=True)
    table.insert(len(table.columns) - 1, "predicted_days", predicted)
    table.insert(len(table.columns) - 1, "confidence", np.where(width >= np.median(width), "low", "high"))
    return table


def _read(archive: ZipFile, places: dict[str, str], name: str) -> pd.DataFrame:
    if name not in places:
        raise DataError(f"{ARCHIVE}: has no {name}; expected {', '.join(FILES)}")
    with archive.open(places[name]) as stream:
        return read(stream, name)


def _of_claims(claims: pd.DataFrame) -> pd.DataFrame:
    """Return what is counted and measured over the claims of a member and year."""
    suppressed = claims["LengthOfStay"].isna() & (claims["SupLOS"] == "1")
    numbers = claims.assign(
        CharlsonIndex=_codes(claims["CharlsonIndex"], CHARLSON),
        DSFS=_codes(claims["DSFS"], MONTHS),
        LengthOfStay=_codes(claims["LengthOfStay"], STAYS),
        PayDelay=_capped(claims["PayDelay"]),
        suppressed=suppressed,
        unknown=claims["LengthOfStay"].isna() & ~suppressed,
    )
    grouped = numbers.groupby(KEY)
    table = pd.DataFrame({"Number Of Claims": grouped.size()})
    table["Known Length Of Stay"] = grouped["LengthOfStay"].count()
    table["Supressed Length Of Stay"] = grouped["suppressed"].sum()  # as misspelt there
    table["Unknown Length Of Stay"] = grouped["unknown"].sum()
    for column, name in MEASURED.items():
        values = grouped[column]
        table[f"Average {name}"] = values.mean().fillna(0).astype(int)
        table[f"Max {name}"] = values.max().fillna(0).astype(int)
        table[f"Min {name}"] = values.min().fillna(0).astype(int)
        table[f"Stdev {name}"] = values.std().fillna(-1.0).mask(table["Number Of Claims"] == 1, 0.0)
        if column in RANGES:
            table[RANGES[column]] = (values.max() - values.min()).fillna(-1).astype(int)
    for column, name in DISTINCT.items():
        table[name] = grouped[column].nunique()
    for column, (word, values) in COUNTED.items():
        found = claims.fillna({column: "NULL"}).groupby([*KEY, column]).size().unstack(fill_value=0)
        if strange := sorted(set(found.columns) - set(values)):
            raise DataError(f"Claims.csv: column {column!r} holds {strange[0]!r}, expected one of {', '.join(values)}")
        table = table.join(found.reindex(columns=values, fill_value=0).add_prefix(f"{word} "))
    return table


def _of_months(counts: pd.DataFrame, kind: str, people: pd.DataFrame) -> pd.DataFrame:
    """Return what is measured over the months with drugs or labs; all 0 without any."""
    numbers = _capped(counts[f"{kind}Count"])
    grouped = numbers.groupby([counts[column] for column in KEY])
    names = {"mean": f"Average {kind} Count", "max": f"Max {kind} Count", "min": f"Min {kind} Count"}
    table = grouped.agg([*names, "size"]).rename(columns={**names, "size": f"{kind} Months"})
    table = table.reindex(people.index).fillna(0)
    table[f"No {kind} Count"] = (table[f"{kind} Months"] == 0).astype(int)
    return table.astype({name: int for name in table.columns if not name.startswith("Average")})


def _codes(column: pd.Series, codes: dict[str, int]) -> pd.Series:
    """Return the numbers of a column of text; what is missing stays so, blanks do not matter."""
    text = column.str.replace("- ", "-").str.strip()
    strange = sorted(set(text.dropna()) - set(codes))
    if strange:
        raise DataError(f"column {column.name!r} holds {strange[0]!r}, expected one of {', '.join(codes)}")
    return text.map(codes)


def _capped(column: pd.Series) -> pd.Series:
    """Return the numbers of a column of text whose largest value ends with a plus."""
    numbers = pd.to_numeric(column.str.removesuffix("+"), errors="coerce")
    strange = column[numbers.isna() & column.notna()]
    if len(strange):
        raise DataError(f"column {column.name!r} holds {strange.iloc[0]!r}, expected numbers")
    return numbers


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
