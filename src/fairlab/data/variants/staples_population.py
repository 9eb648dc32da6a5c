"""Shoppers like those of `staples`, drawn anew: as many as the paper has, and none of them twice.

What: synthetic users with state, gender, race and income, and the price that the rule by distance shows them. Expected
numbers by state, race and price, and the share of them with a low income, stand in
``data_scripts/staples_population.csv``; ``data_scripts/fit_staples_population.py``, which makes it from census tables
and the public users, says how. What that model does not know of a cell's incomes is drawn anew each time, too.
Fit for: studies of the size that the paper has. Unfit for: statements about Staples, or about real people's incomes.
Drawn here, hence no licence and no surrogate.
"""

from functools import cache

import numpy as np
import pandas as pd

from fairlab.checks import check_count, checked, one_of
from fairlab.data.dataset import Dataset
from fairlab.data.project import project
from fairlab.data.sources import generated_dataset
from fairlab.data.variants.staples import READINGS

N_USERS = 988_871
LEVELS = ["state", "gender", "race", "income", "price"]
GENDERS, INCOMES = ["F", "M"], ["<50K", ">=50K"]


@cache
def expected_cells() -> pd.DataFrame:
    """Return the expected cells, one row for each state, race and pair of prices."""
    return pd.read_csv(project().data_scripts / "staples_population.csv")


@checked(n_users=check_count, reading=one_of(*READINGS))
def draw_counts(n_users: int = N_USERS, *, seed: int = 0, reading: str = "as_published") -> pd.Series:
    """Draw how many shoppers of each kind there are.

    Parameters
    ----------
    n_users : int
    seed : int
    reading : {"as_published", "as_specified"}
        Of the price; see `fairlab.data.variants.staples.load`. The shoppers of a seed are the same in both.

    Returns
    -------
    Series
        By state, gender, race, income and price, every combination included.

    Raises
    ------
    ValueError
        If the reading is unknown or `n_users` is not a positive integer.
    """
    cells, rng = expected_cells(), np.random.default_rng(seed)
    low = np.clip(rng.normal(cells["low_income"], cells["standard_error"]), 0, 1)
    gender, income = (np.stack([share, 1 - share], axis=1) for share in (cells["women"], low))
    share = cells["people"].to_numpy()[:, None, None] * gender[:, :, None] * income[:, None, :]
    drawn = rng.multinomial(n_users, (share / share.sum()).ravel()).reshape(share.shape)
    kinds = {"state": cells["state"], "race": cells["race"], "price": cells[f"price_{reading}"]}
    kinds = {name: pd.Categorical(values) for name, values in kinds.items()}
    levels = {name: kinds[name].categories for name in kinds} | {"gender": GENDERS, "income": INCOMES}
    index = pd.MultiIndex.from_product([levels[name] for name in LEVELS], names=LEVELS)
    counts = np.zeros(index.levshape, dtype=drawn.dtype)
    state, race, price = (kinds[name].codes for name in ("state", "race", "price"))
    np.add.at(counts.transpose(0, 2, 4, 1, 3), (state, race, price), drawn)
    return pd.Series(counts.ravel(), index)


def load(*, n_users: int = N_USERS, seed: int = 0, reading: str = "as_published") -> Dataset:
    """Load `staples-population`, the shoppers that `draw_counts` counts; for the parameters see there."""
    counts = draw_counts(n_users, seed=seed, reading=reading)
    codes = np.repeat(np.stack(counts.index.codes), counts.to_numpy(), axis=1)
    table = {
        name: pd.Categorical.from_codes(column, levels)
        for name, column, levels in zip(LEVELS, codes, counts.index.levels, strict=True)
    }
    return generated_dataset(
        "staples-population",
        pd.DataFrame(table),
        rows=int(n_users),
        n_users=int(n_users),
        seed=int(seed),
        reading=reading,
    )
