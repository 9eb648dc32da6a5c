"""The four classifiers of the Adult and COMPAS studies, trained and audited as the authors did (section 4.2, F, G)."""

from dataclasses import dataclass

import pandas as pd

from fairlab.data import Dataset
from fairlab.fair_metric import FairMetric
from fairlab.individual_fairness.auditing import Audit, audit
from fairlab.models.mlp import BalancedMLP
from fairlab.models.project import ProjectedMLP
from fairlab.models.reductions import EqualizedOddsMixture
from fairlab.models.sensr import SenSR
from fairlab.papers.individual_fairness.group_fairness import average_odds_difference, balanced_accuracy_score
from fairlab.papers.individual_fairness.splits import ADULT_SEEDS, COMPAS_SEEDS, Split, adult_split, compas_split
from fairlab.seeds import Trial

METHODS = ("baseline", "project", "reduction", "sensr")


@dataclass(frozen=True)
class AuditSettings:
    """How a study audits.

    Attributes
    ----------
    regularizer, step_size : float
        lambda and eta; the step is constant.
    n_points : int or None
        Points of the test part that are audited, from its head; None for all.
    """

    regularizer: float
    step_size: float
    n_points: int | None = None


ADULT_AUDIT = AuditSettings(regularizer=50.0, step_size=0.01)
COMPAS_AUDIT = AuditSettings(regularizer=100.0, step_size=0.005, n_points=1000)


def train_adult(
    trial: Trial, *, dataset: Dataset, network_steps: int, sensr_steps: int, reductions_iterations: int
) -> dict:
    """Train the four methods on one split of Adult.

    Parameters
    ----------
    trial : Trial
        Its index chooses the authors' seeds; its root is added to the seed of the models.
    dataset : Dataset
        `adult-individual`.
    network_steps, sensr_steps, reductions_iterations : int
        The paper's: 8,000, 20,000 and 50.

    Returns
    -------
    dict of str to classifier
        Keys as `METHODS`. Losses are taken from rounded probabilities, as behind the printed numbers.
    """
    data_seed, model_seed = ADULT_SEEDS[trial.index]
    learners = _learners(
        model_seed + trial.root,
        network={"n_steps": network_steps},
        reductions={"max_iter": reductions_iterations, "eps": 0.03},
        sensr={"n_steps": sensr_steps, "solver": "liblinear"},
    )
    return _fit(learners, adult_split(dataset, data_seed))


def train_compas(
    trial: Trial, *, dataset: Dataset, network_steps: int, sensr_steps: int, reductions_iterations: int
) -> dict:
    """Train the four methods on one split of COMPAS.

    Parameters
    ----------
    trial : Trial
        Its index chooses the authors' seeds; its root is added to the seed of the models.
    dataset : Dataset
        `compas-individual`.
    network_steps, sensr_steps, reductions_iterations : int
        The paper's: 8,000, 16,000 and 50.

    Returns
    -------
    dict of str to classifier
        As `train_adult`. Reductions is not balanced by class here, unlike the text and like the authors' code.
    """
    data_seed, model_seed = COMPAS_SEEDS[trial.index]
    learners = _learners(
        model_seed + trial.root,
        network={"n_steps": network_steps},
        reductions={"max_iter": reductions_iterations, "eps": 0.05, "class_weight": None},
        sensr={"n_steps": sensr_steps, "learning_rate": 1e-4, "subspace_rate": 0.1, "full_steps": 8},
    )
    return _fit(learners, compas_split(dataset, data_seed))


def audit_on_test_part(model, split: Split, settings: AuditSettings, *, n_steps: int, solver="published") -> Audit:
    """Audit a trained model on the test part, within a metric learned from the test part.

    Parameters
    ----------
    model : classifier
    split : Split
    settings : AuditSettings
    n_steps : int
    solver : {"published", "converged", "liblinear"}
        Of the regressions that find the sensitive subspace; see `sensitive_directions`.
    """
    metric = FairMetric.learned(split.X_test, split.sensitive_test, solver=solver)
    n = settings.n_points
    options = {"regularizer": settings.regularizer, "step_size": settings.step_size, "n_steps": n_steps}
    return audit(model, metric, split.X_test[:n], split.y_test[:n], **options)


def group_fairness(model, split: Split) -> pd.Series:
    """Return balanced accuracy and average odds differences by sex and race on the test part.

    Returns
    -------
    Series
        ``bal_acc``, ``aod_gender``, ``aod_race``.
    """
    predicted = model.predict(split.X_test.to_numpy())
    odds = {
        name: average_odds_difference(split.y_test, predicted, sensitive_features=split.sensitive_test[column])
        for name, column in (("aod_gender", "sex"), ("aod_race", "race"))
    }
    return pd.Series({"bal_acc": balanced_accuracy_score(split.y_test, predicted)} | odds)


def _learners(seed: int, *, network: dict, reductions: dict, sensr: dict) -> dict:
    """Return the four methods, not trained, in the order of `METHODS`."""
    rounded = {"from_logits": False}
    return {
        "baseline": BalancedMLP(**network, random_state=seed, **rounded),
        "project": ProjectedMLP(**network, random_state=seed, **rounded),
        "reduction": EqualizedOddsMixture(**reductions, **rounded),
        "sensr": SenSR(**sensr, random_state=seed, **rounded),
    }


def _fit(learners: dict, split: Split) -> dict:
    groups = {"sensitive_features": split.sensitive_train}
    return {
        name: learner.fit(split.X_train, split.y_train, **(groups if name != "baseline" else {}))
        for name, learner in learners.items()
    }
