"""The rows of tables 1, 3 and 4 in their two readings, from what the trials found."""

from collections.abc import Sequence

import pandas as pd

from fairlab.papers.individual_fairness.audits import ADULT_AUDIT
from fairlab.papers.individual_fairness.learners import METHODS

READINGS = ("as_published", "as_described")
TESTS = {"entropy": "loss ratio", "zero_one": "error-rate ratio"}  # the tests' names in the tables
GROUP_COLUMNS = ("bal_acc", "aod_gender", "aod_race")
# Columns of Baseline whose networks the authors did not release.
NOT_RELEASED = [*GROUP_COLUMNS, "entropy.t_n", "entropy.reject_prop"]
COMPAS_COLUMNS = (*GROUP_COLUMNS, "t_n", "reject_prop")


def by_split(frames: Sequence[pd.DataFrame], *names: str) -> pd.DataFrame:
    """Return the tables of all splits as one, with the split's number as the first level of the index.

    Parameters
    ----------
    frames : sequence of DataFrame
        One per split.
    *names : str
        Names of the tables' own index levels. Without any, their index is dropped.
    """
    table = pd.concat(list(frames), keys=range(len(frames)), names=["split", *names])
    return table if names else table.droplevel(1)


def adult_rows(
    audits: pd.DataFrame, groups: pd.DataFrame, *, reading: str, short_attack: int, long_attack: int
) -> pd.DataFrame:
    """Return the numbers of tables 1 and 3 for every split.

    The published loss columns name their rows by position: the row of Project comes from plain networks. And the
    number of steps is mixed: the larger one for Reductions' loss ratio and for all error-rate ratios.

    Parameters
    ----------
    audits : DataFrame
        Tables of `trials.audit_adult`, by split.
    groups : DataFrame
        See `audits.group_table`.
    reading : {"as_published", "as_described"}
        Whose models stand in a row and how long they were attacked. *As described*: the method's own, and
        `short_attack` throughout.
    short_attack, long_attack : int
        Both numbers of steps.

    Returns
    -------
    DataFrame
        Indexed by method and split; columns as in the tables, such as ``bal_acc`` and ``entropy.t_n``.
    """
    found = audits.set_index(["method", "test", "n_steps"], append=True)

    def numbers(method):
        row = {}
        for column in (*GROUP_COLUMNS, *TESTS):
            swapped = reading == "as_published" and method == "project" and column != "zero_one"
            models_of = "baseline" if swapped else method
            if column in GROUP_COLUMNS:
                row[column] = groups.xs(models_of, level="method")[column]
                continue
            is_long = reading != "as_described" and (column == "zero_one" or method == "reduction")
            key = (models_of, TESTS[column], long_attack if is_long else short_attack)
            test = found.xs(key, level=("method", "test", "n_steps"))
            row[f"{column}.t_n"], row[f"{column}.reject_prop"] = test["lower_bound"], test["rejected"].astype(float)
        return pd.DataFrame(row)

    return pd.concat({method: numbers(method) for method in METHODS}, names=["method"])


def published_rows(stored: pd.DataFrame, mixed: pd.DataFrame, output: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers behind tables 1 and 3.

    Parameters
    ----------
    stored : DataFrame
        Of the authors' models; see `adult_rows`, *as published*.
    mixed : DataFrame
        Tables of `trials.audit_mixed_reductions`, by split.
    output : DataFrame
        Of the authors' audits, see `stored.stored_output`: accuracy, odds differences and loss ratio of Baseline.
    """
    rows = stored.copy()
    found = mixed[mixed["test"] == TESTS["entropy"]]
    for column, name in (("entropy.t_n", "lower_bound"), ("entropy.reject_prop", "rejected")):
        rows.loc["reduction", column] = found[name].astype(float).to_numpy()
    printed = printed_audits(output, "baseline", step_size=ADULT_AUDIT["step_size"])
    printed = printed.rename(columns={name: f"entropy.{name}" for name in ("t_n", "reject_prop")})
    splits = rows.loc["baseline"].index
    rows.loc[["baseline"], NOT_RELEASED] = printed.loc[splits, NOT_RELEASED].to_numpy()
    return rows


def printed_audits(output: pd.DataFrame, algo: str, *, step_size: float) -> pd.DataFrame:
    """Return what the authors' audits printed for one method and step of the attack, by split.

    Parameters
    ----------
    output : DataFrame
        See `stored.stored_output`.
    algo : str
        The authors' name of the method.
    step_size : float
    """
    chosen = output[(output["algo"] == algo) & (output["step_size"] == step_size)]
    return chosen.set_index("split").sort_index()[list(COMPAS_COLUMNS)]


def equal_steps(audits: pd.DataFrame) -> pd.DataFrame:
    """Return mean bounds and shares of rejected splits of each method's own models, by test and number of steps.

    Parameters
    ----------
    audits : DataFrame
        Tables of `trials.audit_adult`, by split.
    """
    shown = audits.rename(columns={"lower_bound": "T_n"}).astype({"rejected": float})
    means = shown.groupby(["test", "n_steps", "method"], sort=False)[["T_n", "rejected"]].mean()
    return means.unstack("method").swaplevel(axis=1).reindex(columns=METHODS, level=0)


def over_splits(rows: pd.DataFrame) -> pd.DataFrame:
    """Return mean and standard deviation (n - 1) over the splits, in rows by reading, method and statistic."""
    levels = ["reading", "method"]
    parts = {name: rows.groupby(level=levels, sort=False).agg(name) for name in ("mean", "std")}
    table = pd.concat(parts, names=["over splits"]).reorder_levels([*levels, "over splits"])
    order = rows.index.droplevel("split").unique()
    return table.loc[[(*key, name) for key in order for name in parts]]


def with_published_names(points: pd.DataFrame, output: pd.DataFrame) -> pd.DataFrame:
    """Return the curves of figure 2 with the published names: Project's is that of the plain networks.

    Parameters
    ----------
    points : DataFrame
        Tables of `trials.by_step_size`, by split: the authors' stored models.
    output : DataFrame
        Of the authors' audits, see `stored.stored_output`: the bounds of Baseline at the same steps and splits.
    """
    plain = points[points["method"] == "baseline"]
    bounds = output[output["algo"] == "baseline"].set_index(["split", "step_size"])[["t_n", "reject_prop"]]
    bounds = bounds.loc[list(zip(plain["split"], plain["step_size"], strict=True))]
    baseline = plain.assign(
        lower_bound=bounds["t_n"].to_numpy(), rejected=bounds["reject_prop"].to_numpy() == 1, diverged=0
    )
    of = dict(tuple(points.groupby("method"))) | {"baseline": baseline, "project": plain.assign(method="project")}
    return pd.concat([of[method] for method in METHODS], ignore_index=True)


def first_rejections(flow: pd.DataFrame, *, threshold: float) -> pd.DataFrame:
    """Return the first of the times shown at which each split's bound is above a threshold; missing if at none.

    Parameters
    ----------
    flow : DataFrame
        Columns split, method, time and lower_bound.
    threshold : float

    Returns
    -------
    DataFrame
        Columns method, split and time; one row per pair.
    """
    first = flow[flow["lower_bound"] > threshold].groupby(["method", "split"])["time"].min()
    every = pd.MultiIndex.from_product([METHODS, sorted(flow["split"].unique())], names=["method", "split"])
    return first.reindex(every).reset_index()
