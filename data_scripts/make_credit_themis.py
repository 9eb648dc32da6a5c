"""Datasheet of `credit-themis`: the German Credit table that Themis' subject systems learn from.

What: 600 of the 1,000 loans of the Statlog German Credit data (Hofmann 1994), by a bank in southern Germany.
Licence: CC BY 4.0, as stated by the UCI repository. Cite Hofmann (1994), doi:10.24432/C5NC77.
Rows: all 300 bad loans, then 300 of the 700 good ones, as listed in data_scripts/encodings.yaml.
Columns: the 20 attributes and `class` (1 good), categories as codes, amount by 100. `sex` is all that is left of
    "personal status and sex": 1 for women. That women are always "divorced/separated/married" is the source's doing.
Quirks: code A93 is "male single", but single women have no rows; the source's codes are known to be mixed up in places
    (Groemping 2019, South German Credit Data).
Check: the table must equal the published file byte for byte.
Fit for: repeating published experiments. Unfit for: statements about lending.
"""

from pathlib import Path

import pandas as pd

from fairlab.data.encoding import check_published, encode, encodings
from fairlab.data.registry import project_registry


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return the listed loans."""
    rules = encodings()
    loans = pd.read_csv(raw["german/german.data"], sep=" ", header=None, names=list(rules["german"]))
    table = encode(loans, rules["german"]).loc[rules["credit-themis"]].reset_index(drop=True)
    return check_published(table, project_registry().file("encoded/credit_themis"), final_newline=False)


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
