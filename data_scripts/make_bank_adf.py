"""Datasheet of `bank-adf`: the Bank subject of ADF, UCI Bank Marketing in 16 integer columns.

What: 45,211 telephone calls of a Portuguese bank, 2008 to 2010; the task is to tell who subscribed a term deposit.
Licence: CC BY 4.0, as stated by the UCI repository. Cite Moro, Rita, Cortez (2014), doi:10.24432/C5K306, and for the
    encoding Zhang et al. (2020), doi:10.1145/3377811.3380331.
Rows: all rows of bank-full.csv in file order.
Columns: integers under UCI's names, except that age is in words: the place of a word in the list of its column is its
    code (`fairlab.data.encoding.codes`). Age in decades, balance in 50 euros, duration in 10 seconds, all three cut off
    at both ends; `pdays` is 1 if the client was never called before, else 0. Codes and limits are in
    data_scripts/encodings.yaml.
Quirks: negative balances are rounded towards minus infinity. `duration` is known only after the call.
Check: the codes must equal the published file byte for byte.
Fit for: repeating published experiments. Unfit for: predicting who will subscribe, since it has the duration.
"""

from pathlib import Path

import pandas as pd

from fairlab.data.encoding import check_published, decode, encode, encodings
from fairlab.data.registry import project_registry

DECADES = [f"{decade}0-{decade}9" for decade in range(9)] + ["90 and over"]


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return the encoded table, age in words."""
    table = pd.read_csv(raw["bank/bank-full.csv"], sep=";", dtype=str, keep_default_na=False)
    table = encode(table, encodings()["bank"])
    table = check_published(table, project_registry().file("encoded/bank"), final_newline=True).astype("int64")
    return table.assign(age=decode(table["age"], DECADES))


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
