"""Records and claims on what is detected: planted effects and budgets, and errors of a health predictor."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fairlab.fairtest.finding import SIGNIFICANCE, Association
from fairlab.papers.fairtest.microbenchmark import TRIALS_OF_A_RUN, point
from fairlab.papers.fairtest.recording.shopper_draws import GENERATED, claim_of_most

ALL_SIZES, ALL_DELTAS, N_PAIRS = [100, 500, 1000, 2000, 5000, 10000], [2.5, 5, 10, 15], 10
HALF_A_DIGIT = 0.05  # of the printed means
THREE_TIMES, HALF = (2, 4), (0.45, 0.55)  # "about three times", "about half"
NEAR_ZERO = 0.1
NEEDS_PATIENTS = (
    "asks for the contest's patients, which generated ones cannot stand in for (fairlab data fetch health gets them or "
    "says how), and for reports with one test set and with two, which nothing here makes"
)


def effectiveness(exp, planted: pd.DataFrame, alarms: pd.DataFrame, budgets: pd.DataFrame) -> None:
    """Record figure 5 and section 6.1.

    What the figure prints is the mean of ten trials, and so is each of the values recorded for it.

    Curves "never decrease" when no mean falls by more than the Monte Carlo error that two standard errors of a binomial
    count of all planted pairs allow. The claim on false alarms fails if the whole 95% interval of their share lies
    above 5%.

    Parameters
    ----------
    exp : fairlab.Experiment
    planted : DataFrame
        ``size``, ``delta``, ``trial``, ``found``, ``validated`` and ``false``, one row for each trial.
    alarms : DataFrame
        As `fairlab.papers.fairtest.microbenchmark.alarm_shares` returns it.
    budgets : DataFrame
        As `fairlab.papers.fairtest.shoppers.count_table` returns it.
    """
    for delta in ALL_DELTAS:
        for size in ALL_SIZES:
            id = point(delta, size)
            here = planted[(planted["delta"] == delta) & (planted["size"] == size)]
            if len(here):
                runs = here.groupby(here["trial"] // TRIALS_OF_A_RUN)["found"].mean()
                exp.record("figure-5", id, runs, note=f"values are means of {TRIALS_OF_A_RUN} trials")
            else:
                exp.skip("figure-5", id, "not at this profile")
    _claims_of_figure_5(exp, planted)
    n_false = int(planted["false"].sum())
    exp.claim("figure-5", "zero-false-discoveries", n_false == 0, detail=f"{n_false} in {len(planted)} runs")
    any_significant = alarms.loc["any context significant"]
    exp.claim(
        "section-6.1",
        "false-discoveries-bounded",
        bool(any_significant["low"] <= SIGNIFICANCE),
        detail=f"{n_false} beside planted ones; in {any_significant['alarms']:.0f} of "
        f"{any_significant['runs']:.0f} runs without any",
    )
    _claims_on_budgets(exp, budgets)
    exp.skip("section-6.1", "healthcare-no-loss", NEEDS_PATIENTS)


def _claims_of_figure_5(exp, planted):
    found = planted.groupby(["delta", "size"])["found"].mean().unstack("size")
    slack = 2 * N_PAIRS * np.sqrt(0.25 / (N_PAIRS * planted["trial"].nunique()))
    steps = {"grows-with-size": found.diff(axis=1).iloc[:, 1:], "grows-with-effect": found.diff().iloc[1:]}
    for id, step in steps.items():
        fall = -step.to_numpy().min(initial=0)
        exp.claim("figure-5", id, bool(fall <= slack), detail=f"largest fall of a mean {fall:.1f} of ten")
    if list(found.columns) != ALL_SIZES or list(found.index) != ALL_DELTAS:
        for id in ("strong-effects-few-hundred", "weak-effects-large-contexts"):
            exp.skip("figure-5", id, "needs all sizes and strengths")
        return
    strong, weak = found.loc[15, [size for size in ALL_SIZES if size >= 500]], found.loc[2.5]
    least = f"least {strong.min():.2f} of ten"
    exp.claim("figure-5", "strong-effects-few-hundred", bool((strong >= N_PAIRS - HALF_A_DIGIT).all()), detail=least)
    exp.claim(
        "figure-5",
        "weak-effects-large-contexts",
        bool(weak[10000] > 9 and (weak.loc[:2000] < 3).all()),
        detail=", ".join(f"{value:.1f} at {size}" for size, value in weak.items()),
    )


def _claims_on_budgets(exp, counts):
    for budget in (2, 3):
        for column in ("discovered", "reported"):
            values = counts.loc[counts["budget"] == budget, column]
            if len(values):
                exp.record("section-6.1", f"budget_{budget}.{column}", values, data=GENERATED)
            else:
                exp.skip("section-6.1", f"budget_{budget}.{column}", "not at this profile")
    strongest = counts.pivot(index="draw", columns="budget", values="strongest of all")
    words = {budget: several.mode()[0] for budget, several in strongest.items()}
    claim_of_most(
        exp,
        "section-6.1",
        "same-top-context",
        strongest.eq(strongest.iloc[:, 0], axis=0).all(axis=1),
        "most often " + "; ".join(f"{words[budget]} for B={budget}" for budget in words),
    )
    means = counts.groupby("budget")[["discovered", "reported"]].mean()
    exp.claim(
        "section-6.1",
        "fewer-with-budget",
        bool((means.diff().dropna() < 0).all(axis=None)),
        detail="on average "
        + "; ".join(f"B={budget}: {row.discovered:.1f} and {row.reported:.1f}" for budget, row in means.iterrows()),
        data=GENERATED,
    )


def health(exp, tests: Mapping[str, Association], errors: pd.DataFrame, *, in_tree: bool) -> None:
    """Record figures 7 and 8 and section 6.3.1.

    "About three times" is read as two to four times, "about half" as 45 to 55 percent. "Significant" is a corrected
    p-value of at most 0.05.

    Parameters
    ----------
    exp : fairlab.Experiment
    tests : dict of str to Association
        Of error and age: ``everyone``, ``urgent care``, ``everyone, given confidence``, ``low confidence`` and ``high
        confidence``.
    errors : DataFrame
        Mean errors in days: columns ``all``, ``older`` and ``younger``, rows ``everyone`` and ``urgent care``.
    in_tree : bool
        Whether urgent care was a context of the tree; otherwise it was asked for.
    """
    everyone, urgent, given, low, high = (
        tests[name]
        for name in ("everyone", "urgent care", "everyone, given confidence", "low confidence", "high confidence")
    )
    asked = "" if in_tree else "asked for directly, not a context of this run's tree"
    for artefact, prefix, association, interval, note in (
        ("figure-7", "global", everyone, "corr", ""),
        ("figure-7", "sub1", urgent, "corr", asked),
        ("figure-8", "global", given, "cond_corr", ""),
        ("figure-8", "low_confidence", low, "corr", ""),
        ("figure-8", "high_confidence", high, "corr", ""),
    ):
        exp.record(artefact, f"{prefix}.size", association.size, note=note)
        exp.record(artefact, f"{prefix}.p", association.p_value, note=note)
        exp.record(artefact, f"{prefix}.{interval}", (association.low, association.high), note=note)
    older, younger = errors.loc["urgent care", "older"], errors.loc["urgent care", "younger"]
    exp.record("section-6.3.1", "mean_error.all", errors.loc["everyone", "all"])
    exp.record("section-6.3.1", "mean_error.urgent_care.age_61_99", older)
    exp.record("section-6.3.1", "mean_error.urgent_care.younger", younger)

    ends = {name: f"{name} [{a.low:.4f}, {a.high:.4f}]" for name, a in tests.items()}
    share = high.size / given.size
    claims = {
        ("figure-7", "error-grows-with-age"): (
            everyone.low > 0 and everyone.p_value <= SIGNIFICANCE,
            f"{ends['everyone']}, p = {everyone.p_value:.2g}",
        ),
        ("figure-7", "urgent-care-stronger"): (urgent.low > everyone.low, f"{ends['urgent care']}; {ends['everyone']}"),
        ("section-6.3.1", "old-worse-in-context"): (
            THREE_TIMES[0] <= older / younger <= THREE_TIMES[1],
            f"{older / younger:.2f} times the error of younger patients",
        ),
        ("section-6.3.1", "about-half-high-confidence"): (
            HALF[0] <= share <= HALF[1],
            f"{share:.1%} of the second test set",
        ),
        ("figure-8", "conditioning-weakens"): (
            given.high < everyone.low,
            f"{ends['everyone, given confidence']}; {ends['everyone']}",
        ),
        ("figure-8", "low-confidence-still-positive"): (
            low.low > 0 and low.p_value <= SIGNIFICANCE,
            f"{ends['low confidence']}, p = {low.p_value:.2g}",
        ),
        ("figure-8", "high-confidence-near-zero"): (high.high < NEAR_ZERO, ends["high confidence"]),
    }
    for (artefact, id), (holds, detail) in claims.items():
        exp.claim(artefact, id, bool(holds), detail=detail)
