"""Datasheet of `census-adf`: the Census subject of ADF, UCI Adult in 13 integer columns.

What: the 32,561 people of the training part of UCI Adult (see make_adult_uci.py); the task is to tell whether a person
    earned more than 50,000 dollars a year. Themis and Aequitas use the same table.
Licence: CC BY 4.0, as stated by the UCI repository. Cite Becker and Kohavi (1996), doi:10.24432/C5XW20, and for the
    encoding Zhang et al. (2020), doi:10.1145/3377811.3380331.
Rows: all rows of adult.data in file order, duplicates and unknown values kept.
Columns: integers under UCI's names, except that race and sex are in words: the place of a word in the list of its
    column is its code (`fairlab.data.encoding.codes`). Age in decades, fnlwgt in steps of 20,000,
    capital gain in 1,000, capital loss in 100. education-num is dropped. Codes and widths are in
    data_scripts/encodings.yaml, one for all with `census-themis`.
Quirks: an unknown workclass, occupation or country is coded 100, far outside the other codes. The order of the codes
    means nothing, though the networks tested on them take them as numbers.
Check: the codes must equal the published file byte for byte.
Fit for: repeating published experiments. Unfit for: anything else; use `adult-uci`.
"""

from pathlib import Path

import pandas as pd

from fairlab.data.encoding import check_published, decode, encode, encodings
from fairlab.data.project import project
from fairlab.data.registry import project_registry
from fairlab.data.tables import load_script

adult_uci = load_script(project().data_scripts / "make_adult_uci.py")
RACES = ["White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"]
SEXES = ["Female", "Male"]


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return the encoded training part, the sensitive columns in words."""
    layout = {"header": None, "names": adult_uci.COLUMNS, "skipinitialspace": True, "keep_default_na": False}
    table = encode(pd.read_csv(raw["adult/adult.data"], **layout), encodings()["adult"])
    table = check_published(table, project_registry().file("encoded/census"), final_newline=False).astype("int64")
    return table.assign(race=decode(table["race"], RACES), sex=decode(table["sex"], SEXES))


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
