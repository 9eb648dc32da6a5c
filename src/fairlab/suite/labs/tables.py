"""Tables of the labs. They ship with the package as counts or are generated; nothing is downloaded.

A course has a number. Number 0 gets the tables as published; any other gets its own, drawn from it, so that last year's
numbers do not fit.
"""

import numpy as np
import pandas as pd
from scipy.stats import fisher_exact

from fairlab.data.variants.lipton import draw
from fairlab.seeds import derive_seed

# department: men admitted, men rejected, women admitted, women rejected
# Bickel, Hammel and O'Connell (1975), as counted in the file of FairTest; the same as `fairlab.load("berkeley")`.
ADMISSIONS = {
    "A": (512, 313, 89, 19),
    "B": (353, 207, 20, 5),
    "C": (120, 205, 202, 391),
    "D": (138, 279, 131, 244),
    "E": (53, 138, 94, 299),
    "F": (16, 256, 24, 317),
}
REGIONS = ["north", "east", "south", "west", "centre"]
AGES = ["under 30", "30 to 44", "45 to 59", "60 and over"]


def admissions(course: int = 0) -> pd.DataFrame:
    """Return applications for graduate studies at Berkeley in 1973, one a row.

    Parameters
    ----------
    course : int
        0: the published counts. Else: as many applicants of each gender to each department, who are admitted at
        random with the published rates.

    Returns
    -------
    DataFrame
        Columns gender (man, woman), department (A to F) and admitted (yes, no).
    """
    rng = _rng("admissions", course)
    blocks = []
    for department, counts in ADMISSIONS.items():
        for gender, yes, no in (("man", *counts[:2]), ("woman", *counts[2:])):
            admitted = int(rng.binomial(yes + no, yes / (yes + no))) if course else yes
            blocks += [(gender, department, "yes")] * admitted + [(gender, department, "no")] * (yes + no - admitted)
    return pd.DataFrame(blocks, columns=["gender", "department", "admitted"])


def hiring(course: int = 0, *, n_people: int = 1000) -> pd.DataFrame:
    """Return generated people who apply for a job, half of them women (Lipton, McAuley and Chouldechova 2018).

    Parameters
    ----------
    course : int
    n_people : int
        Of each gender.

    Returns
    -------
    DataFrame
        Columns gender, work_experience (years), hair_length (centimetres) and hired (0, 1): see
        `fairlab.data.variants.lipton`.
    """
    seed = derive_seed("hiring", course) % 10**6 if course else 0
    return draw(n_people, seed=seed)


def shops(course: int = 0, *, n_people: int = 4000) -> dict[str, pd.DataFrame]:
    """Return the customers of two generated shops, and who of them was offered a discount.

    One shop offers it to every second customer. The other does so too, but for one region, where it offers it to men
    almost twice as often. Of the fair shop so many are drawn that in one of them something looks bad.

    Parameters
    ----------
    course : int
    n_people : int
        Customers of each shop.

    Returns
    -------
    dict of str to DataFrame
        By name, A and B. Columns gender, region, age and discount (yes, no).
    """
    rng = _rng("shops", course)
    unfair = _customers(rng, n_people)
    where = unfair["region"] == rng.choice(REGIONS)
    share = np.where(where, np.where(unfair["gender"] == "man", 0.64, 0.36), 0.5)
    unfair["discount"] = np.where(rng.random(n_people) < share, "yes", "no")
    fair = _customers(rng, n_people)
    while _smallest_p_value(fair) >= 0.03:
        fair = _customers(rng, n_people)
    tables = [fair, unfair] if rng.random() < 0.5 else [unfair, fair]
    return dict(zip("AB", tables, strict=True))


def borrowers(course: int = 0, *, n_people: int = 300) -> pd.DataFrame:
    """Return generated people who asked a bank for a loan.

    Parameters
    ----------
    course : int
    n_people : int

    Returns
    -------
    DataFrame
        Columns merit and quarter, both with mean 0 and standard deviation 1 (the second has to do with a group that is
        not in the table), and repaid (0, 1), which depends on merit alone.
    """
    rng = _rng("borrowers", course)
    group = rng.integers(0, 2, n_people)
    features = np.column_stack([rng.normal(size=n_people), rng.normal(1.6 * group, 0.6)])
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    repaid = rng.random(n_people) < 1 / (1 + np.exp(-2 * features[:, 0]))
    return pd.DataFrame(features, columns=["merit", "quarter"]).assign(repaid=repaid.astype(int))


def _customers(rng: np.random.Generator, n: int) -> pd.DataFrame:
    values = {"gender": ["man", "woman"], "region": REGIONS, "age": AGES, "discount": ["no", "yes"]}
    return pd.DataFrame({name: rng.choice(choices, n) for name, choices in values.items()})


def _smallest_p_value(table: pd.DataFrame) -> float:
    contexts = table.groupby(["region", "age"])
    return min(fisher_exact(pd.crosstab(some["gender"], some["discount"])).pvalue for _, some in contexts)


def _rng(name: str, course: int) -> np.random.Generator:
    return np.random.default_rng(derive_seed("labs", name, course, bits=128))
