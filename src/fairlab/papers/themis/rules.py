"""What figure 3's printed numbers of tests can and cannot come from.

Counts without pruning: rules that were found after the fact, from the numbers alone. They fit Census but for system H,
contradict each other (the least sample for group, the worst case for causal), and do not fit Credit. Counts with
pruning: the least that a search by algorithm 3 needs, which some printed ones do not reach.
"""

from math import comb, prod

import numpy as np
import pandas as pd
from scipy.stats import gmean

from fairlab.papers.themis.instances import INPUT_SPACES, INSTANCES, Instance
from fairlab.papers.themis.searches import printed_rows
from fairlab.themis.score import MEASURES

MIN_SAMPLES = 10  # Themis takes more than these
LARGEST_SET = 3  # characteristics
Z, ERROR_BOUND = 2.5, 0.05  # of the package's scripts
FEWER = ("a", "f")  # systems whose groups on Census have ten inputs, not eleven


def inferred_without(instance: Instance, measure: str) -> int:
    """Return how many tests all sets of at most three characteristics take, by the rule that the print suggests.

    Group: eleven inputs (ten for some) in each group of the set with most groups; inputs are shared, and all other
    sets need next to none beyond these. Causal: for each set the sample that a share of one half needs.
    """
    sizes = instance.schema.sizes
    if measure == "group":
        least = MIN_SAMPLES if instance.data == "census" and instance.system in FEWER else MIN_SAMPLES + 1
        return least * prod(sorted(sizes)[-LARGEST_SET:])
    n_sets = sum(comb(len(sizes), size) for size in range(1, LARGEST_SET + 1))
    return n_sets * round(Z**2 * 0.25 / ERROR_BOUND**2)


def least_tests(data: str, measure: str) -> int:
    """Return the least number of tests with which algorithm 3 can score every single characteristic, as it does first.

    Each score takes more than ten samples. Group: eleven inputs for each value; an input has one value of every
    characteristic, so that at best all characteristics share them. Causal: eleven inputs that all characteristics
    share, and one counterpart for each of them and each characteristic.
    """
    sizes = INPUT_SPACES[data].sizes
    return (MIN_SAMPLES + 1) * (max(sizes) if measure == "group" else 1 + len(sizes))


def beside_bounds(published: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of figure 3 beside the inferred counts and the least ones.

    Parameters
    ----------
    published : DataFrame
        Of figure 3, as `Experiment.published` returns it.

    Returns
    -------
    DataFrame
        By measure and row: printed tests ``without`` and ``with`` pruning and their ``factor``; what a rule gives
        without; the ``least`` with pruning; whether the print is ``impossible``; the ``largest factor`` that the
        printed count without pruning allows, at most the printed one.
    """
    rows = []
    for measure in MEASURES:
        for instance in INSTANCES:
            if (row := printed_rows().get(instance.id)) is None:
                continue
            printed = {part: published["value"][f"{measure}.{row}.{part}"] for part in ("without", "with", "factor")}
            least = least_tests(instance.data, measure)
            rows.append(
                {"measure": measure, "row": row}
                | {name: float(value) for name, value in printed.items()}
                | {"rule without": inferred_without(instance, measure), "least": least}
                | {"impossible": bool(printed["with"] < least)}
                | {"largest factor": min(float(printed["factor"]), float(printed["without"]) / least)}
            )
    return pd.DataFrame(rows).set_index(["measure", "row"])


def largest_means(bounds: pd.DataFrame) -> pd.DataFrame:
    """Return the printed factors' means, and the largest that `beside_bounds` allows, one row a measure."""
    parts = bounds.groupby(level="measure", sort=False)
    means = {"arithmetic": np.mean, "geometric": gmean}
    columns = {}
    for name, mean in means.items():
        columns[f"{name}, of the printed factors"] = parts["factor"].apply(mean)
        columns[f"{name}, at most"] = parts["largest factor"].apply(mean)
    return pd.DataFrame(columns)
