"""Datasheet of `credit-adf`: the Credit subject of ADF, 600 rows of German Credit in 20 integer columns.

What: 600 of the 1,000 applicants for a loan at a German bank, 1973 to 1975; the task is to tell good from bad risks.
Licence: CC BY 4.0, as stated by the UCI repository. Cite Hofmann (1994), doi:10.24432/C5NC77, and for the encoding
    Zhang et al. (2020), doi:10.1145/3377811.3380331.
Rows: all 300 bad risks and 300 of the 700 good ones, in the published order, as listed in data_scripts/encodings.yaml.
    `credit-themis` has the same applicants in another order.
Columns: integers under short names, except that sex is in words: the place of a word in the list of its column is its
    code (`fairlab.data.encoding.codes`). Age in decades, amount in 100 marks. `class`: 1 good, 0 bad.
Quirks: the codebook's code for sex and civil status knows no single women, so sex is 1 for its only code of women (A92)
    and 0 otherwise; whether A92 and A95 were told apart correctly is doubted (Groemping 2019). Purpose code 7 (A47)
    does not occur.
Check: the codes must equal the published file byte for byte.
Fit for: repeating published experiments. Unfit for: statements about credit risk or about sex.
"""

from pathlib import Path

import pandas as pd

from fairlab.data.encoding import check_published, decode, encode, encodings
from fairlab.data.registry import project_registry

SEXES = ["male", "female"]


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return the encoded rows in the published order, sex in words."""
    rules = encodings()
    loans = pd.read_csv(raw["german/german.data"], sep=" ", header=None, names=list(rules["german-decades"]))
    table = encode(loans, rules["german-decades"]).loc[rules["credit-adf"]].reset_index(drop=True)
    table = check_published(table, project_registry().file("encoded/credit_sample"), final_newline=True).astype("int64")
    return table.assign(sex=decode(table["sex"], SEXES))


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
