"""One trial of each experiment; all return tables or plain numbers."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from fairlab.data.dataset import Dataset
from fairlab.papers.themis.instances import INSTANCES, SEARCHED, SENSITIVE, Instance
from fairlab.papers.themis.programs import (
    PEOPLE_OF_RARE,
    RANDOM_SIZES,
    as_program,
    random_programs,
    unfair_to_one_in_twenty,
)
from fairlab.papers.themis.systems import train
from fairlab.seeds import Trial
from fairlab.themis.score import MEASURES
from fairlab.themis.themis import Themis

CONFIDENCE, ERROR_BOUND, THRESHOLD = 0.99, 0.05, 0.75  # of figures 2 and 3


def figure_1_scores(trial: Trial, *, people: Mapping[str, Dataset], reading: str, n_samples: int) -> pd.DataFrame:
    """Return group and causal scores of all instances by race and gender.

    Every score rests on `n_samples` random inputs (causal) or on as many for each value (group), as in the suites.

    Returns
    -------
    DataFrame
        One row for each cell of figure 1: id, and the attributes of `Score`.
    """
    rows = []
    for instance in INSTANCES:
        for measure in MEASURES:
            decide = train(instance, people[instance.data], reading=reading, behind=f"figure-1 {measure}")
            themis = _fixed_size(decide, instance, n_samples, trial)
            for tested in instance.tested:
                score = getattr(themis, f"{measure}_score")(SENSITIVE[tested])
                rows.append({"id": f"{instance.id}.{tested}.{measure}"} | score.to_dict())
    return pd.DataFrame(rows)


def causal_scores(
    trial: Trial, *, people: Mapping[str, Dataset], reading: str, sets: Sequence[str], n_samples: int
) -> pd.DataFrame:
    """Return causal scores of some sets of sensitive characteristics.

    Parameters
    ----------
    sets : sequence of str
        Ids as in figure 2: an instance's, a dot, and the paper's words joined by underscores.

    Returns
    -------
    DataFrame
        One row for each set: id, and the attributes of `Score`.
    """
    rows = {}
    for instance in INSTANCES:
        if wanted := [id for id in sets if id.startswith(f"{instance.id}.")]:
            decide = train(instance, people[instance.data], reading=reading)
            themis = _fixed_size(decide, instance, n_samples, trial)
            for id in wanted:
                names = [SENSITIVE[word] for word in id.rpartition(".")[2].split("_")]
                rows[id] = {"id": id} | themis.causal_score(names).to_dict()
    return pd.DataFrame([rows[id] for id in sets])


def search_all_sets(
    trial: Trial, *, people: Mapping[str, Dataset], reading: str, max_values: int | Mapping[str, int], max_samples: int
) -> pd.DataFrame:
    """Score all sets of the characteristics of figure 3 for one instance, by both measures and without pruning.

    Trials run through the instances: trial 0 searches the first, trial 20 the first again. What pruning saves follows
    by `fairlab.themis.score.pruned_sets`.

    Parameters
    ----------
    max_values : int or dict of str to int
        Characteristics with more values are left out; may be given by data set.
    max_samples : int
        Random inputs that a score may take for each group, or altogether if causal.

    Returns
    -------
    DataFrame
        One row for each measure and set, in the order of the search: the attributes of `Score`.
    """
    instance = INSTANCES[trial.index % len(INSTANCES)]
    themis = Themis(
        train(instance, people[instance.data], reading=reading),
        instance.schema,
        confidence_level=CONFIDENCE,
        error_bound=ERROR_BOUND,
        variant="published",
        max_samples=max_samples,
        random_state=trial.seed("themis"),
    )
    names = searched_characteristics(instance, max_values=max_values)
    search = themis.search(THRESHOLD, measure="both", sensitive_features=names, prune=False)
    return search.to_frame().drop(columns="minimal")


def search_small_sets(
    trial: Trial, *, people: Mapping[str, Dataset], max_size: int, max_samples: int
) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return the minimal sets, by measure, among the small sets of all characteristics of the trial's instance."""
    instance = INSTANCES[trial.index]
    model = train(instance, people[instance.data])
    options = {"variant": "published", "max_samples": max_samples, "random_state": trial.seed("all")}
    themis = Themis(model, instance.schema, **options)
    return themis.search(THRESHOLD, measure="both", max_size=max_size).found


def search_twice(trial: Trial, *, threshold: float) -> dict[str, bool | int]:
    """Search a random program with and without pruning, by both measures.

    Returns
    -------
    dict
        By measure, whether both found the same minimal sets, and their numbers of tests.
    """
    sizes = RANDOM_SIZES[trial.index % len(RANDOM_SIZES)]
    table = random_programs(sizes, 1, trial.rng("program"))[0]
    schema, program = as_program(table)
    options = {"variant": "published", "random_state": trial.seed("themis")}
    options |= {"min_samples": table.size, "max_samples": 10 * table.size}
    pruned, unpruned = (
        Themis(program, schema, **options).search(threshold, measure="both", prune=prune) for prune in (True, False)
    )
    row = {}
    for measure in MEASURES:
        row[f"{measure} agree"] = pruned.found[measure] == unpruned.found[measure]
        for name, search in (("with", pruned), ("without", unpruned)):
            row[f"{measure} tests {name}"] = sum(s.tests for s in search.scores if s.measure == measure)
    return row


def score_again(trial: Trial, *, stop: str) -> dict:
    """Estimate the causal score by sex of a program that is unfair to one person in twenty."""
    options = {"variant": "published", "stop": stop, "random_state": trial.seed("stop")}
    themis = Themis(unfair_to_one_in_twenty, PEOPLE_OF_RARE, **options)
    return themis.causal_score("sex").to_dict()


def searched_characteristics(instance: Instance, *, max_values: float | Mapping[str, float] = np.inf) -> list[str]:
    """Return the characteristics that figure 3 searches, without those that have more values (by data set)."""
    most = max_values[instance.data] if isinstance(max_values, Mapping) else max_values
    sizes = dict(zip(instance.schema.names, instance.schema.sizes, strict=True))
    return [name for name in SEARCHED[instance.data] if sizes[name] <= most]


def _fixed_size(decide, instance: Instance, n_samples: int, trial: Trial) -> Themis:
    """Return a Themis that takes the same number of samples whatever it sees."""
    return Themis(
        decide,
        instance.schema,
        confidence_level=CONFIDENCE,
        error_bound=1e-9,
        variant="published",
        stop="wilson",
        min_samples=n_samples - 1,
        max_samples=n_samples,
        random_state=trial.seed(instance.id),
    )
