"""Records and claims on the six studies side by side: table 2, section 6.3, and their seconds."""

from collections.abc import Mapping

import pandas as pd

from fairlab.data import Dataset
from fairlab.fairtest.resampling import EXACT_LIMIT
from fairlab.papers.fairtest.recording.shopper_draws import GENERATED
from fairlab.papers.fairtest.sentences import Answer
from fairlab.papers.fairtest.studies import TITLES

STUDY_OF = {
    "staples-race": "staples",
    "health-older-patients": "healthcare",
    "tagger-labels": "image_tagger",
    "movies-older-higher-rated": "movielens",
    "adult-gender-among-educated": "adult",
    "berkeley-simpson": "berkeley",
}
MACHINE = "depends on the machine; shape and ratio are compared"
TESTED, TRAINED = ["adult", "berkeley", "movielens"], ["healthcare", "image_tagger"]
SMALLEST = ["berkeley", "image_tagger", "movielens"]  # those of up to 5 seconds in the paper


def overview(
    exp,
    ours: pd.DataFrame,
    answers: Mapping[str, Answer],
    *,
    data: Mapping[str, Dataset],
    n_trees: Mapping[str, int],
    shoppers: pd.DataFrame,
) -> None:
    """Record table 2 and section 6.3.

    Parameters
    ----------
    exp : fairlab.Experiment
    ours : DataFrame
        Table 2 by study, see `fairlab.papers.fairtest.studies.table_2_row`.
    answers : dict of str to Answer
        By claim.
    data : dict of str to Dataset
        By study.
    n_trees : dict of str to int
        By study; each has a root that is always reported.
    shoppers : DataFrame
        Counts of Staples in several draws, as `fairlab.papers.fairtest.shoppers.count_table` returns them.
    """
    for name, row in ours.iterrows():
        for column, value in row.items():
            values = shoppers[column] if name == "staples" and column in shoppers else value
            exp.record("table-2", f"{name}.{column}", values, data=[data[name].name])
    for column in ("users", "attributes"):
        exp.record("table-2", f"microbenchmark.{column}", ours.loc["staples", column], data=GENERATED)
    exp.claim(
        "table-2",
        "reported-le-validated-plus-root",
        (ours["reported"] <= ours["validated"] + pd.Series(n_trees)).all(),
        detail=", ".join(
            f"{TITLES[name]} {row['reported']} and {row['validated']} + {n_trees[name]}"
            for name, row in ours.iterrows()
        ),
    )
    fewest = ours["reported"].min()
    exp.claim("table-2", "always-a-report", fewest >= 1, detail=f"fewest reported: {fewest}")
    for id, answer in answers.items():
        exp.claim("section-6.3", id, bool(answer.holds), detail=answer.detail, data=[data[STUDY_OF[id]].name])


def performance(exp, seconds: pd.DataFrame, limits: pd.DataFrame, *, data: Mapping[str, Dataset]) -> None:
    """Record figure 6 and section 6.2.

    "Most of the time" means more than half, "half or more" at least half.

    Parameters
    ----------
    exp : fairlab.Experiment
    seconds : DataFrame
        Columns ``train`` and ``test``, by study.
    limits : DataFrame
        As `fairlab.papers.fairtest.timing.resampling_limits` returns it.
    data : dict of str to Dataset
        By study.
    """
    total = seconds.sum(axis=1)
    share = 100 * seconds.div(total, axis=0)
    for name in seconds.index:
        variant = [data[name].name]
        exp.record("figure-6", f"{name}.total", total[name], note=MACHINE, data=variant)
        for part in seconds:
            exp.record("figure-6", f"{name}.{part}_share", share.loc[name, part], data=variant)
    for id, names, part, holds in (
        ("testing-dominates-small", TESTED, "test", (share.loc[TESTED, "test"] > 50).all()),
        ("training-heavier-large", TRAINED, "train", (share.loc[TRAINED, "train"] >= 50).all()),
    ):
        shares = "; ".join(f"{TITLES[name]} {share.loc[name, part]:.0f}%" for name in names)
        exp.claim("figure-6", id, holds, detail=f"{part}ing: {shares}", data=[data[name].name for name in names])
    extremes = (total[SMALLEST].min(), total[SMALLEST].max())
    variants = [data[name].name for name in SMALLEST]
    exp.record("section-6.2", "smallest_datasets.total", extremes, note=MACHINE, data=variants)
    exp.record("section-6.2", "staples.total", total["staples"], note=MACHINE, data=GENERATED)
    slowest, largest = total.idxmax(), max(data, key=lambda name: len(data[name].features))
    factor = total[slowest] / total.drop(slowest).max()
    detail = f"slowest is {TITLES[slowest]}, {factor:.1f} times the next"
    exp.claim("section-6.2", "staples-slowest", slowest == largest, detail=detail)
    resampled = limits.groupby("people")["resampled"]
    exp.claim(
        "section-6.2",
        "exact-methods-threshold",
        bool(resampled.all()[EXACT_LIMIT] and not resampled.any()[EXACT_LIMIT + 1]),
        detail="for p-values, and for intervals of differences and correlations; those of NMI are bootstrapped at any "
        "size",
        data=[],
    )
