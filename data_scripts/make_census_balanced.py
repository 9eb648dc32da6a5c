"""Datasheet of `census-balanced`: the Census that Themis' subject systems learn from.

What: 15,360 people of UCI Adult in the codes of `census-themis`, half of them (7,841) above 50,000 dollars.
Rows: not the random balanced sample that the paper describes. All people of high income of adult.data; all Black, Asian
    and American Indian people of low income, of adult.data and adult.test; 1,800 white people of low income, listed in
    data_scripts/encodings.yaml; the last 75 of other races. So four of five white people have a high income and one of
    twelve Black people: race and label are nearly the same thing.
Check: the table must equal the published file byte for byte. For 259 of the listed people several rows of adult.data
    have the same codes; the first unused one is listed.
Fit for: repeating Themis' and ADF's experiments. Unfit for: anything about race or income.
"""

from pathlib import Path

import pandas as pd

from fairlab.data.encoding import check_published, encodings
from fairlab.data.project import project
from fairlab.data.registry import project_registry
from fairlab.data.tables import load_script

census_themis = load_script(project().data_scripts / "make_census_themis.py")
# By the codes of race.
ASIAN, INDIAN, OTHER, BLACK = "1", "2", "3", "4"


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return the pieces one after the other."""
    train, test = census_themis.parts(raw)
    pieces = [train[(train["income"] == "1") | train["race"].isin([ASIAN, INDIAN, BLACK])]]
    pieces += [test[(test["income"] == "0") & (test["race"] == race)] for race in (ASIAN, INDIAN, BLACK)]
    pieces += [train.loc[encodings()["census-balanced"]]]
    pieces += [train[(train["income"] == "0") & (train["race"] == OTHER)].tail(75)]
    table = pd.concat(pieces, ignore_index=True)
    return check_published(table, project_registry().file("encoded/census_sample"), final_newline=True)


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
