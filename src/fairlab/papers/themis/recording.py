"""What each experiment records: its numbers under the paper's ids, and whether the paper's claims hold for them."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.stats import gmean

from fairlab.data.dataset import Dataset
from fairlab.data.errors import DataUnavailableError
from fairlab.data.files import fetch_file
from fairlab.data.registry import project_registry
from fairlab.papers.themis.instances import INPUT_SPACES, INSTANCES, instance_table
from fairlab.papers.themis.rules import inferred_without
from fairlab.papers.themis.searches import Searches, count_tests, printed_rows, rank_correlations
from fairlab.suite.experiment import Experiment
from fairlab.themis.score import MEASURES

# Instances and thresholds of section 5.4, by the ids of their printed numbers.
TEXT_OF_THRESHOLDS = {
    "b.credit.gender.theta_0_7": ("b.credit.gender", 0.7),
    "b.credit.gender.theta_0_6": ("b.credit.gender", 0.6),
    "f.credit.theta_0_6": ("f.credit.unaware", 0.6),
    "f.credit.theta_0_5": ("f.credit.unaware", 0.5),
}


def overview(exp: Experiment, adult: Dataset, whole: Mapping[str, Dataset]):
    """Record the counts of section 5.1.

    Parameters
    ----------
    exp : Experiment
    adult : Dataset
        The data set as it is.
    whole : mapping of str to Dataset
        By data, the rows that the systems learn from.
    """
    instances = instance_table()
    aware = instances[instances["aware"]]
    counts = {
        "instances": len(instances),
        "systems": instances["system"].nunique(),
        "aware": len(aware),
        "aware.race": (aware["trained for"] == "race").sum(),
        "aware.gender": (aware["trained for"] == "gender").sum(),
        "adult.individuals": len(adult.features),
        "adult.attributes": adult.features.shape[1],
    }
    for data, schema in INPUT_SPACES.items():
        counts[f"{data}.sampled"] = len(whole[data].features)
        counts[f"{data}.characteristics"] = len(schema.names)
    for id, count in counts.items():
        exp.record("section-5.1", id, count)
    try:
        german = fetch_file(project_registry().file("german/german.data"))
        exp.record("section-5.1", "german.individuals", len(german.read_text().splitlines()), data=[])
    except DataUnavailableError:
        exp.skip("section-5.1", "german.individuals", "fairlab data fetch german/german.data brings the whole file")
    found = (counts["aware"], counts["aware.race"], counts["aware.gender"], len(instances) - len(aware))
    detail = ", ".join(f"{id} {counts[id]}" for id in ("aware", "aware.race", "aware.gender"))
    exp.claim("section-5.1", "twelve-aware", found == (12, 4, 8, 8), detail=detail)


def scores(exp: Experiment, suites: pd.DataFrame, described: list[pd.DataFrame], answers: Mapping):
    """Record the cells of figure 1: as published of the stored suites, as described of a fresh run.

    Parameters
    ----------
    exp : Experiment
    suites : DataFrame
        Of `fairlab.papers.themis.cells.scores_of_suites`.
    described : list of DataFrame
        Trials of the systems as described, with a column ``id``.
    answers : mapping of str to Answer
        By claim, of the suites.
    """
    _record_cells(exp, "figure-1", suites, described, answers)


def characteristics(exp: Experiment, suites: pd.DataFrame, described: list[pd.DataFrame], answers: Mapping):
    """Record the sets of figure 2; see `scores`."""
    _record_cells(exp, "figure-2", suites, described, answers)


def _record_cells(exp, artefact, suites, described, answers):
    fresh = [trial.set_index("id")["score"] for trial in described]
    for id in exp.published(artefact).index:
        exp.record(artefact, id, [100 * score[id] for score in fresh], reading="as_described")
        if pd.isna(suites.loc[id, "score"]):
            exp.skip(artefact, id, _absent(suites.loc[id, "path"]))
        else:
            exp.record(artefact, id, suites.loc[id, "score"], data=[])
    for id, answer in answers.items():
        if answer.holds is None:
            how = "the numbers of this figure that are not run say how to get each"
            exp.skip(artefact, id, f"rests on stored suites that are not at hand: {answer.detail}; {how}")
        else:
            exp.claim(artefact, id, answer.holds, detail=f"on the stored suites: {answer.detail}", data=[])


def _absent(path: str) -> str:
    return f"its stored suite is not among those counted: fairlab data fetch {path} (academic use only) brings it"


def pruning(exp: Experiment, repetitions: list[Searches], table: pd.DataFrame, by_threshold: pd.DataFrame):
    """Record the counts of figure 3 and what section 5.4 says of them.

    As published are the counts without pruning by the inferred rules; all others are measured.

    Parameters
    ----------
    exp : Experiment
    repetitions : list of dict of Instance to DataFrame
        Searches of all sets, as published.
    table : DataFrame
        Of `fairlab.papers.themis.searches.beside_printed`.
    by_threshold : DataFrame
        Of `fairlab.papers.themis.searches.count_by_threshold`.
    """
    rows = printed_rows()
    counts = [count_tests(searches).set_index(["measure", "instance"]) for searches in repetitions]
    means = {}
    instances = {instance.id: instance for instance in INSTANCES}
    for measure in MEASURES:
        for id, row in rows.items():
            for part in ("without", "with", "factor"):
                reading = "as_described" if part == "without" else "as_published"
                measured = [c.loc[(measure, id), part] for c in counts]
                exp.record("figure-3", f"{measure}.{row}.{part}", measured, reading=reading)
            exp.record("figure-3", f"{measure}.{row}.without", inferred_without(instances[id], measure), data=[])
        factors = [c.loc[measure].loc[list(rows), "factor"].to_numpy(dtype=float) for c in counts]
        means[measure] = np.mean([f.mean() for f in factors])
        exp.record("figure-3", f"{measure}.arithmetic_mean", [f.mean() for f in factors])
        exp.record("figure-3", f"{measure}.geometric_mean", [gmean(f) for f in factors])
        exp.record("section-5.4", f"mean_factor.{measure}", [f.mean() for f in factors])
    least = table["factor"].min()
    exp.claim("figure-3", "pruning-helps", least >= 1, detail=f"smallest factor {least:.3g}")
    detail = ", ".join(f"{measure} {mean:.4g}" for measure, mean in means.items())
    exp.claim("figure-3", "group-gains-more-on-average", means["group"] > means["causal"], detail=detail)
    orders = all(100 <= mean <= 10_000 for mean in means.values())
    exp.claim("figure-3", "two-to-three-orders", orders, detail=f"arithmetic means {detail}")
    _section_5_4(exp, repetitions, by_threshold, rank_correlations(table))


def _section_5_4(exp, repetitions, by_threshold, ranks):
    for id, (instance, threshold) in TEXT_OF_THRESHOLDS.items():
        counts = [count_tests(searches, threshold).set_index(["measure", "instance"]) for searches in repetitions]
        tests = [float(c.loc[("group", instance), "with"]) for c in counts]
        exp.record("section-5.4", f"{id}.tests", tests, note="group search; the paper does not say which")
    tests = by_threshold.pivot_table(index=["measure", "instance"], columns="threshold", values="with")
    steps = tests.diff(axis=1).iloc[:, 1:]
    fewer = bool((steps >= 0).all(axis=None) and (steps > 0).any(axis=None))
    n_fewer = int((steps.sum(axis=1) > 0).sum())
    detail = f"fewer tests at the lowest threshold in {n_fewer} of {len(steps)} searches"
    exp.claim("section-5.4", "lower-threshold-fewer-tests", fewer, detail=detail)
    detail = ", ".join(f"rank correlation {measure} {rank:.2f}" for measure, rank in ranks.items())
    exp.claim("section-5.4", "more-discrimination-more-pruning", bool((ranks > 0).all()), detail=detail)


def theorems(exp: Experiment, violations: pd.DataFrame, ordered: pd.DataFrame):
    """Record whether any program breaks a theorem.

    Parameters
    ----------
    exp : Experiment
    violations : DataFrame
        Of `fairlab.papers.themis.theorems.count_violations`.
    ordered : DataFrame
        Of `fairlab.papers.themis.theorems.count_ordered_pairs`.
    """
    for id, column in (
        ("group-monotone", "group: subset higher"),
        ("causal-monotone", "causal: subset higher"),
        ("group-le-causal", "group above causal"),
    ):
        total = int(violations[column].sum())
        detail = f"{total} violations in {len(violations)} input spaces"
        exp.claim("section-4.2", id, total == 0, detail=detail)
    lost, pairs = int(ordered["violations"].sum()), int(ordered["ordered pairs"].sum())
    detail = f"{lost} violations in {pairs} ordered pairs of programs"
    exp.claim("section-4.2", "pruning-monotone", lost == 0, detail=detail)


def your_program(exp: Experiment, ages: float, colours: float):
    """Record the group scores of the two examples of section 3."""
    exp.record("section-3", "age_example.group_score", ages)
    exp.record("section-3", "race_example.group_score", colours)
