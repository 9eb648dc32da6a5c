"""What the experiments measure on the twenty instances, as functions of trials."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from fairlab.data.dataset import Dataset
from fairlab.papers.themis.instances import INSTANCES, SEARCHED, SENSITIVE, Instance
from fairlab.papers.themis.systems import train
from fairlab.seeds import Trial
from fairlab.themis.themis import MEASURES, Search, Themis

CONFIDENCE, ERROR_BOUND, THRESHOLD = 0.99, 0.05, 0.75  # of figures 2 and 3


def sample_people(people: Dataset, n_rows: int, *, random_state: int) -> Dataset:
    """Return a data set with so many rows drawn at random, or all of them if it has no more."""
    if n_rows >= len(people.features):
        return people
    rows = people.features.sample(n_rows, random_state=random_state).index.sort_values()
    return replace(
        people, **{part: getattr(people, part).loc[rows] for part in ("features", "target", "sensitive_features")}
    )


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
                rows.append({"id": f"{instance.id}.{tested}.{measure}"} | vars(score))
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
                rows[id] = {"id": id} | vars(themis.causal_score(names))
    return pd.DataFrame([rows[id] for id in sets])


def unpruned_search(
    trial: Trial, *, people: Mapping[str, Dataset], reading: str, max_values: int, max_samples: int
) -> Search:
    """Search all sets of the characteristics of figure 3 for one instance, by both measures and without pruning.

    Trials run through the instances: trial 0 searches the first, trial 20 the first again. What pruning saves follows
    by `Search.pruned`.

    Parameters
    ----------
    max_values : int
        Characteristics with more values are left out.
    max_samples : int
        Random inputs that a score may take for each group, or altogether if causal.
    """
    instance = INSTANCES[trial.index % len(INSTANCES)]
    themis = Themis(
        train(instance, people[instance.data], reading=reading),
        instance.schema,
        confidence=CONFIDENCE,
        error_bound=ERROR_BOUND,
        max_samples=max_samples,
        random_state=trial.seed("themis"),
    )
    names = searched_characteristics(instance, max_values=max_values)
    return themis.search(THRESHOLD, measure="both", characteristics=names, prune=False)


def searched_characteristics(instance: Instance, *, max_values: int) -> list[str]:
    """Return the characteristics that figure 3 searches, without those that have more values."""
    sizes = dict(zip(instance.schema.names, instance.schema.sizes, strict=True))
    return [name for name in SEARCHED[instance.data] if sizes[name] <= max_values]


def _fixed_size(decide, instance: Instance, n_samples: int, trial: Trial) -> Themis:
    """Return a Themis that takes the same number of samples whatever it sees."""
    return Themis(
        decide,
        instance.schema,
        confidence=CONFIDENCE,
        error_bound=1e-9,
        stop="wilson",
        min_samples=n_samples - 1,
        max_samples=n_samples,
        random_state=trial.seed(instance.id),
    )
