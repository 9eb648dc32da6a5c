"""Six sentences of section 6.3, each as a question: whether it holds, and the numbers that this rests on.

Only that on Staples is a claim of the section; the others are claims of figures, and shown beside it.
"""

from collections.abc import Sequence

import pandas as pd

from fairlab.data import Dataset
from fairlab.fairtest.report import SIGNIFICANCE, Association, AssociationReport, Section, Subgroup
from fairlab.papers.fairtest.contexts import NATIVE

EDUCATED = 12


def in_words(association: Association) -> str:
    """Return interval and p-value as text."""
    return f"[{association.low:.4f}, {association.high:.4f}], p = {association.p_value:.2g}"


def high_prices(shoppers: Dataset) -> pd.Series:
    """Return the share of shoppers with the high price by race."""
    return (shoppers.target == "high").groupby(shoppers.features["race"], observed=True).mean()


def high_prices_in_alaska(shoppers: Dataset) -> pd.DataFrame:
    """Return share with the high price and number of shoppers by race, in Alaska and elsewhere."""
    in_alaska = shoppers.features["state"] == "AK"
    by_race = (shoppers.target == "high").groupby([in_alaska, shoppers.features["race"]], observed=True)
    table = by_race.agg(["mean", "size"]).unstack("state")
    return table.rename(columns={True: "Alaska", False: "elsewhere"})


def staples(report: AssociationReport, shoppers: Dataset) -> tuple[bool | None, str]:
    """Whether price goes with income and with race, and Native Americans in Alaska are affected most.

    These are if they get the high price more often than Native Americans elsewhere and than any other group in Alaska.
    Not decided if none of them is among the shoppers.
    """
    income, race = (report.section(name).everyone.association() for name in ("income", "race"))
    high = high_prices_in_alaska(shoppers)["mean"]
    if "Alaska" not in high or pd.isna(high["Alaska"].get(NATIVE)):
        return None, "none of the shoppers is a Native American in Alaska"
    native, others = high["Alaska"][NATIVE], high["Alaska"].drop(NATIVE)
    most = bool(native > max(high["elsewhere"][NATIVE], others.max()))
    return (
        race.p_value <= SIGNIFICANCE and income.p_value <= SIGNIFICANCE and most,
        f"NMI with race {in_words(race)}, with income {in_words(income)}; high price: {native:.0%} of Native Americans "
        f"in Alaska, {high['elsewhere'][NATIVE]:.0%} elsewhere, {others.max():.0%} of the group {others.idxmax()} in "
        "Alaska",
    )


def health(plain: Association, given: Association) -> tuple[bool, str]:
    """Whether errors grow with age, and less so given the prediction's confidence."""
    return (
        plain.low > 0 and 0 < given.effect < plain.effect,
        f"correlation of error and age {in_words(plain)}; given confidence {in_words(given)}",
    )


def tagger(labels: Sequence[Association]) -> tuple[bool, str]:
    """Whether labels are given to one race significantly more often."""
    unequal = [association for association in labels if association.p_value <= SIGNIFICANCE]
    names = ", ".join(association.part for association in unequal[:5])
    return (len(unequal) > 0, f"{len(unequal)} of {len(labels)} labels tested: {names}, ...")


def movies(rating: Association) -> tuple[bool, str]:
    """Whether older users are recommended higher rated movies."""
    return (rating.low > 0 and rating.p_value <= SIGNIFICANCE, f"correlation of age and mean rating {in_words(rating)}")


def educated(sex: Section) -> list[Subgroup]:
    """Return the contexts that a lower bound on education of about twelve defines, and nothing else does."""
    return [
        finding
        for finding in sex.subgroups
        for conditions in [finding.node.conditions]
        if len(conditions) == 1
        and conditions[0].attribute == "education-num"
        and EDUCATED - 1 <= conditions[0].low <= EDUCATED
    ]


def adult(sex: Section) -> tuple[bool, str]:
    """Whether sex and income are more strongly associated among the educated than among everyone."""
    found = educated(sex)
    contexts = "; ".join(f"{finding.node} {in_words(finding.association())}" for finding in found)
    return (
        len(found) > 0 and all(f.is_significant and f.effect > sex.everyone.effect for f in found),
        f"NMI of everyone {in_words(sex.everyone.association())}; {contexts}",
    )


def berkeley(gap: Association, given: Association) -> tuple[bool, str]:
    """Whether the difference between men and women disappears when the department is held fixed."""
    return (
        gap.p_value <= SIGNIFICANCE < given.p_value,
        f"difference {in_words(gap)}; given department {in_words(given)}",
    )
