"""Lab 2: two shops that offer discounts."""

import numpy as np
import pandas as pd
from scipy.stats import fisher_exact
from sklearn.model_selection import train_test_split

from fairlab.labs.draws import course_rng, redrawn

REGIONS = ["north", "east", "south", "west", "centre"]
AGES = ["under 30", "30 to 44", "45 to 59", "60 and over"]


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
    >>> from fairlab.labs.looking import shops
    >>> sorted(shops(n_people=400))[:2]
    ['A', 'B']
    """
    rng = course_rng("shops", course)
    region = rng.choice(REGIONS)
    unfair = redrawn(
        lambda: _customers(rng, n_people, region),
        lambda table: all(_gap(half, region) >= 0.2 for half in _halves(table)),
    )
    fair = redrawn(lambda: _customers(rng, n_people), _looks_bad_before_it_is_tested)
    tables = [fair, unfair] if rng.random() < 0.5 else [unfair, fair]
    return dict(zip("AB", tables, strict=True))


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
