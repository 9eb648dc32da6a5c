"""Tables of the labs. They ship with the package as counts or are generated; nothing is downloaded.

A course has a number. Number 0 gets the tables as published; any other gets its own, drawn from it, so that last year's
numbers do not fit. The statements of a lab about its table must hold for every course: the table is redrawn until they
hold.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.stats import fisher_exact
from sklearn.model_selection import train_test_split

from fairlab.data.variants.lipton import draw
from fairlab.seeds import derive_seed
from fairlab.suite.labs.programs import company

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
# column: lowest and highest value
FAMILIES = {
    "income": (1, 20),
    "rent": (1, 10),
    "children": (1, 5),
    "hours": (0, 50),
    "years": (0, 20),
    "late": (0, 9),
    "origin": (0, 1),
}


def admissions(course: int = 0) -> pd.DataFrame:
    """Return applications for graduate studies at Berkeley in 1973, one a row.

    Parameters
    ----------
    course : int
        0: the published counts. Else: as many applicants of each gender to each department, who are admitted at
        random with the published rates; drawn again until men are ahead by at least ten percentage points overall, and
        women in departments A and B and in the mean of the departments, weighted by their applicants.

    Returns
    -------
    DataFrame
        Columns gender (man, woman), department (A to F) and admitted (yes, no).

    Examples
    --------
    >>> from fairlab.suite.labs import admissions
    >>> len(admissions()), list(admissions())
    (4425, ['gender', 'department', 'admitted'])
    """
    rng = _rng("admissions", course)
    if not course:
        return _applications(lambda yes, no: yes)
    return _drawn(lambda: _applications(lambda yes, no: int(rng.binomial(yes + no, yes / (yes + no)))), _turns_round)


def hiring(course: int = 0, *, n_people: int = 1000) -> pd.DataFrame:
    """Return generated people who apply for a job, half of them women (Lipton, McAuley and Chouldechova 2018).

    Parameters
    ----------
    course : int
    n_people : int
        Of each gender. They are drawn again until the shares of women and of men whom `company` hires differ by at most
        one percentage point.

    Returns
    -------
    DataFrame
        Columns gender (male, female), work (years of experience beyond what the job asks for) and hair (its length in
        centimetres): see `fairlab.data.variants.lipton`.

    Examples
    --------
    >>> from fairlab.suite.labs import hiring
    >>> hiring(n_people=6).shape
    (12, 3)
    """
    rng = _rng("hiring", course)
    names = {"gender": "gender", "work_experience": "work", "hair_length": "hair"}
    return _drawn(lambda: draw(n_people, seed=rng.integers(10**6))[list(names)].rename(columns=names), _hires_alike)


def shops(course: int = 0, *, n_people: int = 4000) -> dict[str, pd.DataFrame]:
    """Return the customers of two generated shops, and who of them was offered a discount.

    One shop offers it to every second customer. The other does so too, but for one region, where it offers it to men
    almost twice as often; it is drawn again until the shares differ there by at least 20 percentage points in both
    halves of its customers. The fair shop is drawn again until one of its twenty contexts looks bad (p < 0.03), and in
    the second half nothing does: neither all customers, nor those of a region or an age or of both (p >= 0.06). The
    halves are those of scikit-learn's `train_test_split` with ``random_state=0``: FairTest searches in the first half,
    and tests in the second.

    Parameters
    ----------
    course : int
    n_people : int
        Customers of each shop.

    Returns
    -------
    dict of str to DataFrame
        By name, A and B. Columns gender, region, age and discount (yes, no).

    Examples
    --------
    >>> from fairlab.suite.labs import shops
    >>> sorted(shops(n_people=400))[:2]
    ['A', 'B']
    """
    rng = _rng("shops", course)
    region = rng.choice(REGIONS)
    unfair = _drawn(
        lambda: _customers(rng, n_people, region),
        lambda table: all(_gap(half, region) >= 0.2 for half in _halves(table)),
    )
    fair = _drawn(lambda: _customers(rng, n_people), _looks_bad_before_it_is_tested)
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
        not in the table), and repaid (0, 1), which depends on merit alone: drawn again until its correlation with the
        quarter is below 0.1.

    Examples
    --------
    >>> from fairlab.suite.labs import borrowers
    >>> borrowers(n_people=5).shape[0]
    5
    """
    rng = _rng("borrowers", course)

    def drawn():
        group = rng.integers(0, 2, n_people)
        features = np.column_stack([rng.normal(size=n_people), rng.normal(1.6 * group, 0.6)])
        features = (features - features.mean(axis=0)) / features.std(axis=0)
        repaid = rng.random(n_people) < 1 / (1 + np.exp(-2 * features[:, 0]))
        return pd.DataFrame(features, columns=["merit", "quarter"]).assign(repaid=repaid.astype(int))

    return _drawn(drawn, lambda people: abs(people["quarter"].corr(people["repaid"])) < 0.1)


