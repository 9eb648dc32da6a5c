"""Datasheet of `compas-individual`: COMPAS as prepared for "Statistical inference for individual fairness".

What: people scored by the COMPAS recidivism tool in Broward County, Florida, in 2013 and 2014; the task is to tell who
    was charged again within two years.
Licence: none in the repository; public records published by ProPublica with its analysis.
Rows: 5,278 in file order. ProPublica's filter (charge within 30 days of the screening, a known outcome, no ordinary
    traffic offence, a score) leaves 6,172; of these the African-American and Caucasian people. The paper says
    "Caucasian or not", but people of other races are not in its data.
Columns: the two protected attributes, which the models are given too; number of prior charges; age in three classes;
    degree of the charge (F felony, M misdemeanour); `two_year_recid`, 1 for a new charge, the unfavourable outcome.
Dropped: everything that identifies people (names, birth dates, case numbers) and all other columns.
Fit for: repeating published experiments. Unfit for: statements about crime, which arrests and charges do not measure,
    or decisions about people.
Surrogate: registry.yaml says what it gets right and what not.
"""

from pathlib import Path

import pandas as pd

COLUMNS = ["sex", "race", "priors_count", "age_cat", "c_charge_degree", "two_year_recid"]
FILTER = ["days_b_screening_arrest", "is_recid", "score_text"]


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return the people of ProPublica's analysis who are African-American or Caucasian."""
    table = pd.read_csv(raw["compas/compas-scores-two-years.csv"], usecols=COLUMNS + FILTER)
    kept = (
        table["days_b_screening_arrest"].between(-30, 30)
        & (table["is_recid"] != -1)
        & (table["c_charge_degree"] != "O")
        & table["score_text"].notna()
        & table["race"].isin(["African-American", "Caucasian"])
    )
    return table.loc[kept, COLUMNS].reset_index(drop=True)


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
