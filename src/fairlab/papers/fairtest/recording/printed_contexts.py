"""Records and claims on contexts that the paper prints with their tables: figures 2, 4, 10 and 11."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fairlab.fairtest.finding import SIGNIFICANCE, Association, Finding
from fairlab.fairtest.reporting import Report, Section
from fairlab.fairtest.summaries import contingency_table, share_table
from fairlab.papers.fairtest import contexts
from fairlab.papers.fairtest.printed import adult_values, berkeley_values, staples_values

READINGS = ("as_described", "as_published")
NO_CONTEXT = "the tree of this run lacks a context of the paper"
COPIES = "copies of the public shoppers make it too sharp"
FAR_ABOVE = 3 * SIGNIFICANCE  # "far above 0.05"
FEW_HUNDREDS = 1_000  # "a few hundred" is below
TWICE = (1.5, 2.5)  # "about twice as often"


def adult(exp, report: Report) -> None:
    """Record figure 10 and section 6.3.3.

    Of the five races the paper prints three, and its statement about black people is checked among these.

    Parameters
    ----------
    exp : fairlab.Experiment
    report : Report
        On income by sex and by race.
    """
    sections = {key: report.section(name) for key, name in contexts.ADULT_PROTECTED.items()}
    found = {key: contexts.find_shown(section, contexts.ADULT[key]) for key, section in sections.items()}
    for id, value in adult_values(report).items():
        finding = found[id.split(".")[0]][id.split(".")[1]]
        quiet = id.endswith(".p") and not finding.is_significant
        exp.record("figure-10", id, value, note="not significant in this run" if quiet else "")
    for key, shown in contexts.ADULT.items():
        for name in [name for name in shown if name not in found[key]]:
            _skip_context(exp, "figure-10", f"{key}.{name}", shown[name])
    everyone = [share_table(sections[key].everyone.sample).loc["<=50K"] for key in ("race", "gender")]
    low_income = pd.concat(everyone).drop("Total")
    for name, group in {"women": "Female", "men": "Male", **contexts.ADULT_GROUPS["race"]}.items():
        exp.record("section-6.3.3", f"low_income_share.{name}", 100 * low_income[group])
    _claims_of_adult(exp, found)
    sizes = [finding.size for section in report.sections for finding in section.reported]
    exp.claim(
        "figure-10", "small-context-found", min(sizes) < FEW_HUNDREDS, detail=f"smallest reported: {min(sizes):,}"
    )


def _claims_of_adult(exp, found):
    complete = {key: len(found[key]) == len(contexts.ADULT[key]) for key in found}
    lows = {key: {name: finding.association().low for name, finding in found[key].items()} for key in found}
    if all(complete.values()):
        exp.claim(
            "figure-10",
            "contexts-stronger-than-root",
            all(low > bounds["global"] for bounds in lows.values() for name, low in bounds.items() if name != "global"),
            detail="; ".join(f"{key} {name} {low:.4f}" for key, bounds in lows.items() for name, low in bounds.items()),
        )
    else:
        exp.skip("figure-10", "contexts-stronger-than-root", NO_CONTEXT)
    for key, id, group in (("race", "black-disfavoured", "Black"), ("gender", "women-disfavoured", "Female")):
        if not complete[key]:
            exp.skip("figure-10", id, NO_CONTEXT)
            continue
        low_income = pd.DataFrame(
            {name: share_table(finding.sample).loc["<=50K"] for name, finding in found[key].items()}
        )
        printed = low_income.loc[list(contexts.ADULT_GROUPS[key].values())]
        exp.claim(
            "figure-10",
            id,
            bool((printed.idxmax() == group).all()),
            detail="; ".join(
                f"{name} {g} {share:.0%}" for name, column in printed.items() for g, share in column.items()
            ),
        )


def berkeley(exp, finding: Finding, *, n_applicants: int) -> None:
    """Record figure 4 and section 4.6.

    "Far above 0.05" is read as at least three times as much, "high" as above 0.05.

    Parameters
    ----------
    exp : fairlab.Experiment
    finding : Finding
        Of everyone, given the department.
    n_applicants : int
    """
    whole, *departments = finding.associations
    for id, value in berkeley_values(finding).items():
        exp.record("figure-4", id, value)
    exp.claim(
        "figure-4",
        "conditional-not-significant",
        whole.p_value > FAR_ABOVE and whole.low < 0 < whole.high,
        detail=f"p = {whole.p_value:.3f}, interval [{whole.low:.4f}, {whole.high:.4f}]",
    )
    p_values = {association.hypothesis.part: association.p_value for association in departments}
    below = [part for part, p_value in p_values.items() if p_value < SIGNIFICANCE]
    detail = f"below 0.05: {', '.join(below) or 'none'}"
    exp.claim("figure-4", "only-department-a", below == ["department: A"], detail=detail)
    rates = share_table(finding.association("department: A").hypothesis.sample).loc["Yes"]
    exp.claim(
        "figure-4",
        "department-a-favours-women",
        rates["Female"] > rates["Male"],
        detail=f"admitted: {rates['Female']:.0%} of women, {rates['Male']:.0%} of men",
    )
    high = {part: p_value for part, p_value in p_values.items() if part[-1] in "CDEF"}
    exp.claim(
        "figure-4",
        "departments-c-to-f-high-p",
        min(high.values()) > SIGNIFICANCE,
        detail=", ".join(f"{part}: {p:.2f}" for part, p in high.items()),
    )
    _section_4_6(exp, finding, n_applicants)


def _section_4_6(exp, finding, n_applicants):
    whole, *departments = finding.associations
    table = contingency_table(finding.sample)
    shares = 100 * table.loc["Yes"] / table.loc["Total"]
    exp.record("section-4.6", "applicants", n_applicants)
    exp.record("section-4.6", "admitted_share.female", shares["Female"])
    exp.record("section-4.6", "admitted_share.male", shares["Male"])
    exp.record("section-4.6", "conditional.p", whole.p_value)
    against_women = [a.hypothesis.part for a in departments if a.p_value < SIGNIFICANCE and a.high < 0]
    exp.claim(
        "section-4.6",
        "simpson",
        shares["Female"] < shares["Male"] and not against_women,
        detail=f"admitted: {shares['Female']:.0f}% of women, {shares['Male']:.0f}% of men; significant disadvantage in "
        f"{', '.join(against_women) or 'no department'}",
    )


def staples(exp, reports: Mapping[tuple[str, str], Report]) -> None:
    """Record figures 2 and 11 and appendix A.1.

    Recorded is the drawn population: as published, which is judged, and beside it as described. Verdicts on counts
    allow for another draw; what can be expected to agree is the shares.

    Thresholds: NMI "below 0.001" is the upper bound of its interval; "about twice as often" is between 1.5 and 2.5
    times; an association is "stronger" when the lower bound of its interval is higher, which is what FairTest ranks
    by. The claim on the most affected group is on all eight groups of the census, of which the paper prints five.

    Parameters
    ----------
    exp : fairlab.Experiment
    reports : dict of (str, str) to Report
        On price by income and by race, by reading of the price and by what the shoppers are.
    """
    for artefact, shown in contexts.STAPLES.items():
        for reading in READINGS:
            for id, value in staples_values(reports[reading, "drawn"], artefact).items():
                note = COPIES if id.endswith((".p", ".nmi")) else ""
                exp.record(artefact, id, value, reading=reading, note=note)
        section = reports["as_published", "drawn"].section(contexts.STAPLES_PROTECTED[artefact])
        found = contexts.find_shown(section, shown)
        for name in [name for name in shown if name not in found]:
            _skip_context(exp, artefact, name, shown[name])
    judged = reports["as_published", "drawn"]
    as_they_are = reports["as_published", "as they are"].section("income").everyone.association()
    _claims_of_figure_2(exp, judged.section("income"), as_they_are)
    _claims_of_figure_11(exp, judged.section("race"))
    for reading in READINGS:
        everyone = reports[reading, "drawn"].section("race").everyone
        share, table = _high_prices(everyone), contingency_table(everyone.sample)
        part = table.loc["Total", contexts.NATIVE] / table.loc["Total", "Total"]
        ratio = share[contexts.NATIVE] / share["Total"]
        exp.record("appendix-a.1", "native.high_price_share", 100 * share[contexts.NATIVE], reading=reading)
        exp.record("appendix-a.1", "native.ratio_to_average", ratio, reading=reading)
        exp.record("appendix-a.1", "native.share_of_users_upper_bound", 100 * part, reading=reading)
    exp.claim("appendix-a.1", "native-small-minority", bool(part < 0.01), detail=f"{part:.2%} of the shoppers tested")


def _claims_of_figure_2(exp, income: Section, as_they_are: Association):
    found = contexts.find_shown(income, contexts.STAPLES["figure-2"])
    everyone = income.everyone.association()
    exp.claim(
        "figure-2",
        "global-effect-tiny",
        bool(everyone.high < 0.001 and everyone.p_value < 1e-6),
        detail=f"{_bounds(income.everyone)}, p = {everyone.p_value:.2g}; "
        f"shoppers as they are: up to {as_they_are.high:.5f}, p = {as_they_are.p_value:.2g}",
    )
    subpopulations = [found[name] for name in ("sub1", "sub2") if name in found]
    if len(subpopulations) == 2:
        exp.claim(
            "figure-2",
            "zoom-in-grows",
            all(finding.association().low > everyone.high for finding in subpopulations),
            detail=_bounds(income.everyone, *subpopulations),
        )
        high = {contexts.short(str(finding.node)): _high_prices(finding) for finding in subpopulations}
        exp.claim(
            "figure-2",
            "lower-income-pays-more",
            all(share["<50K"] > share[">=50K"] for share in high.values()),
            detail="; ".join(f"{name}: {share['<50K']:.1%} and {share['>=50K']:.1%}" for name, share in high.items()),
        )
    else:
        for id in ("zoom-in-grows", "lower-income-pays-more"):
            exp.skip("figure-2", id, NO_CONTEXT)
    lows = [finding.association().low for finding in income.reported[1:]]
    exp.claim("figure-2", "sorted", bool((np.diff(lows) <= 0).all()), detail=f"{len(lows)} contexts are listed")


def _claims_of_figure_11(exp, race: Section):
    ranking = _high_prices(race.everyone).drop("Total").sort_values(ascending=False)
    exp.claim(
        "figure-11",
        "native-most-affected",
        ranking.index[0] == contexts.NATIVE,
        detail="; ".join(f"{contexts.short(group)} {share:.1%}" for group, share in ranking.head(3).items()),
    )
    women, men = (race.find(*contexts.LOW_INCOME_NEW_YORK, f"gender: {gender}") for gender in "FM")
    if women:
        white, everyone = _high_prices(women)[[contexts.WHITE, "Total"]]
        detail = f"white {white:.1%}, all {everyone:.1%}"
        exp.claim("figure-11", "white-affected-in-ny", bool(TWICE[0] <= white / everyone <= TWICE[1]), detail=detail)
    else:
        exp.skip("figure-11", "white-affected-in-ny", NO_CONTEXT)
    if women and men:
        stronger = bool(women.association().low > men.association().low)
        exp.claim("figure-11", "women-stronger-than-men", stronger, detail=_bounds(women, men))
    else:
        exp.skip("figure-11", "women-stronger-than-men", "the tree of this run does not test both")


def _high_prices(finding: Finding) -> pd.Series:
    """Return the share of high prices by group, and of all."""
    return share_table(finding.sample).loc["high"]


def _bounds(*findings: Finding) -> str:
    """Return intervals as text."""
    return "; ".join(
        f"{contexts.short(str(f.node))} [{a.low:.5f}, {a.high:.5f}]" for f in findings for a in f.associations
    )


def _skip_context(exp, artefact, prefix, conditions):
    """Skip all values of a context that the tree does not have."""
    for id in exp.specification.published.artefact(artefact).values:
        if id.startswith(f"{prefix}."):
            exp.skip(artefact, id, f"the tree of this run has no context {', '.join(conditions)}")