def families(course: int = 0, *, n_people: int = 3000) -> pd.DataFrame:
    """Return generated families who get a supplement for the care of their children, and whom an office looked into.

    The clerks looked sooner into families that were born abroad.

    Parameters
    ----------
    course : int
        By how much sooner is drawn from it, too.
    n_people : int
        Families.

    Returns
    -------
    DataFrame
        Whole numbers within the bounds of `FAMILIES`: income and rent (in levels), children, hours of care a week,
        years at the address, late letters, origin (1: born abroad); and picked (0, 1).

    Examples
    --------
    >>> from fairlab.suite.labs import families
    >>> families(n_people=5).shape[0]
    5
    """
    rng = _rng("families", course)
    drawn = {
        "income": rng.gamma(4, 2.2, n_people),
        "children": 1 + rng.poisson(0.9, n_people),
        "years": rng.gamma(1.5, 5, n_people),
        "late": rng.poisson(1.5, n_people),
        "origin": rng.integers(0, 2, n_people),
    }
    drawn["rent"] = drawn["income"] / 3 + rng.normal(1.5, 1.2, n_people)
    drawn["hours"] = 18 + 4 * drawn["children"] + rng.normal(0, 10, n_people)
    low, high = np.array(list(FAMILIES.values())).T
    table = pd.DataFrame(drawn)[list(FAMILIES)].clip(low, high, axis=1).astype(int)
    counts = {"income": -0.3, "hours": 0.12, "years": -0.075, "late": 0.75}
    counts["origin"] = rng.uniform(0.68, 0.9) if course else 0.75
    odds = table[list(counts)] @ pd.Series(counts) - 2.55
    return table.assign(picked=(rng.random(n_people) < 1 / (1 + np.exp(-odds))).astype(int))


def trainees(course: int = 0, *, n_people: int = 2000) -> pd.DataFrame:
    """Return generated people who applied for a traineeship, and whom the firms invited.

    Firms invite people from abroad less often, and men as often as women. They are drawn again until the difference is
    at least 15 percentage points in the first half of the table, from which a model can learn, and in the second.

    Parameters
    ----------
    course : int
        How much less often is drawn from it, too.
    n_people : int

    Returns
    -------
    DataFrame
        Columns gender (man, woman), origin (foreign, local), age, district (harbour, centre, hills; tells much about
        the origin), grade (1 to 5, 5 is best), absent (days; some are missing), internship and invited (no, yes).

    Examples
    --------
    >>> from fairlab.suite.labs import trainees
    >>> trainees(n_people=200).shape[0]
    200
    """
    rng = _rng("trainees", course)
    less = rng.uniform(1.0, 1.5) if course else 1.2
    return _drawn(lambda: _applicants(rng, n_people, less), _invites_fewer_from_abroad)


def _drawn(draw: Callable, holds: Callable):
    """Return the first draw for which something holds."""
    for _ in range(100_000):
        if holds(table := draw()):
            return table
    raise RuntimeError("no random table has the properties that the lab describes")


def _applications(count: Callable) -> pd.DataFrame:
    """Return one row for each application; `count` says how many are admitted, given the published counts."""
    blocks = []
    for department, counts in ADMISSIONS.items():
        for gender, yes, no in (("man", *counts[:2]), ("woman", *counts[2:])):
            admitted = count(yes, no)
            blocks += [(gender, department, "yes")] * admitted + [(gender, department, "no")] * (yes + no - admitted)
    return pd.DataFrame(blocks, columns=["gender", "department", "admitted"])


