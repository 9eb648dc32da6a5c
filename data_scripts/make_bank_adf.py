"""Datasheet of `bank-adf`: the Bank subject of ADF, UCI Bank Marketing in 16 integer columns.

What: 45,211 telephone calls of a Portuguese bank, 2008 to 2010; the task is to tell who subscribed a term deposit.
Licence: CC BY 4.0, as stated by the UCI repository. Cite Moro, Rita, Cortez (2014), doi:10.24432/C5K306, and for the
    encoding Zhang et al. (2020), doi:10.1145/3377811.3380331.
Rows: all rows of bank-full.csv in file order.
Columns: integers under UCI's names, except that age is in words: the place of a word in the list of its column is its
    code (`fairlab.data.encoding.codes`). Age in decades, balance in 50 euros, duration in 10 seconds, all three cut off
    at both ends; `pdays` is 1 if the client was never called before, else 0.
Quirks: negative balances are rounded towards minus infinity. `duration` is known only after the call.
Fit for: repeating published experiments. Unfit for: predicting who will subscribe, since it has the duration.
Surrogate: see fairlab.data.bank_adf.
"""

import zipfile
from pathlib import Path

import pandas as pd

from fairlab.data.encoding import binned, coded, copied, encode, flagged, in_words

DECADES = [f"{decade}0-{decade}9" for decade in range(9)] + ["90 and over"]
RULES = {
    "age": binned(10, low=1, high=9),
    "job": coded(
        "admin.",
        "unknown",
        "unemployed",
        "management",
        "housemaid",
        "entrepreneur",
        "student",
        "blue-collar",
        "self-employed",
        "retired",
        "technician",
        "services",
    ),
    "marital": coded("married", "divorced", "single"),
    "education": coded("unknown", "secondary", "primary", "tertiary"),
    "default": coded("no", "yes"),
    "balance": binned(50, low=-20, high=179),
    "housing": coded("no", "yes"),
    "loan": coded("no", "yes"),
    "contact": coded("unknown", "telephone", "cellular"),
    "day": copied(),
    "month": coded("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    "duration": binned(10, low=0, high=99),
    "campaign": copied(),
    "pdays": flagged("-1"),
    "previous": copied(low=0, high=1),
    "poutcome": coded("unknown", "other", "failure", "success"),
    "y": coded("no", "yes"),
}


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return the encoded table, age in words."""
    with zipfile.ZipFile(raw["bank/bank.zip"]) as bundle, bundle.open("bank-full.csv") as content:
        table = pd.read_csv(content, sep=";", dtype=str, keep_default_na=False)
    table = encode(table, RULES)
    return table.assign(age=in_words(table["age"], DECADES))


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
