"""Measures that four tools give the same name and compute differently, on Adult and COMPAS; and COMPAS' scores.

``python tests/other_measures.py --write`` makes an environment for the tools (they need an older NumPy), runs each, and
writes the tables of the guide. On Adult, the decision is whether somebody has a degree (13 years of education), and the
label is the income. On COMPAS, the decision is whether the decile is low (up to 4), and the label is whether the person
was not arrested again within two years.
"""

import json
import sys
import warnings
from pathlib import Path
from tempfile import NamedTemporaryFile

import other_tools
import pandas as pd

DOCS = Path(__file__).parents[1] / "docs"
TABLE, SCORES = DOCS / "guide" / "other_measures.csv", DOCS / "compas_scores.csv"
PINNED = ("fairlearn==0.15.0", "aequitas==1.1.0", "aif360==0.6.1", "numpy==1.26.4")
PRIVILEGED = {"sex": "Male", "race": {"adult": "White", "compas": "Caucasian"}}
DIGITS = 4
TWO_RACES = ["African-American", "Caucasian"]
# Measures, and why they differ.
WHY = {
    "selection rate difference, sex": "fairlab and AIF360 keep the sign (Female minus Male), fairlearn the size",
    "selection rate difference, race": "fairlab: the largest, of each group with everyone else, from 30 people on; "
    "fairlearn: largest minus smallest rate, however few the people; AIF360: all others together minus the privileged",
    "impact ratio, sex": "aequitas divides by the largest group, not by the rate that is highest; its ppr "
    "is the group's share of all selected, not its selection rate, which it calls pprev",
    "impact ratio, race": "fairlab leaves groups below 2% out, as the rules of New York allow; fairlearn takes the "
    "smallest and the largest rate of all groups; AIF360 has two groups; aequitas divides by the largest group",
    "equal opportunity difference, race": "as selection rates, among people whose label is favourable",
    "equalised odds, race": "fairlab tests both differences; fairlearn has the larger, AIF360 the mean of both",
}


def compas() -> pd.DataFrame:
    """Return the people of ProPublica's table, with decisions."""
    from fairlab.data import fetch

    people = pd.read_csv(fetch(["compas/compas-scores-two-years.csv"])["detail"].item())
    return people.assign(decided=people["decile_score"] < 5, label=people["two_year_recid"] == 0)


def tables() -> pd.DataFrame:
    """Return sex, race, decision and label of the people of both tables."""
    from fairlab.data import load

    adult = load("adult-uci")
    features = adult.features
    found = {
        "adult": features[["sex", "race"]].assign(
            decided=features["education-num"] >= 13, label=adult.target == ">50K"
        ),
        "compas": compas()[["sex", "race", "decided", "label"]],
    }
    return pd.concat(found, names=["data"]).reset_index("data").reset_index(drop=True)


def fairlab(people: pd.DataFrame, privileged: dict) -> dict[str, float]:
    """The audit's largest difference of group rates for each feature, and its smallest impact ratio."""
    from fairlab import Case, audit

    report = audit(
        Case.from_decisions(
            people, "decided", sensitive_features=["sex", "race"], y_true="label", features=["sex", "race"]
        ),
        methods=["rates"],
        progress=False,
    )
    frame = report.frame[report.frame["who"].isin(["sex", "race"])]
    largest = {
        key: rows.loc[rows["estimate"].abs().idxmax(), "estimate"] for key, rows in frame.groupby(["measure", "who"])
    }
    ratios = {name: table.loc[~table["small"], "impact ratio"].min() for name, table in report.groups.items()}
    return {
        "selection rate difference, sex": largest["selection_rate_difference", "sex"],
        "selection rate difference, race": largest["selection_rate_difference", "race"],
        "impact ratio, sex": ratios["sex"],
        "impact ratio, race": ratios["race"],
        "equal opportunity difference, race": largest["true_positive_rate_difference", "race"],
        "equalised odds, race": [
            largest["true_positive_rate_difference", "race"],
            largest["false_positive_rate_difference", "race"],
        ],
    }


def fairlearn(people: pd.DataFrame, privileged: dict) -> dict[str, float]:
    """Its scalar measures."""
    from fairlearn import metrics

    measures = {
        "selection rate difference, sex": metrics.demographic_parity_difference,
        "selection rate difference, race": metrics.demographic_parity_difference,
        "impact ratio, sex": metrics.demographic_parity_ratio,
        "impact ratio, race": metrics.demographic_parity_ratio,
        "equal opportunity difference, race": metrics.equal_opportunity_difference,
        "equalised odds, race": metrics.equalized_odds_difference,
    }
    return {
        name: of(people["label"], people["decided"], sensitive_features=people[name.split(", ")[1]])
        for name, of in measures.items()
    }


