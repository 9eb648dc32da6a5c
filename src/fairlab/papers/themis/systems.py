"""The paper's eight systems, trained as the public package does and as the paper says (sections 5.1 and 5.2).

Protocol variants: ``as_published`` is behind the published numbers; ``as_specified`` follows the paper and the works
that it cites. They differ for all systems but E and H.

=  ============================================  =====================================================================
   as published                                  as specified
=  ============================================  =====================================================================
A  logistic regression through the origin,       logistic regression with an intercept, all covariances zero
   covariance 0 (gender) or up to 0.2 (race)
B  tree of branches pure in the protected        tree by the gain of information on the class less that on the
   column, then in the class or first column     protected column
C  Gaussian naive Bayes on changed labels        naive Bayes of categories, weighted so that label and group are
                                                 independent
D  tree of branches pure in the first column,    tree on massaged labels
   on changed labels
E  Gaussian naive Bayes                          the same
F  tree of branches pure in the first column     tree
G  least squares, positive above 0               logistic regression
H  support vector machine, one width for all     the same
=  ============================================  =====================================================================

The changed labels are only partly known. C for race, and D for race in figure 1: every white person's label is
negative. C for gender: all but 19 of the non-white women with a low income are positive. C and D on credit: 9 women
were promoted and 8 men demoted. D for gender: 59 labels changed; D for race in figure 2: 24. Where only the number is
known, we change those nearest to the boundary of a naive Bayes ranker.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairlab.checks import check_choice
from fairlab.data.dataset import Dataset
from fairlab.papers.themis.instances import INSTANCES, SENSITIVE, Instance
from fairlab.papers.themis.learners import (
    BoundedCovarianceLogistic,
    LeastSquaresClassifier,
    MultiwayTree,
    NearbySVC,
    balancing_weights,
    massage,
)

READINGS = ("as_published", "as_specified")
BEHIND = ("figure-1 group", "figure-1 causal", "figure-2")
VARIANTS = {"census": "census-balanced", "credit": "credit-themis"}
RACE_BOUND = 0.2  # covariance that system A allows for each race
WHITE = 0  # code of race

Predict = Callable[[pd.DataFrame], np.ndarray]


def sample_people(people: Dataset, n_rows: int, *, random_state: int) -> Dataset:
    """Return a data set with `n_rows` rows drawn at random, or all rows if it has no more.

    Parameters
    ----------
    people : Dataset
    n_rows, random_state : int
    """
    if n_rows >= len(people.features):
        return people
    rows = people.features.sample(n_rows, random_state=random_state).index.sort_values()
    return replace(
        people, **{part: getattr(people, part).loc[rows] for part in ("features", "target", "sensitive_features")}
    )


def load_people(exp, n_rows: float = np.inf) -> dict[str, Dataset]:
    """Return the training data of an experiment's systems: all rows of its data sets, or `n_rows` random rows of each.

    Parameters
    ----------
    exp : Experiment
    n_rows : float
        May be infinite.
    """
    return {
        data: sample_people(exp.load(variant), n_rows, random_state=exp.trial().seed(data))
        for data, variant in VARIANTS.items()
    }


def train(instance: Instance, people: Dataset, *, reading: str = "as_published", behind: str = "figure-2") -> Predict:
    """Train an instance and return its decisions as a function of coded inputs.

    Parameters
    ----------
    instance : Instance
    people : Dataset
        The variant that `VARIANTS` names for the instance's data.
    reading : {"as_published", "as_specified"}
    behind : {"figure-1 group", "figure-1 causal", "figure-2"}
        The published scores to reproduce: as published, some trees differ between the columns of figure 1, and D for
        race differs between the figures.

    Returns
    -------
    callable
        Takes a DataFrame of codes with the columns of `instance.schema`; returns an array of 0 and 1.
    """
    check_choice(reading, "reading", READINGS)
    check_choice(behind, "behind", BEHIND)
    return _trained(_Training(instance, people, reading, behind)).predict


@dataclass(frozen=True)
class _Training:
    """Inputs of an instance's training; equal if they lead to the same decisions."""

    instance: Instance
    people: Dataset
    reading: str
    behind: str

    def __hash__(self):
        return hash(self._key)

    def __eq__(self, other):
        return self._key == other._key

    @cached_property
    def _key(self) -> tuple:
        people, system, data = self.people, self.instance.system, self.instance.data
        X, positive = people.features.astype(int).to_numpy(), (people.target == people.positive_label).to_numpy()
        rows = hashlib.sha256(X.tobytes() + positive.tobytes() + repr(people.privileged_group).encode()).digest()
        if system in "eh":
            return self.instance, rows
        if self.reading == "as_specified":
            return self.instance, rows, self.reading
        return self.instance, rows, self.behind == "figure-1 group" if data == "credit" else self.behind == "figure-2"


