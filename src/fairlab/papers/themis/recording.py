"""Records and claims of the experiments on Themis, and tables of the published scores beside ours.

Scores are in percent, by the id of the published cell or set; some may be missing. A claim is then judged if the others
decide it.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.stats import gmean

from fairlab.data.dataset import Dataset
from fairlab.data.errors import DataUnavailableError
from fairlab.data.files import fetch_file
from fairlab.data.registry import project_registry
from fairlab.papers.themis.instances import INPUT_SPACES, INSTANCES, instance_table
from fairlab.papers.themis.searches import Searches, count_tests, inferred_without, printed_rows, rank_correlations
from fairlab.papers.themis.suites import score_suite, stored_suites
from fairlab.suite.experiment import Experiment
from fairlab.themis.score import MEASURES

SUITE = "stored suite"
FRESH = {"as_published": "as released", "as_described": "as described"}  # fresh runs, by how the systems are trained
_PARTS = {"": "score", "low": "low", "high": "high"}


def scores_of_suites(artefact: str) -> pd.DataFrame:
    """Return the scores of the stored suites of a figure, one row for each published cell.

    Returns
    -------
    DataFrame
        By id: ``measure``; ``score`` in percent; ``samples``, of which ``changed`` are base inputs whose output changes
        (causal); the ``stretches`` that these form, and how many they form on average ``in random order``. All missing
        where the suite is not among those counted and was not fetched; ``path`` is its place.
    """
    rows = []
    for suite in stored_suites():
        if suite.artefact != artefact:
            continue
        row = {"cell": suite.id, "measure": suite.measure, "path": suite.path}
        if counts := suite.counts():
            row |= {"score": 100 * score_suite(counts), "samples": sum(counts.n)}
            if suite.measure == "causal":
                [n], [hits] = counts.n, counts.hits
                row |= {"changed": hits, "stretches": counts.stretches, "in random order": hits * (n - hits + 1) / n}
        rows.append(row)
    columns = ["cell", "measure", "score", "samples", "changed", "stretches", "in random order", "path"]
    table = pd.DataFrame(rows, columns=columns).set_index("cell")
    return table.astype({"samples": "Int64", "changed": "Int64", "stretches": "Int64"})


def beside_printed(published: pd.DataFrame, suites: pd.DataFrame, fresh: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return published scores beside ours, in percent, one row a cell.

    Parameters
    ----------
    published : DataFrame
        As `Experiment.published` returns it.
    suites : DataFrame
        Of `scores_of_suites`.
    fresh : dict of str to DataFrame
        By reading, one trial's scores with a column ``id``.

    Returns
    -------
    DataFrame
        By id: ``printed``, ``less than`` (whether only that is published), the score of the stored suite and, for
        fresh runs by reading, the score and both ends of its interval.
    """
    columns = {"printed": published["value"], "less than": published["printed"].str.startswith("<")}
    columns[SUITE] = suites["score"].loc[published.index]
    for reading, name in FRESH.items():
        of = fresh[reading].set_index("id").loc[published.index]
        columns |= {f"{name} {part}".strip(): 100 * of[column] for part, column in _PARTS.items()}
    return pd.DataFrame(columns).rename_axis("cell")


