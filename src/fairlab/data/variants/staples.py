"""Staples: state, gender, race and income of synthetic shoppers, and the price that a rule by distance shows them.

The datasheet is at the head of ``data_scripts/make_staples.py``. Its options: which of two prices, and how many users.
"""

import numpy as np

from fairlab.checks import check_count, checked, one_of
from fairlab.data.dataset import Dataset
from fairlab.data.registry import project_registry
from fairlab.data.sources import derive, load_variant

READINGS = ("as_published", "as_specified")


@checked(reading=one_of(*READINGS), n_users=check_count)
def load(*, reading: str = "as_published", n_users: int | None = None, seed: int = 0) -> Dataset:
    """Load `staples`.

    Parameters
    ----------
    reading : {"as_published", "as_specified"}
        Price by the authors' distances, which swap latitude and longitude, or by correct distances.
    n_users : int or None
        None: the users themselves. Otherwise this many users, drawn from them with replacement, for studies of larger
        populations. Shares remain the same, but a user who is drawn ten times is not ten users, and p-values and
        intervals are those of a larger population with exactly these shares.
    seed : int
        Seed of the draw.

    Raises
    ------
    ValueError
        If the reading is unknown or `n_users` is not a positive integer.
    """
    variant = project_registry().variant("staples").model_copy(update={"label": f"price_{reading}"})
    dataset = load_variant(variant)
    target = dataset.target.rename("price")
    encoding = {name: levels for name, levels in dataset.encoding.items() if not name.startswith("price_")}
    encoding["price"] = tuple(target.cat.categories)
    if n_users is None:
        return derive(dataset, target=target, encoding=encoding, options={"reading": reading})
    drawn = np.random.default_rng(seed).integers(0, len(target), n_users)
    return derive(
        dataset,
        features=dataset.features.iloc[drawn].reset_index(drop=True),
        target=target.iloc[drawn].reset_index(drop=True),
        sensitive_features=dataset.sensitive_features.iloc[drawn].reset_index(drop=True),
        encoding=encoding,
        options={"reading": reading, "n_users": n_users, "seed": int(seed)},
    )
