"""What the experiments measure on the twenty instances, as functions of trials."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from fairlab.data.dataset import Dataset
from fairlab.seeds import Trial
from fairlab.themis.subjects import INSTANCES, SEARCHED, SENSITIVE, Instance
from fairlab.themis.systems import train
from fairlab.themis.themis import MEASURES, Search, Themis


def sample_people(people: Dataset, n_rows: int, *, random_state: int) -> Dataset:
    """Return a data set with so many rows drawn at random, or all of them if it has no more."""
    if n_rows >= len(people.features):
        return people
    rows = people.features.sample(n_rows, random_state=random_state).index.sort_values()
    return replace(
        people, **{part: getattr(people, part).loc[rows] for part in ("features", "target", "sensitive_features")}
    )


def figure_1_scores(
    trials: Sequence[Trial], *, people: Mapping[str, Dataset], reading: str, n_samples: int
) -> list[pd.DataFrame]:
    """Return group and causal scores of all instances by race and gender, for each trial.

    Every score rests on `n_samples` random inputs (causal) or on as many for each value (group), as in the suites.

    Returns
    -------
    list of DataFrame
        One row for each cell of figure 1: id, and the columns of `Score`.
    """
    rows = [[] for _ in trials]
    for instance in INSTANCES:
        for measure in MEASURES:
            decide = train(instance, people[instance.data], reading=reading, measure=measure)
            for trial, of_trial in zip(trials, rows, strict=True):
                themis = _fixed_size(decide, instance, n_samples, trial)
                for tested in instance.tested:
                    score = getattr(themis, f"{measure}_score")(SENSITIVE[tested])
                    of_trial.append({"id": f"{instance.id}.{tested}.{measure}"} | vars(score))
    return [pd.DataFrame(of_trial) for of_trial in rows]


def figure_2_scores(
    trials: Sequence[Trial],
    *,
    people: Mapping[str, Dataset],
    reading: str,
    sets: Sequence[str],
    n_samples: int,
) -> list[pd.DataFrame]:
    """Return causal scores of some sets of sensitive characteristics, for each trial.

    Parameters
    ----------
    sets : sequence of str
        Ids of figure 2: an instance's, a dot, and the paper's words joined by underscores.
    """
    rows = [[] for _ in trials]
    for instance in INSTANCES:
        wanted = [id for id in sets if id.startswith(f"{instance.id}.")]
        if wanted:
            decide = train(instance, people[instance.data], reading=reading)
            for trial, of_trial in zip(trials, rows, strict=True):
                themis = _fixed_size(decide, instance, n_samples, trial)
                for id in wanted:
                    names = [SENSITIVE[word] for word in id.rpartition(".")[2].split("_")]
                    of_trial.append({"id": id} | vars(themis.causal_score(names)))
    return [pd.DataFrame(of_trial) for of_trial in rows]


def unpruned_search(
    trials: Sequence[Trial],
    *,
    instance: Instance,
    people: Mapping[str, Dataset],
    reading: str,
    measure: str,
    max_values: int,
    max_samples: int,
) -> list[Search]:
    """Search all sets of the characteristics that figure 3 searches, without pruning.

    Confidence 99% and error bound 0.05, as the paper; what pruning saves follows by `Search.pruned`.

    Parameters
    ----------
    max_values : int
        Characteristics with more values are left out.
    max_samples : int
        Random inputs that a score may take for each group, or altogether if causal.
    """
    decide = train(instance, people[instance.data], reading=reading, measure=measure)
    sizes = dict(zip(instance.schema.names, instance.schema.sizes, strict=True))
    names = [name for name in SEARCHED[instance.data] if sizes[name] <= max_values]
    searches = []
    for trial in trials:
        themis = Themis(
            decide,
            instance.schema,
            confidence=0.99,
            error_bound=0.05,
            max_samples=max_samples,
            random_state=trial.seed(instance.id),
        )
        searches.append(themis.search(0.75, measure=measure, characteristics=names, prune=False))
    return searches


def _fixed_size(decide, instance: Instance, n_samples: int, trial: Trial) -> Themis:
    return Themis(
        decide,
        instance.schema,
        error_bound=1e-9,
        stop="wilson",
        min_samples=n_samples - 1,
        max_samples=n_samples,
        random_state=trial.seed(instance.id),
    )
