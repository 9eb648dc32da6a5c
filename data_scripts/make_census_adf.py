"""Datasheet of `census-adf`: the Census subject of ADF, UCI Adult in 13 integer columns.

What: the 32,561 people of the training part of UCI Adult (see make_adult_uci.py); the task is to tell whether a person
    earned more than 50,000 dollars a year. Themis and Aequitas use the same table.
Licence: CC BY 4.0, as stated by the UCI repository. Cite Becker and Kohavi (1996), doi:10.24432/C5XW20, and for the
    encoding Zhang et al. (2020), doi:10.1145/3377811.3380331.
Rows: all rows of adult.data in file order, duplicates and unknown values kept.
Columns: integers under UCI's names, except that race and sex are in words: the place of a word in the list of its
    column is its code (`fairlab.data.encoding.codes`). Age in decades, fnlwgt in steps of
    20,000, capital gain in 1,000, capital loss in 100. education-num is dropped.
Quirks: an unknown workclass, occupation or country is coded 100, far outside the other codes. The order of the codes
    means nothing, though the networks tested on them take them as numbers.
Fit for: repeating published experiments. Unfit for: anything else; use `adult-uci`.
Surrogate: see fairlab.data.census_adf.
"""

from pathlib import Path

import pandas as pd

from fairlab.data.encoding import binned, coded, copied, encode, in_words

COLUMNS = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
    "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
]  # fmt: skip
UNKNOWN = {"?": 100}
RACES = ["White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"]
SEXES = ["Female", "Male"]
RULES = {
    "age": binned(10),
    "workclass": coded(
        "Private",
        "Self-emp-not-inc",
        "Self-emp-inc",
        "Federal-gov",
        "Local-gov",
        "State-gov",
        "Without-pay",
        "Never-worked",
        **UNKNOWN,
    ),
    "fnlwgt": binned(20000),
    "education": coded(
        "Bachelors",
        "Some-college",
        "11th",
        "HS-grad",
        "Prof-school",
        "Assoc-acdm",
        "Assoc-voc",
        "9th",
        "7th-8th",
        "12th",
        "Masters",
        "1st-4th",
        "10th",
        "Doctorate",
        "5th-6th",
        "Preschool",
    ),
    "marital-status": coded(
        "Married-civ-spouse",
        "Divorced",
        "Never-married",
        "Separated",
        "Widowed",
        "Married-spouse-absent",
        "Married-AF-spouse",
    ),
    "occupation": coded(
        "Tech-support",
        "Craft-repair",
        "Other-service",
        "Sales",
        "Exec-managerial",
        "Prof-specialty",
        "Handlers-cleaners",
        "Machine-op-inspct",
        "Adm-clerical",
        "Farming-fishing",
        "Transport-moving",
        "Priv-house-serv",
        "Protective-serv",
        "Armed-Forces",
        **UNKNOWN,
    ),
    "relationship": coded("Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried"),
    "race": coded(*RACES),
    "sex": coded(*SEXES),
    "capital-gain": binned(1000),
    "capital-loss": binned(100),
    "hours-per-week": copied(),
    "native-country": coded(
        "United-States",
        "Cambodia",
        "England",
        "Puerto-Rico",
        "Canada",
        "Germany",
        "Outlying-US(Guam-USVI-etc)",
        "India",
        "Japan",
        "Greece",
        "South",
        "China",
        "Cuba",
        "Iran",
        "Honduras",
        "Philippines",
        "Italy",
        "Poland",
        "Jamaica",
        "Vietnam",
        "Mexico",
        "Portugal",
        "Ireland",
        "France",
        "Dominican-Republic",
        "Laos",
        "Ecuador",
        "Taiwan",
        "Haiti",
        "Columbia",
        "Hungary",
        "Guatemala",
        "Nicaragua",
        "Scotland",
        "Thailand",
        "Yugoslavia",
        "El-Salvador",
        "Trinadad&Tobago",
        "Peru",
        "Hong",
        "Holand-Netherlands",
        **UNKNOWN,
    ),
    "income": coded("<=50K", ">50K"),
}


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return the encoded training part, the sensitive columns in words."""
    table = pd.read_csv(
        raw["adult/adult.data"], header=None, names=COLUMNS, dtype=str, skipinitialspace=True, keep_default_na=False
    )
    table = encode(table, RULES)
    return table.assign(race=in_words(table["race"], RACES), sex=in_words(table["sex"], SEXES))


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
