"""The four classifiers of the Adult and COMPAS studies: how each is set, trained and kept (sections 4.2, F.3 and G)."""

from collections.abc import Mapping

from fairlab.papers.individual_fairness.learners import BalancedMLP, EqualizedOddsMixture, ProjectedMLP, SenSR
from fairlab.papers.individual_fairness.splits import Split

CLASSES = {"baseline": BalancedMLP, "project": ProjectedMLP, "reduction": EqualizedOddsMixture, "sensr": SenSR}
METHODS = tuple(CLASSES)
LABELS = {"baseline": "Baseline", "project": "Project", "reduction": "Reductions", "sensr": "SenSR"}

# Losses are taken from rounded probabilities, as behind the printed numbers.
ROUNDED = {"rounded_loss": True}


def adult_methods(seed: int, *, network_steps: int, sensr_steps: int, reductions_iterations: int) -> dict:
    """Return the four classifiers as they were set for Adult, not trained.

    Parameters
    ----------
    seed : int
        Of the networks' initial weights and batches.
    network_steps, sensr_steps, reductions_iterations : int
        The paper's: 8,000, 20,000 and 50.

    Returns
    -------
    dict of str to classifier
        Keys as `METHODS`.
    """
    return {
        "baseline": BalancedMLP(n_steps=network_steps, random_state=seed, **ROUNDED),
        "project": ProjectedMLP(n_steps=network_steps, random_state=seed, **ROUNDED),
        "reduction": EqualizedOddsMixture(max_iter=reductions_iterations, eps=0.03, **ROUNDED),
        "sensr": SenSR(n_steps=sensr_steps, solver="liblinear", random_state=seed, **ROUNDED),
    }


def compas_methods(seed: int, *, network_steps: int, sensr_steps: int, reductions_iterations: int) -> dict:
    """Return the four classifiers as they were set for COMPAS, not trained.

    Parameters
    ----------
    seed : int
        Of the networks' initial weights and batches.
    network_steps, sensr_steps, reductions_iterations : int
        The paper's: 8,000, 16,000 and 50.

    Returns
    -------
    dict of str to classifier
        As `adult_methods`. Reductions is not balanced by class here, unlike the text and like the authors' code.
    """
    attack = {"learning_rate": 1e-4, "subspace_rate": 0.1, "full_steps": 8}
    return {
        "baseline": BalancedMLP(n_steps=network_steps, random_state=seed, **ROUNDED),
        "project": ProjectedMLP(n_steps=network_steps, random_state=seed, **ROUNDED),
        "reduction": compas_reductions(reductions_iterations, class_weight=None),
        "sensr": SenSR(n_steps=sensr_steps, solver="published", random_state=seed, **attack, **ROUNDED),
    }


def compas_reductions(max_iter: int, *, class_weight: str | None) -> EqualizedOddsMixture:
    """Return Reductions as it was set for COMPAS, with or without balanced classes."""
    return EqualizedOddsMixture(max_iter=max_iter, eps=0.05, class_weight=class_weight, **ROUNDED)


def trained(methods: Mapping, split: Split) -> dict[str, dict]:
    """Train classifiers on the training part of a split and return what they learned, as plain data by method."""
    groups = {"sensitive_features": split.sensitive_train}
    return {
        name: method.fit(split.X_train, split.y_train, **(groups if name != "baseline" else {})).fitted()
        for name, method in methods.items()
    }


def classifiers(learned: Mapping[str, dict], *, rounded_loss: bool = True) -> dict:
    """Return trained classifiers from what `trained` returned of them.

    `rounded_loss` is how their losses are taken; see `WhiteBoxClassifier`. True stands behind the published numbers.
    """
    return {name: CLASSES[name](rounded_loss=rounded_loss).with_fitted(part) for name, part in learned.items()}
