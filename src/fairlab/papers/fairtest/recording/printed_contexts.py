"""Records and claims on contexts that the paper prints with their tables: figures 2, 4, 10 and 11."""

import pandas as pd

from fairlab.fairtest.finding import SIGNIFICANCE, Finding
from fairlab.fairtest.reporting import Report
from fairlab.fairtest.summaries import contingency_table, share_table
from fairlab.papers.fairtest import contexts
from fairlab.papers.fairtest.printed import adult_values, berkeley_values

NO_CONTEXT = "the tree of this run lacks a context of the paper"
FAR_ABOVE = 3 * SIGNIFICANCE  # "far above 0.05"
FEW_HUNDREDS = 1_000  # "a few hundred" is below


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


def _skip_context(exp, artefact, prefix, conditions):
    """Skip all values of a context that the tree does not have."""
    for id in exp.specification.published.artefact(artefact).values:
        if id.startswith(f"{prefix}."):
            exp.skip(artefact, id, f"the tree of this run has no context {', '.join(conditions)}")
