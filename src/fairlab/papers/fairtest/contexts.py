"""The contexts that the paper's figures show, how their groups are called there, and our side of their numbers."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fairlab.fairtest.report import Association, Section, Subgroup

Conditions = tuple[str, ...]

# Figure 10, by protected attribute. The paper names education codes 10 and 11 "9 to 11", from the interval (9.5, 11.5].
ADULT_PROTECTED = {"race": "race", "gender": "sex"}
ADULT: Mapping[str, Mapping[str, Conditions]] = {
    "race": {
        "global": (),
        "sub1": ("age ≤ 42.5", "hours-per-week ≤ 55.5", "workclass: Federal-gov"),
        "sub2": ("age ≤ 42.5", "hours-per-week ≤ 55.5"),
    },
    "gender": {
        "global": (),
        "sub1": ("9.5 < education-num ≤ 11.5", "age > 46.5"),
        "sub2": ("education-num > 11.5",),
    },
}
ADULT_OUTPUTS = {"le_50k": "<=50K", "gt_50k": ">50K"}
ADULT_GROUPS = {
    "race": {"asian": "Asian-Pac-Islander", "black": "Black", "white": "White"},
    "gender": {"female": "Female", "male": "Male"},
}

# Figure 4.
BERKELEY_OUTPUTS, BERKELEY_GROUPS = {"no": "No", "yes": "Yes"}, {"female": "Female", "male": "Male"}
BERKELEY_PARTS = {"global": "", "department_a": "department: A", "department_b": "department: B"}

# Figures 2 and 11, of the shoppers.
WHITE, BLACK, NATIVE = "White Not Hispanic or Latino", "Black or African American", "American Indian and Alaska Native"
LOW_INCOME_NEW_YORK = ("state: NY", "income: <50K")
STAPLES_PROTECTED = {"figure-2": "income", "figure-11": "race"}
STAPLES: Mapping[str, Mapping[str, Conditions]] = {
    "figure-2": {
        "global": (),
        "sub1": ("state: CA", f"race: {WHITE}"),
        "sub2": ("state: NY", f"race: {BLACK}", "gender: M"),
    },
    # The men are not printed; the text compares the women with them.
    "figure-11": {
        "global": (),
        "sub1": (*LOW_INCOME_NEW_YORK, "gender: F"),
        "men": (*LOW_INCOME_NEW_YORK, "gender: M"),
    },
}
STAPLES_OUTPUTS = {"high": "high", "low": "low"}
STAPLES_GROUPS = {
    "figure-2": {"low_income": "<50K", "high_income": ">=50K"},
    "figure-11": {
        "asian": "Asian",
        "black": BLACK,
        "hispanic": "Hispanic or Latino",
        "american_indian": NATIVE,
        "white": WHITE,
    },
}
SHORT = {
    WHITE: "White",
    BLACK: "Black",
    NATIVE: "American Indian",
    "Hispanic or Latino": "Hispanic",
    "Native Hawaiian and Other Pacific Islander": "Native Hawaiian",
}


def short(words: str) -> str:
    """Return the words of a context with short names of races."""
    for long, brief in SHORT.items():
        words = words.replace(long, brief)
    return words


def find_shown(section: Section, shown: Mapping[str, Conditions]) -> dict[str, Subgroup]:
    """Return the tests of those shown contexts that the tree has, by their names."""
    found = {name: section.find(*conditions) for name, conditions in shown.items()}
    return {name: finding for name, finding in found.items() if finding is not None}


def shown_table(section: Section, shown: Mapping[str, Conditions]) -> pd.DataFrame:
    """Return size, corrected interval and p-value of each shown context, without numbers where the tree lacks it."""
    found, rows = find_shown(section, shown), []
    for name, conditions in shown.items():
        row = {"context": short(", ".join(conditions)) or "everyone", "in the tree": name in found}
        if finding := found.get(name):
            test = finding.association()
            row |= {"size": finding.size, "low": test.low, "high": test.high, "p_value": test.p_value}
            row["reported"] = finding in section.reported
        rows.append(row)
    columns = ["context", "in the tree", "size", "low", "high", "p_value", "reported"]
    return pd.DataFrame(rows).reindex(columns=columns).astype({"size": "Int64"})


def context_values(
    association: Association, prefix: str, interval: str, *, outputs: Mapping[str, str], groups: Mapping[str, str]
) -> dict[str, object]:
    """Return the numbers of one context by their ids: size, p-value, ``interval``, and those of `table_values`."""
    tests = {"p": association.p_value, interval: (association.low, association.high)}
    table = association.sample.counts()
    values = tests | table_values(table, outputs=outputs, groups=groups)
    return {f"{prefix}.{id}": value for id, value in values.items()}


def table_values(table: pd.DataFrame, *, outputs: Mapping[str, str], groups: Mapping[str, str]) -> dict[str, float]:
    """Return size, counts and percentages of a table with totals, by the last parts of their ids; of nobody nan.

    Percentages are of the column in the body of the table, and of all people in its totals. `outputs` and `groups` are
    rows and columns of the table by their ids.
    """
    values = {"size": table.loc["Total", "Total"]}
    for row, output in {**outputs, "total": "Total"}.items():
        for column, group in {**groups, "total": "Total"}.items():
            count, share_of = table.loc[output, group], "Total" if "total" in (row, column) else group
            values[f"{row}.{column}"] = count
            if (row, column) != ("total", "total"):
                values[f"{row}.{column}.pct"] = 100 * count / (table.loc["Total", share_of] or np.nan)
    return values


def berkeley_values(finding: Subgroup) -> dict[str, object]:
    """Return the numbers of figure 4, of everyone given the department and of departments A and B."""
    values = {}
    for prefix, part in BERKELEY_PARTS.items():
        ids = {"outputs": BERKELEY_OUTPUTS, "groups": BERKELEY_GROUPS}
        values |= context_values(finding.association(part), prefix, "diff" if part else "cond_diff", **ids)
    return values