def aif360(people: pd.DataFrame, privileged: dict) -> dict[str, float]:
    """Its measures of two groups: the privileged one and all others."""
    from aif360.datasets import BinaryLabelDataset
    from aif360.metrics import ClassificationMetric

    def of(name):
        frame = pd.DataFrame({name: (people[name] == privileged[name]).astype(float), "label": people["label"] * 1.0})
        sets = [
            BinaryLabelDataset(
                df=frame.assign(label=values * 1.0), label_names=["label"], protected_attribute_names=[name]
            )
            for values in (people["label"], people["decided"])
        ]
        return ClassificationMetric(*sets, unprivileged_groups=[{name: 0}], privileged_groups=[{name: 1}])

    sex, race = of("sex"), of("race")
    return {
        "selection rate difference, sex": sex.statistical_parity_difference(),
        "selection rate difference, race": race.statistical_parity_difference(),
        "impact ratio, sex": sex.disparate_impact(),
        "impact ratio, race": race.disparate_impact(),
        "equal opportunity difference, race": race.equal_opportunity_difference(),
        "equalised odds, race": race.average_odds_difference(),
    }


def aequitas(people: pd.DataFrame, privileged: dict) -> dict[str, float]:
    """Its smallest ratio to the largest group for each feature: of ppr, and of pprev."""
    ratios = other_tools.aequitas_ratios(people[["sex", "race"]], people["decided"], people["label"])
    smallest = ratios.groupby("attribute_name")[["ppr_disparity", "pprev_disparity"]].min()
    return {f"impact ratio, {name}": smallest.loc[name].tolist() for name in ("sex", "race")}


TOOLS = {each.__name__: each for each in (fairlab, fairlearn, aif360, aequitas)}


def answers(tool: str, people: pd.DataFrame) -> list[dict]:
    """Return what a tool computes, rounded."""
    rows = []
    for data, some in people.groupby("data"):
        privileged = {"sex": PRIVILEGED["sex"], "race": PRIVILEGED["race"][data]}
        with warnings.catch_warnings(action="ignore"):
            found = TOOLS[tool](some.drop(columns="data").reset_index(drop=True), privileged)
        for measure, values in found.items():
            values = values if isinstance(values, list) else [values]
            text = " and ".join(f"{float(value):.{DIGITS}f}" for value in values)
            rows.append({"data": data, "measure": measure, "tool": tool, "value": text})
    return rows


def arranged(rows: list[dict]) -> pd.DataFrame:
    """Return the table of the guide: a row for each measure of each data set, a column for each tool."""
    frame = pd.DataFrame(rows).pivot(index=["data", "measure"], columns="tool", values="value")
    frame.columns.name = None
    order = [(data, measure) for measure in WHY for data in ("adult", "compas")]
    frame = frame.reindex(index=order, columns=list(TOOLS)).astype(object).fillna("").astype("str")
    return frame.assign(why=frame.index.get_level_values("measure").map(WHY)).reset_index()


def scores() -> pd.DataFrame:
    """Return the findings of an audit of COMPAS' deciles about all black and white people, by sex and by race."""
    from fairlab import Case, audit

    people = compas()
    with warnings.catch_warnings(action="ignore"):  # low scores are favourable
        case = Case.from_decisions(
            people[people["race"].isin(TWO_RACES)],
            "decided",
            sensitive_features=["sex", "race"],
            y_true="label",
            scores="decile_score",
            features=["age", "priors_count", "c_charge_degree"],
        )
    frame = audit(case, methods=["rates", "fliptest"], progress=False).frame
    frame = frame[frame["who"].isin(["sex", "race"]) & frame["where"].eq("everyone")].sort_values(["who", "measure"])
    shown = frame[["effect", "estimate", "low", "high"]].round(3)
    return shown.assign(p=[f"{p:.1g}" for p in frame["p_value"]]).reset_index(drop=True)


if __name__ == "__main__" and sys.argv[1] == "--write":
    people = tables()
    with NamedTemporaryFile(suffix=".csv") as file:
        people.to_csv(file.name, index=False)
        others = other_tools.asked(__file__, PINNED, list(TOOLS)[1:], file.name)
    arranged([*answers("fairlab", people), *others]).to_csv(TABLE, index=False)
    scores().to_csv(SCORES, index=False)
elif __name__ == "__main__":
    print(json.dumps(answers(sys.argv[1], pd.read_csv(sys.argv[2]))))
