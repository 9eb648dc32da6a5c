"""Datasheet of `adult-individual`: UCI Adult as prepared for "Statistical inference for individual fairness".

What: the people of `adult-uci`; see its datasheet for the source, the licence and what the data is fit for.
Rows: 45,222 in the order of the raw files; dropped are those with an unknown occupation or native country, among them
    every unknown workclass.
Columns: five numbers, four categories, the two protected attributes, and `income`. With the categories one-hot in
    alphabetic order these are the authors' 39 inputs; sex and race are not among them.
Left out: fnlwgt, education (said by education-num), native-country. Race is White or not, as the paper has it.
"""

from pathlib import Path

import pandas as pd

from fairlab.data.tables import load_script

COLUMNS = [
    "age", "education-num", "capital-gain", "capital-loss", "hours-per-week",
    "workclass", "marital-status", "occupation", "relationship", "sex", "race", "income",
]  # fmt: skip


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return the complete rows, with race in two groups."""
    table = load_script(Path(__file__).with_name("make_adult_uci.py")).make(raw)
    table = table[(table["occupation"] != "?") & (table["native-country"] != "?")]
    race = table["race"].where(table["race"] == "White", "Non-White")
    return table.assign(race=race)[COLUMNS].reset_index(drop=True)


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
