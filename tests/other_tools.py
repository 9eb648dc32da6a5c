"""Results of other tools on the planted biases and the fair models, beside `fairlab.audit`; docs/truth has the table.

``python tests/other_tools.py --write`` makes an environment for the tools (they need an older NumPy), runs each,
and writes the table. The docstring of each function below defines a flag, by the tool's own defaults.
"""

import json
import subprocess
import sys
import time
import venv
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import planted

DOCS = Path(__file__).parents[1] / "docs"
TABLE, SUMMARY = DOCS / "truth" / "other_tools.csv", DOCS / "other_tools.csv"
PINNED = ("fairlearn==0.15.0", "aequitas==1.1.0", "giskard==2.19.2", "numpy==1.26.4")
REPETITIONS, LEAST = 100, 0.05  # of the bootstrap; a difference


def audited(model, **options):
    """Return the report of an audit of a planted model."""
    from fairlab import Case, audit

    case = Case(
        model.model,
        model.table,
        sensitive_features=list(model.sensitive_features),
        features=model.features,
        y_true=model.y_true,
        pos_label=True,
        decision_threshold=0.5 if model.by_score else None,
    )
    return audit(case, progress=False, **options)


def fairlab(model) -> bool:
    """Whether the audit with its defaults has a significant finding about people."""
    return bool(audited(model).significant)


def fairlearn(model) -> dict[str, bool]:
    """By selection, true and false positive rates for each sensitive feature and for all together, with bootstrap.

    "intervals of groups": whether 95% intervals of two groups do not overlap; "interval of the difference": whether
    the interval of the largest difference is above 5 percentage points.
    """
    from fairlearn.metrics import MetricFrame, false_positive_rate, selection_rate, true_positive_rate

    metrics = {each.__name__: each for each in (selection_rate, true_positive_rate, false_positive_rate)}
    names, apart, beyond = model.sensitive_features, False, False
    for some in [[name] for name in names] + ([list(names)] if len(names) > 1 else []):
        frame = MetricFrame(
            metrics=metrics,
            y_true=model.y_true,
            y_pred=decisions(model),
            sensitive_features=model.table[some].fillna("missing"),
            n_boot=REPETITIONS,
            ci_quantiles=[0.025, 0.975],
            random_state=0,
        )
        low, high = frame.by_group_ci
        apart |= bool((low.max() > high.min()).any())
        beyond |= bool((frame.difference_ci()[0] > LEAST).any())
    return {"fairlearn, intervals of groups": apart, "fairlearn, interval of the difference": beyond}


def aequitas_ratios(table: pd.DataFrame, decided, label) -> pd.DataFrame:
    """Return aequitas' ratios of the groups in each column to the largest group."""
    from aequitas.bias import Bias
    from aequitas.group import Group

    frame = table.astype(str).assign(score=np.asarray(decided) * 1, label_value=np.asarray(label) * 1)
    groups, _ = Group().get_crosstabs(frame, attr_cols=list(table))
    return Bias().get_disparity_major_group(groups, original_df=frame, check_significance=False)


def aequitas(model) -> bool:
    """Whether a sensitive feature fails overall fairness: a ratio to the largest group outside of .8 and 1.25."""
    from aequitas.fairness import Fairness

    table, fairness = model.table[list(model.sensitive_features)].fillna("missing"), Fairness()
    ratios = aequitas_ratios(table, decisions(model), model.y_true)
    return not fairness.get_overall_fairness(fairness.get_group_value_fairness(ratios))["Overall Fairness"]


def giskard(model) -> bool:
    """Whether an issue of the scan is about rows selected by a sensitive feature, or about changes of one."""
    from giskard import Dataset, Model, scan

    table = model.table.fillna("missing").assign(decision=model.y_true.astype(int))

    def probabilities(rows):
        favourable = np.asarray(model.model(rows), dtype=float)
        return np.column_stack([1 - favourable, favourable])

    wrapped = Model(
        probabilities, model_type="classification", classification_labels=[0, 1], feature_names=list(model.table)
    )
    texts = [name for name in model.table if model.table[name].dtype == object]
    found = scan(wrapped, Dataset(table, target="decision", cat_columns=texts), verbose=False)
    about = [f"{issue.slicing_fn} {issue.transformation_fn} {issue.features}" for issue in found.issues]
    return any(f"`{name}`" in text or f"'{name}'" in text for name in model.sensitive_features for text in about)


TOOLS = {each.__name__: each for each in (fairlab, fairlearn, aequitas, giskard)}


def decisions(model) -> np.ndarray:
    """Return whether the model decides for each person."""
    answers = np.asarray(model.model(model.table))
    return answers >= 0.5 if model.by_score else answers.astype(bool)


def answers(tool: str) -> list[dict]:
    """Return whether one tool flags each model, and how long that takes."""
    rows = []
    for model in [*planted.biased(), *planted.fair()]:
        start = time.perf_counter()
        with warnings.catch_warnings(action="ignore"):
            found = TOOLS[tool](model)
        row = {"model": model.name, "biased": bool(model.expected), "seconds": round(time.perf_counter() - start, 2)}
        rules = found if isinstance(found, dict) else {tool: found}
        rows += [{"tool": rule, **row, "flagged": bool(flagged)} for rule, flagged in rules.items()]
    return rows


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return by tool how many biases it found and missed, how many fair models it accused, and its median seconds."""
    biased, fair = (rows[rows["biased"] == which].groupby("tool", sort=False)["flagged"] for which in (True, False))
    return pd.DataFrame(
        {
            "found": biased.sum(),
            "missed": biased.size() - biased.sum(),
            "accused": fair.sum(),
            "seconds": rows.groupby("tool")["seconds"].median().round(2),
        }
    ).loc[rows["tool"].unique()]


def asked(script: str, pinned: tuple[str, ...], tools: list[str], *arguments: str) -> list[dict]:
    """Return the results of tools, each run by a script in a separate environment."""
    rows = []
    with TemporaryDirectory() as place:
        venv.create(place, with_pip=True)
        python = Path(place) / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", *pinned], check=True)
        for tool in tools:
            said = subprocess.run([python, script, tool, *arguments], check=True, stdout=subprocess.PIPE).stdout
            rows += json.loads(said.splitlines()[-1])
    return rows


if __name__ == "__main__" and sys.argv[1] == "--write":
    frame = pd.DataFrame([*answers("fairlab"), *asked(__file__, PINNED, list(TOOLS)[1:])])
    frame.to_csv(TABLE, index=False)
    summary(frame).rename_axis("tool").to_csv(SUMMARY)
elif __name__ == "__main__":
    print(json.dumps(answers(sys.argv[1])))