@lru_cache(maxsize=3 * len(INSTANCES))  # experiments use the same systems repeatedly; H takes long to train
def _trained(training: _Training):
    instance, people = training.instance, training.people
    X = people.features.astype(int)
    y = (people.target == people.positive_label).to_numpy().astype(int)
    group = None if instance.trained_for == "unaware" else X[SENSITIVE[instance.trained_for]]
    disadvantaged = None if group is None else (group != int(people.privileged_group[group.name])).to_numpy()
    if training.reading == "as_published":
        return _as_published(instance, X, y, group, disadvantaged, training.behind)
    return _as_specified(instance, X, y, group, disadvantaged)


def _as_published(instance, X, y, group, disadvantaged, behind):
    group_on_credit = (instance.data, behind) == ("credit", "figure-1 group")
    match instance.system:
        case "a":
            bound = RACE_BOUND if instance.trained_for == "race" else 0.0
            return BoundedCovarianceLogistic(bound, fit_intercept=False).fit(X, y, sensitive_features=group)
        case "b":
            to_class = group_on_credit or (instance.data, instance.trained_for) == ("census", "gender")
            return MultiwayTree(purity=(group.name, "class" if to_class else "first")).fit(X, y)
        case "c":
            return GaussianNB().fit(X, _changed_labels(instance, X, y, disadvantaged, behind))
        case "d":
            labels = _changed_labels(instance, X, y, disadvantaged, behind)
            return MultiwayTree(purity=("class" if group_on_credit else "first",)).fit(X, labels)
        case "e":
            return GaussianNB().fit(X, y)
        case "f":
            return MultiwayTree(purity=("class" if group_on_credit else "first",)).fit(X, y)
        case "g":
            return LeastSquaresClassifier().fit(X, y)
        case "h":
            return NearbySVC().fit(X, y)


def _as_specified(instance, X, y, group, disadvantaged):
    match instance.system:
        case "a":
            return BoundedCovarianceLogistic(0.0).fit(X, y, sensitive_features=group)
        case "b":
            return MultiwayTree(discount=group.name).fit(X, y)
        case "c":
            sizes = np.maximum(instance.schema.sizes, X.max() + 1)
            return CategoricalNB(min_categories=sizes).fit(X, y, sample_weight=balancing_weights(y, group))
        case "d":
            return MultiwayTree().fit(X, massage(y, disadvantaged, _ranks(X, y)))
        case "e":
            return GaussianNB().fit(X, y)
        case "f":
            return MultiwayTree().fit(X, y)
        case "g":
            return make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
        case "h":
            return NearbySVC().fit(X, y)


def _changed_labels(instance, X, y, disadvantaged, behind) -> np.ndarray:
    massaged = partial(massage, y, disadvantaged, _ranks(X, y))
    match instance.system, instance.data, instance.trained_for:
        case _, "credit", _:
            return massaged(n_promoted=9, n_demoted=8)
        case "d", _, "gender":
            return massaged(n_promoted=30, n_demoted=29)
        case "d", _, "race" if behind == "figure-2":
            return massaged(n_promoted=12, n_demoted=12)
        case _, _, "race":
            return np.where(disadvantaged, y, 0)
    promoted = np.flatnonzero(disadvantaged & (X["race"] != WHITE) & (y == 0))[:-19]
    labels = y.copy()
    labels[promoted] = 1
    return labels


def _ranks(X, y) -> np.ndarray:
    return GaussianNB().fit(X, y).predict_proba(X)[:, 1]
