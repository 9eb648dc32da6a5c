"""What each experiment records: its side of the published values, and whether the paper's claims hold."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fairlab.individual_fairness.auditing import FOUR_FIFTHS, RatioTest
from fairlab.papers.individual_fairness.learners import LABELS, METHODS, BalancedMLP
from fairlab.papers.individual_fairness.simulation import ROTATIONS, weight_axis
from fairlab.papers.individual_fairness.splits import ADULT_SEEDS, Split
from fairlab.papers.individual_fairness.tables import COMPAS_COLUMNS

# Of SenSR's odds differences on COMPAS: "far below" Baseline's is less than half of them, "only slightly below" lower
# by at most a quarter.
FAR, SLIGHTLY = 0.5, 0.25


def adult(exp, rows: pd.DataFrame, *, notes: Mapping[str, str], baseline, missing: str = "") -> None:
    """Record tables 1, 2 and 3.

    Parameters
    ----------
    exp : Experiment
    rows : DataFrame
        Indexed by reading, method and split; see `tables.adult_rows` and `tables.published_rows`. The claims of table 1
        are judged on those as published.
    notes : dict of str to str
        What a reader of the scorecard must know of a row as published: by id, or by the beginning of ids.
    baseline : BalancedMLP
        Trained.
    missing : str
        Why there are no rows as published, if there are none.
    """
    for artefact in ("table-1", "table-3"):
        _means_and_deviations(exp, artefact, rows, notes=notes, missing=missing)
    _judge(exp, "table-1", rows, _adult_claims, missing=missing)
    settings = {
        "learning_rate": baseline.learning_rate,
        "batch_size": baseline.batch_size,
        "num_steps": baseline.n_steps,
    }
    exp.record_frame("table-2", pd.DataFrame([settings]), id="{column}")


def _means_and_deviations(exp, artefact, rows, *, notes, missing=""):
    """Record the numbers of a table, split by split, and their standard deviations where the table has them."""
    published = exp.published(artefact).index
    for (reading, method), numbers in rows.groupby(level=["reading", "method"], sort=False):
        for column, values in numbers.items():
            name, deviation = f"{method}.{column}", f"{method}.{column}.std"
            said = [text for start, text in notes.items() if reading == "as_published" and name.startswith(start)]
            exp.record(artefact, name, values.to_numpy(), reading=reading, note="; ".join(said))
            if deviation not in published:
                continue
            if len(values) > 1:
                spread = "; ".join([f"standard deviation of {len(values)} splits", *said])
                exp.record(artefact, deviation, values.std(), reading=reading, note=spread)
            elif reading == "as_published":
                exp.skip(artefact, deviation, "one split has no standard deviation")
    if missing:
        for name in published:
            exp.skip(artefact, name, missing)


def _judge(exp, artefact, rows, claims_of, *, missing=""):
    """Record the claims of a table on its rows as published."""
    if missing:
        claims = dict.fromkeys(exp.specification.published.artefact(artefact).claims, (None, missing))
    else:
        claims = claims_of(rows.loc["as_published"])
    exp.claims(artefact, claims)


def overview(exp, split: Split) -> None:
    """Record Appendix F.1, from any division of Adult."""
    n_train, n_rows = len(split.X_train), len(split.X_train) + len(split.X_test)
    found = {"rows": n_rows, "train_share": n_train / n_rows, "hidden_units": BalancedMLP().n_hidden}
    exp.record_frame("appendix-f.1", pd.DataFrame([found]), id="{column}")


def _adult_claims(rows: pd.DataFrame) -> dict[str, tuple[bool, str]]:
    mean = rows.groupby(level="method", sort=False).mean().T
    odds = mean.loc[["aod_gender", "aod_race"]].abs()
    spread = rows.xs("baseline", level="method")[list(odds.index)].std()
    bounds = mean.loc[["entropy.t_n", "zero_one.t_n"]]
    rejected = mean.loc[["entropy.reject_prop", "zero_one.reject_prop"]]
    by_loss, by_error = (rejected.loc[test] for test in rejected.index)
    both_odds = f"gender: {_each(mean, 'aod_gender')}; race: {_each(mean, 'aod_race')}"
    both_bounds = f"loss: {_each(mean, 'entropy.t_n')}; errors: {_each(mean, 'zero_one.t_n')}"
    both_shares = f"rejected by loss: {_each(mean, by_loss.name)}; by errors: {_each(mean, by_error.name)}"
    return {
        "baseline-unfair": (
            bool((rejected["baseline"] == 1).all() and (odds["baseline"] > 2 * spread).all()),
            f"{both_shares}; {both_odds}; standard deviations of Baseline's AOD over splits: "
            + ", ".join(f"{value:.3f}" for value in spread),
        ),
        "project-mostly-rejected": (
            (bounds["project"] < bounds["baseline"]).all() and (rejected["project"] > 0.5).all(),
            f"{both_bounds}; {both_shares}",
        ),
        "sensr-passes": (
            (rejected["sensr"] == 0).all() and ((bounds - 1).abs().idxmin(axis=1) == "sensr").all(),
            both_bounds,
        ),
        "sensr-lowest-accuracy": (mean.loc["bal_acc"].idxmin() == "sensr", _each(mean, "bal_acc")),
        "reduction-best-group-fairness": ((odds.idxmin(axis=1) == "reduction").all(), both_odds),
        "reduction-worsens-individual-fairness": ((bounds["reduction"] > bounds["baseline"]).all(), both_bounds),
        "sensr-improves-group-fairness": ((odds["sensr"] < odds["baseline"]).all(), both_odds),
        "tests-agree": (
            by_loss.drop("project").equals(by_error.drop("project"))
            and np.allclose([by_loss["project"], by_error["project"]], [0.9, 0.8]),
            both_shares,
        ),
    }


def compas(exp, rows: pd.DataFrame, *, missing: str = "") -> None:
    """Record table 4.

    Parameters
    ----------
    exp : Experiment
    rows : DataFrame
        Indexed by reading, split and method; see `trials.audit_compas`.
    missing : str
        Why there are no rows as published, if there are none.
    """
    rows = rows[list(COMPAS_COLUMNS)]
    _means_and_deviations(exp, "table-4", rows, notes={}, missing=missing)
    _judge(exp, "table-4", rows, _compas_claims, missing=missing)


def _compas_claims(rows: pd.DataFrame) -> dict[str, tuple[bool, str]]:
    mean = rows.groupby(level="method", sort=False).mean().T
    odds, bound, rejected = mean.loc[["aod_gender", "aod_race"]], mean.loc["t_n"], mean.loc["reject_prop"]
    distance = pd.concat([odds.abs(), mean.loc[["t_n"]]])
    ratio = odds["sensr"] / odds["baseline"]
    return {
        "baseline-unfair": (
            rejected["baseline"] == 1 and (odds["baseline"] > 0.15).all(),
            f"rejected in {rejected['baseline']:.0%}; {odds['baseline'].min():.3f} at least",
        ),
        "reduction-still-rejected": (
            rejected["reduction"] == 1 and 1 - SLIGHTLY <= bound["reduction"] / bound["baseline"] < 1,
            f"rejected in {rejected['reduction']:.0%}; {_each(mean, 't_n')}",
        ),
        "reduction-best-group-fairness": (
            (odds.abs().idxmin(axis=1) == "reduction").all(),
            f"gender: {_each(mean, 'aod_gender')}; race: {_each(mean, 'aod_race')}",
        ),
        "project-rarely-rejected": (rejected["project"] <= 0.2, f"rejected in {rejected['project']:.0%}"),
        "sensr-passes": (
            rejected["sensr"] == 0 and bound.idxmin() == "sensr",
            f"rejected in {rejected['sensr']:.0%}; {_each(mean, 't_n')}",
        ),
        "sensr-gender-aod": (
            abs(ratio["aod_gender"]) < FAR and 1 - SLIGHTLY <= ratio["aod_race"] < 1,
            f"gender {ratio['aod_gender']:.0%} and race {ratio['aod_race']:.0%} of Baseline's",
        ),
        "both-improve-all": (
            all((distance[method] < distance["baseline"]).all() for method in ("sensr", "reduction")),
            "; ".join(f"{row}: {_each(mean, row)}" for row in distance.index),
        ),
        "sensr-lowest-accuracy": (mean.loc["bal_acc"].idxmin() == "sensr", _each(mean, "bal_acc")),
    }


def stopping_time(exp, printed: pd.DataFrame) -> None:
    """Record figure 2; "at the longest" is each method's last published point.

    Parameters
    ----------
    exp : Experiment
    printed : DataFrame
        Columns method, split, time and lower_bound at the published points; see `trials.by_step_size`.
    """
    ordered = printed.sort_values("time").assign(rejected=printed["lower_bound"] > FOUR_FIFTHS)
    ends = ordered.groupby(["method", "split"])["rejected"].agg(["first", "last"])
    shares = ends.groupby("method").mean().loc[[method for method in METHODS if method != "sensr"]]
    largest = printed.loc[printed["method"] == "sensr", "lower_bound"].max()
    means = printed.groupby(["method", "time"])["lower_bound"].mean()
    smallest = means.groupby("method").diff().min()
    rejected = ", ".join(f"{LABELS[method]} {share:.0%}" for method, share in shares["last"].items())
    claims = {
        "sensr-never-rejected": (largest < FOUR_FIFTHS, f"largest bound {largest:.3f}"),
        "others-need-long-t": (
            (shares["first"] == 0).all() and (shares["last"] > 0.5).all(),
            f"rejected at the longest: {rejected}",
        ),
        "increasing-in-t": (smallest >= 0, f"smallest increase of a mean {smallest:.4f}"),
    }
    exp.claims("figure-2", claims)


def simulation(exp, claims: Mapping[str, tuple[bool, str]], groups: pd.DataFrame) -> None:
    """Record figures 1 and 3. Rotations and grid are the authors'.

    Parameters
    ----------
    exp : Experiment
    claims : dict of str to (bool, str)
        Of figure 1, on the maps as published; see `simulation.map_claims`.
    groups : DataFrame
        One row per group of people, with their number (``people``) and their means of ``x1`` and ``x2``.
    """
    exp.claims("figure-1", claims)
    exp.record_frame("figure-1", pd.DataFrame([ROTATIONS]), id="rotation.{column}_degrees")
    exp.record("figure-1", "grid.points_per_axis", len(weight_axis()))
    apart = (groups.loc["minority"] - groups.loc["majority"]).abs()
    share = groups["people"].min() / groups["people"].sum()
    found = {
        "groups-differ-in-x1": (
            abs(apart["x1"] - 3) <= 0.1 and apart["x2"] < 0.1,
            f"{apart['x1']:.3f} and {apart['x2']:.3f}",
        ),
        "minority-is-small": (abs(share - 0.1) <= 0.025, f"{share:.1%} of the points"),
    }
    exp.claims("figure-3", found)


def calibration(exp, test: RatioTest) -> None:
    """Record the settings of section 4 from a test that was made without naming any."""
    settings = {"delta": test.max_loss_ratio, "significance_level": test.alpha, "repetitions": len(ADULT_SEEDS)}
    exp.record_frame("section-4", pd.DataFrame([settings]), id="{column}")


def _each(mean: pd.DataFrame, row: str) -> str:
    """Return one number per method as text."""
    return ", ".join(f"{LABELS[method]} {value:.3f}" for method, value in mean.loc[row].items())