def as_series(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of `beside_printed` with one row for each cell and series, as it is drawn."""
    missing = pd.Series(np.nan, index=table.index)
    return pd.concat(
        pd.DataFrame(
            {"cell": table.index, "series": series, "score": table[series]}
            | {part: table.get(f"{series} {part}", missing) for part in ("low", "high")}
        )
        for series in ("printed", SUITE, *FRESH.values())
    ).reset_index(drop=True)


def by_measure(long: pd.DataFrame) -> pd.DataFrame:
    """Return a table of `as_series` with the measure that ends a cell's id in a column of its own (figure 1)."""
    parts = long["cell"].str.rpartition(".")
    split = long.assign(cell=parts[0], measure=parts[2])
    return split[["cell", "measure", "series", "score", "low", "high"]]


def relation_to_printed(table: pd.DataFrame) -> pd.DataFrame:
    """Count the cells with a published score below, in or above the interval of a fresh run, one column a reading."""
    counts = {}
    for name in FRESH.values():
        low, high = table[f"{name} low"], table[f"{name} high"]
        where = np.select(
            [table["less than"], table["printed"] < low, table["printed"] > high],
            ["printed as below 0.01", "below the interval", "above it"],
            "in the interval",
        )
        counts[name] = pd.Series(where).value_counts()
    return pd.DataFrame(counts).fillna(0).astype(int).rename_axis("printed score")


def group_above_causal(table: pd.DataFrame) -> pd.Series:
    """Count the pairs of cells whose group score exceeds the causal one, in fresh runs by more than intervals allow."""
    ends = {name: (name, name) for name in ("printed", SUITE)}
    ends |= {name: (f"{name} low", f"{name} high") for name in FRESH.values()}
    cells = table.index.str.rpartition(".").get_level_values(0).unique()
    group, causal = ([f"{cell}.{measure}" for cell in cells] for measure in ("group", "causal"))
    above = {
        name: int((table.loc[group, low].to_numpy() > table.loc[causal, high].to_numpy()).sum())
        for name, (low, high) in ends.items()
    }
    return pd.Series(above, name="pairs with group above causal")


def singles_beside(scores: pd.DataFrame, published: pd.Series) -> pd.DataFrame:
    """Return the scores of single characteristics beside the published ones, in percent, one row each, as it is drawn.

    Parameters
    ----------
    scores : DataFrame
        One trial's scores with a column ``id``, the singles among them.
    published : Series
        By id. Both are missing where there is none.
    """
    words = sorted({word for instance in INSTANCES for word in instance.sensitive_features})
    pairs = pd.MultiIndex.from_product([[i.id for i in INSTANCES], words], names=["instance", "characteristic"])
    ids, score = pairs.map(".".join), 100 * scores.set_index("id")["score"]
    columns = {"score": score.reindex(ids).to_numpy(), "printed": published.reindex(ids).to_numpy()}
    return pd.DataFrame(columns, index=pairs).reset_index()


def beyond_parts(scores: pd.DataFrame) -> pd.DataFrame:
    """Return by how much scores of pairs exceed the sum of their parts, in percent, the largest excess first.

    Parameters
    ----------
    scores : DataFrame
        One trial's scores with a column ``id``, all singles and pairs among them.
    """
    score = 100 * scores.set_index("id")["score"]
    rows = []
    for instance in INSTANCES:
        for id in instance.sets(2):
            words = id.rpartition(".")[2]
            parts = sum(score[f"{instance.id}.{word}"] for word in words.split("_"))
            rows.append({"instance": instance.id, "pair": words, "score": score[id], "sum of parts": parts})
    joint = pd.DataFrame(rows)
    joint["excess"] = joint["score"] - joint["sum of parts"]
    return joint.sort_values("excess", ascending=False, ignore_index=True)


def mean_scores(trials: list[pd.DataFrame]) -> pd.DataFrame:
    """Return scores and the ends of their intervals in percent, the means over trials, by id."""
    return 100 * pd.concat(trials).groupby("id", sort=False)[list(_PARTS.values())].mean()


def supersets_below(scores: pd.DataFrame) -> tuple[int, list[tuple[str, str]]]:
    """Return how many pairs of a set and a superset were scored, and those whose superset is below by its interval.

    Parameters
    ----------
    scores : DataFrame
        One trial's scores with a column ``id``.
    """
    of = scores.set_index("id")
    sets = {id: (id.rpartition(".")[0], frozenset(id.rpartition(".")[2].split("_"))) for id in of.index}
    pairs = [
        (small, large)
        for small, (instance, of_small) in sets.items()
        for large, (other, of_large) in sets.items()
        if instance == other and of_small < of_large
    ]
    return len(pairs), [(small, large) for small, large in pairs if of.loc[large, "high"] < of.loc[small, "low"]]


# The system without awareness that is of the kind of one with: trees and naive Bayes. The paper's sentence leaves out
# logistic regression (A and G).
COUNTERPARTS = {"b": "f", "c": "e", "d": "f"}
WORDS = {True: "holds", False: "fails", None: "not decided"}


Answers = dict[str, tuple[bool | None, str]]  # by claim: whether it holds, None if undecided, and what that rests on


def of_figure_1(score: pd.Series) -> Answers:
    """Judge the statements on figure 1.

    An instance "does not discriminate" if all its scores are below 5%, as in figure 2; "many" are more than half.
    """
    group, causal = (score[f"b.census.gender.gender.{measure}"] for measure in ("group", "causal"))
    race = score["b.census.gender.race.causal"]
    return {
        "b-gender-causal-far-above-group": (
            _decided(causal > 21 * group, [group, causal]),
            f"causal {_percent(causal)}, group {_percent(group)}",
        ),
        "b-gender-discriminates-race": (
            _decided(race > causal, [race, causal]),
            f"race {_percent(race)}, gender {_percent(causal)}",
        ),
        "aware-not-better": _unaware_lower(score),
        "aware-still-discriminate": (_decided(causal > 11, [causal]), _percent(causal)),
        "many-do-not-discriminate": _without_large(score),
    }


def of_figure_2(score: pd.Series, printed: pd.Index) -> Answers:
    """Judge the statements on figure 2; "far more" is at least twice as much.

    Parameters
    ----------
    score : Series
        By id; sets that are not published may be among them.
    printed : Index of str
        The ids of the published sets.
    """
    joined, alone = score["b.census.gender.gender_marital_race"], score["b.census.gender.gender"]
    shown = score[printed].dropna()
    return {
        "b-gender-more-in-combination": (
            _decided(joined >= 2 * alone, [joined, alone]),
            f"together {_percent(joined)}, gender {_percent(alone)}",
        ),
        "all-at-least-five": (
            bool((shown >= 5).all()),
            f"{(shown >= 5).sum()} of {len(shown)} sets, the least {_percent(shown.min())}",
        ),
    }


def in_a_word(answers: Answers) -> dict[str, str]:
    """Return by claim whether it holds, in a word."""
    return {id: WORDS[holds] for id, (holds, _) in answers.items()}


def answers_beside(answers: dict[str, Answers]) -> pd.DataFrame:
    """Return answers by what they rest on, one row a statement: whether it holds, and the numbers behind that."""
    columns = {}
    for name, of in answers.items():
        columns |= {name: in_a_word(of), f"{name}: detail": {id: detail for id, (_, detail) in of.items()}}
    return pd.DataFrame(columns).rename_axis("claim")


def _unaware_lower(score: pd.Series) -> tuple[bool | None, str]:
    pairs = {}
    for id in score.index:
        system, data, _, tested, measure = id.split(".")
        if system in COUNTERPARTS:
            pairs[id] = f"{COUNTERPARTS[system]}.{data}.unaware.{tested}.{measure}"
    aware, unaware = score[list(pairs)].to_numpy(), score[list(pairs.values())].to_numpy()
    there = ~np.isnan(aware) & ~np.isnan(unaware)
    return _most(pd.Series(unaware < aware)[there], len(pairs), "the unaware system is lower in {} of {} cells")


def _without_large(score: pd.Series) -> tuple[bool | None, str]:
    """Look for instances without any score of 5% or more; those of which scores are missing may have one."""
    by_instance = score.groupby(score.index.str.split(".").str[:3].str.join("."), sort=False)
    known = by_instance.max() >= 5
    small = (~known)[known | by_instance.apply(lambda scores: scores.notna().all())]
    return _most(small, len(known), "{} of {} instances have all scores below 5%")


def _most(hits: pd.Series, total: int, sentence: str) -> tuple[bool | None, str]:
    """Judge whether more than half of all hit, given those that are there."""
    n, missing = int(hits.sum()), total - len(hits)
    holds = True if n > total / 2 else False if n + missing <= total / 2 else None
    return (holds, sentence.format(n, len(hits)) + (f" ({missing} are not there)" if missing else ""))


def _decided(holds, needed: list[float]) -> bool | None:
    return None if np.isnan(needed).any() else bool(holds)


def _percent(score: float) -> str:
    return "no score" if np.isnan(score) else f"{score:.2f}%"


# Instances and thresholds of section 5.4, by the ids of their published numbers.
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
    exp.record_frame("section-5.1", pd.DataFrame([counts]), id="{column}")
    try:
        german = fetch_file(project_registry().file("german/german.data"))
        n_people = len(german.read_text().splitlines())
        exp.record("section-5.1", "german.individuals", n_people, data=exp.stored(german.name))
    except DataUnavailableError:
        exp.skip("section-5.1", "german.individuals", "fairlab data fetch german/german.data brings the whole file")


def scores(exp: Experiment, suites: pd.DataFrame, described: list[pd.DataFrame], answers: Mapping):
    """Record the cells of figure 1: as published of the stored suites, as described of a fresh run.

    Parameters
    ----------
    exp : Experiment
    suites : DataFrame
        Of `fairlab.papers.themis.recording.scores_of_suites`.
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
    fresh = pd.concat(described)
    fresh = fresh[fresh["id"].isin(suites.index)].assign(score=100 * fresh["score"])
    exp.record_frame(artefact, fresh[["id", "score"]], id="{id}", values="score", reading="as_described")
    stored, counted = exp.stored("Themis' suites"), suites["score"].notna()
    exp.record_frame(artefact, suites[counted], id="{cell}", values="score", data=stored)
    for id, path in suites.loc[~counted, "path"].items():
        why = f"its stored suite is not among those counted: fairlab data fetch {path} (academic use only) brings it"
        exp.skip(artefact, id, why)
    missing = "rests on stored suites that are not available: {}; the numbers that are not run say how to get each"
    sentences = {True: "on the stored suites: {}", False: "on the stored suites: {}", None: missing}
    judged = {id: (holds, sentences[holds].format(on)) for id, (holds, on) in answers.items()}
    exp.claims(artefact, judged, data=stored)


def pruning(exp: Experiment, repetitions: list[Searches], table: pd.DataFrame):
    """Record the counts of figure 3 and what section 5.4 says of them.

    As published are the counts without pruning by the inferred rules; all others are measured.

    Parameters
    ----------
    exp : Experiment
    repetitions : list of dict of Instance to DataFrame
        Searches of all sets, as published.
    table : DataFrame
        Of `fairlab.papers.themis.searches.beside_printed`.
    """
    rows, means = printed_rows(), {}
    tables = [count_tests(searches).assign(repetition=k) for k, searches in enumerate(repetitions)]
    counts = pd.concat(tables, ignore_index=True)
    shown = counts[counts["instance"].isin(rows)].assign(row=counts["instance"].map(rows))
    for reading, parts in (("as_described", ["without"]), ("as_published", ["with", "factor"])):
        frame = shown[["measure", "row", *parts]]
        exp.record_frame("figure-3", frame, id="{measure}.{row}.{column}", reading=reading)
    rules = [
        {"measure": measure, "row": rows[i.id], "without": inferred_without(i, measure)}
        for i in INSTANCES
        if i.id in rows
        for measure in MEASURES
    ]
    exp.record_frame("figure-3", pd.DataFrame(rules), id="{measure}.{row}.{column}", data=[])
    for measure, of in shown.groupby("measure", sort=False):
        factors = [f.to_numpy(dtype=float) for _, f in of.groupby("repetition")["factor"]]
        arithmetic = [f.mean() for f in factors]
        means[measure] = np.mean(arithmetic)
        exp.record("figure-3", f"{measure}.arithmetic_mean", arithmetic)
        exp.record("figure-3", f"{measure}.geometric_mean", [gmean(f) for f in factors])
        exp.record("section-5.4", f"mean_factor.{measure}", arithmetic)
    detail = ", ".join(f"{measure} {mean:.4g}" for measure, mean in means.items())
    claims = {
        "group-gains-more-on-average": (means["group"] > means["causal"], detail),
        "two-to-three-orders": (all(100 <= m <= 10_000 for m in means.values()), f"arithmetic means {detail}"),
    }
    exp.claims("figure-3", claims)
    for id, (instance, threshold) in TEXT_OF_THRESHOLDS.items():
        counts = [count_tests(searches, threshold).set_index(["measure", "instance"]) for searches in repetitions]
        tests = [float(c.loc[("group", instance), "with"]) for c in counts]
        exp.record("section-5.4", f"{id}.tests", tests, note="group search; the paper does not say which")
    ranks = rank_correlations(table)
    correlations = ", ".join(f"rank correlation {measure} {rank:.2f}" for measure, rank in ranks.items())
    exp.claims("section-5.4", {"more-discrimination-more-pruning": (bool((ranks > 0).all()), correlations)})


def theorems(exp: Experiment, violations: pd.DataFrame, ordered: pd.DataFrame):
    """Record whether any program breaks a theorem.

    Parameters
    ----------
    exp : Experiment
    violations : DataFrame
        Of `fairlab.papers.themis.programs.count_violations`.
    ordered : DataFrame
        Of `fairlab.papers.themis.programs.count_ordered_pairs`.
    """
    spaces, pairs = f"{len(violations)} input spaces", f"{ordered['ordered pairs'].sum()} ordered pairs of programs"
    found = {
        "group-monotone": (violations["group: subset higher"].sum(), spaces),
        "causal-monotone": (violations["causal: subset higher"].sum(), spaces),
        "group-le-causal": (violations["group above causal"].sum(), spaces),
        "pruning-monotone": (ordered["violations"].sum(), pairs),
    }
    exp.claims("section-4.2", {id: (n == 0, f"{n} violations in {of}") for id, (n, of) in found.items()})


def your_program(exp: Experiment, ages: float, colours: float):
    """Record the group scores of the two examples of section 3."""
    exp.record("section-3", "age_example.group_score", ages)
    exp.record("section-3", "race_example.group_score", colours)
