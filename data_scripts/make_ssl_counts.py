"""Datasheet of `ssl-counts`: how many people of Chicago's Strategic Subject List have each score, race, sex and age.

What: counts that Patrick Sier published of the list of 2017, 398,531 people; those without an age group are left out.
    Black, White and the like are without the Hispanic people of a race. Age is the band of today's age, in words.
Rows: in the order of the file. Columns: score, race, sex, age, people.
Licence: MIT (the repository); City of Chicago data terms of use. Nobody's record is here.
Fit for: numbers of the list that follow from these counts. Unfit for: anything about predictors.
"""

from pathlib import Path

import pandas as pd


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return the counts."""
    table = pd.read_csv(raw["ssl_aggregates/treemap_ssl_groups.csv"])
    return table.rename(columns={"ssl_score": "score", "count": "people"})


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