def _turns_round(table: pd.DataFrame) -> bool:
    admitted = table["admitted"] == "yes"
    overall = admitted.groupby(table["gender"]).mean()
    rate = admitted.groupby([table["department"], table["gender"]]).mean().unstack()
    gap = rate["woman"] - rate["man"]
    weighted = (gap * table["department"].value_counts(normalize=True)).sum()
    return overall["man"] - overall["woman"] >= 0.1 and gap[["A", "B"]].min() > 0 and weighted > 0


def _hires_alike(people: pd.DataFrame) -> bool:
    return np.ptp(pd.Series(company(people)).groupby(people["gender"]).mean()) <= 0.01


def _applicants(rng: np.random.Generator, n_people: int, less: float) -> pd.DataFrame:
    origin = rng.choice(["local", "foreign"], n_people, p=[0.7, 0.3])
    home = np.where(origin == "foreign", "harbour", "centre")
    table = pd.DataFrame(
        {
            "gender": rng.choice(["woman", "man"], n_people),
            "origin": origin,
            "age": rng.integers(16, 23, n_people),
            "district": np.where(
                rng.random(n_people) < 0.7, home, rng.choice(["harbour", "centre", "hills"], n_people)
            ),
            "grade": rng.normal(3, 0.8, n_people).clip(1, 5).round(1),
            "absent": rng.poisson(4, n_people).astype(float),
            "internship": rng.choice(["no", "yes"], n_people, p=[0.6, 0.4]),
        }
    )
    odds = 1.4 * (table["grade"] - 3) - 0.12 * (table["absent"] - 4) + 0.1 * (table["age"] - 18)
    odds += 0.9 * (table["internship"] == "yes") - less * (origin == "foreign") - 0.6
    table.loc[rng.random(n_people) < 0.08, "absent"] = np.nan
    return table.assign(invited=np.where(rng.random(n_people) < 1 / (1 + np.exp(-odds)), "yes", "no"))


def _invites_fewer_from_abroad(table: pd.DataFrame) -> bool:
    half = np.arange(len(table)) < len(table) // 2
    share = (table["invited"] == "yes").groupby([half, table["origin"]]).mean().unstack()
    return (share["local"] - share["foreign"]).min() >= 0.15


def _customers(rng: np.random.Generator, n: int, unfair_region: str | None = None) -> pd.DataFrame:
    values = {"gender": ["man", "woman"], "region": REGIONS, "age": AGES}
    table = pd.DataFrame({name: rng.choice(choices, n) for name, choices in values.items()})
    share = np.where(table["region"] == unfair_region, np.where(table["gender"] == "man", 0.64, 0.36), 0.5)
    return table.assign(discount=np.where(rng.random(n) < share, "yes", "no"))


def _gap(table: pd.DataFrame, region: str) -> float:
    some = table[table["region"] == region]
    share = (some["discount"] == "yes").groupby(some["gender"]).mean()
    return share["man"] - share["woman"]


def _looks_bad_before_it_is_tested(table: pd.DataFrame) -> bool:
    if _smallest_p_value(table, ["region", "age"]) >= 0.03:
        return False
    _, tested = _halves(table)
    return all(_smallest_p_value(tested, by) >= 0.06 for by in ([], ["region"], ["age"], ["region", "age"]))


def _halves(table: pd.DataFrame) -> list[pd.DataFrame]:
    return train_test_split(table, train_size=len(table) // 2, random_state=0)


def _smallest_p_value(table: pd.DataFrame, by: list[str]) -> float:
    contexts = [table[name] for name in by] or [np.zeros(len(table))]
    counts = pd.crosstab(contexts, [table["gender"], table["discount"]])
    return min(fisher_exact(each.reshape(2, 2)).pvalue for each in counts.to_numpy())


def _rng(name: str, course: int) -> np.random.Generator:
    return np.random.default_rng(derive_seed("labs", name, course, bits=128))
