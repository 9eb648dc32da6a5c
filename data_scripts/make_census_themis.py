"""Datasheet of `census-themis`: the training part of UCI Adult in the integer codes of Themis, AEQUITAS and ADF.

What: the 32,561 people of adult.data; see `adult-uci` for who they are, licence and limits.
Rows: all, in file order, those with unknown values too.
Columns: 13 of the 14 attributes under UCI's names (education-num is left out) and `income` (1 above 50,000 dollars).
    Age in decades, fnlwgt by 20,000, capital gain by 1,000 and loss by 100; categories as codes, 100 for unknown. Codes
    and widths are in data_scripts/encodings.yaml. Codes are names: their order means nothing, though some of the
    systems under test take them for numbers.
Check: the table must equal the published file byte for byte.
"""

from pathlib import Path

import pandas as pd

from fairlab.data.encoding import check_published, encode, encodings
from fairlab.data.project import project
from fairlab.data.registry import project_registry
from fairlab.data.tables import load_script

adult_uci = load_script(project().data_scripts / "make_adult_uci.py")


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return the encoded training part."""
    return check_published(parts(raw)[0], project_registry().file("encoded/census"), final_newline=False)


def parts(raw: dict[str, Path]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the training and the test part, encoded."""
    people = encode(adult_uci.make(raw), encodings()["adult"])
    n_train = project_registry().file("adult/adult.data").rows
    return people[:n_train], people[n_train:].reset_index(drop=True)


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
