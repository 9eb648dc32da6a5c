"""The trials of the five experiments: one split trained or audited, or one simulation of many audits.

Trained models come and go as arrays; see `fairlab.papers.individual_fairness.learners`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from fairlab.data import Dataset
from fairlab.fair_metric import FairMetric
from fairlab.individual_fairness.attack import gradient_flow_attack
from fairlab.individual_fairness.auditing import FOUR_FIFTHS, loss_ratio_test
from fairlab.papers.individual_fairness import calibration
from fairlab.papers.individual_fairness.audits import (
    ADULT_AUDIT,
    COMPAS_AUDIT,
    MIXED_AUDITS,
    audit_on_test_part,
    group_fairness,
    metric_of_test_part,
)
from fairlab.papers.individual_fairness.learners import (
    ROUNDED,
    SETTINGS,
    BalancedMLP,
    EqualizedOddsMixture,
    classifiers,
    methods_of,
    trained,
)
from fairlab.papers.individual_fairness.splits import (
    ADULT_SEEDS,
    COMPAS_SEEDS,
    DIVIDE,
    SEEDS,
    adult_split,
    compas_split,
)
from fairlab.seeds import Trial


def train(trial: Trial, *, study: str, dataset: Dataset, **effort: int) -> dict[str, dict]:
    """Train the four methods on one split.

    Parameters
    ----------
    trial : Trial
        Its index chooses the authors' seeds; its root is added to the seed of the models.
    study : {"adult", "compas"}
    dataset : Dataset
        `adult-individual` or `compas-individual`.
    **effort : int
        ``network_steps``, ``sensr_steps`` and ``reductions_iterations`` of `methods_of`.

    Returns
    -------
    dict of str to dict
        By method, what it learned.
    """
    data_seed, model_seed = SEEDS[study][trial.index]
    return trained(methods_of(study, model_seed + trial.root, **effort), DIVIDE[study](dataset, data_seed))


def train_balanced_reductions(trial: Trial, *, dataset: Dataset, max_iter: int) -> dict[str, dict]:
    """Train Reductions with balanced classes, as the text says, on one split of COMPAS."""
    settings = SETTINGS["compas"]["reduction"] | {"class_weight": "balanced"}
    split = compas_split(dataset, COMPAS_SEEDS[trial.index][0])
    return trained({"reduction": EqualizedOddsMixture(max_iter=max_iter, **settings, **ROUNDED)}, split)


def audit_adult(trial: Trial, *, dataset: Dataset, models: Mapping, all_steps: Sequence[int]) -> pd.DataFrame:
    """Audit the four models of one split of Adult with each number of steps.

    Parameters
    ----------
    trial : Trial
        Its index chooses the split.
    dataset : Dataset
    models : mapping
        What the training of the same split returned; hand it over with `each`.
    all_steps : sequence of int
        Numbers of steps of the attack.

    Returns
    -------
    DataFrame
        One row per model, number of steps and test; columns method, n_steps and those of `Audit.to_frame`.
    """
    split = adult_split(dataset, ADULT_SEEDS[trial.index][0])
    metric = metric_of_test_part(split)
    rows = [
        audit_on_test_part(model, split, **ADULT_AUDIT, n_steps=n_steps, metric=metric)
        .to_frame()
        .reset_index()
        .assign(method=method, n_steps=n_steps)
        for method, model in classifiers(models).items()
        for n_steps in all_steps
    ]
    return pd.concat(rows, ignore_index=True)


def audit_mixed_reductions(trial: Trial, *, dataset: Dataset, models: Mapping, n_steps: int) -> pd.DataFrame:
    """Audit Reductions on one split of Adult by the setting that the authors had for this split.

    Parameters
    ----------
    trial : Trial
        Its index chooses the split.
    dataset : Dataset
    models : mapping
        Of the same split; hand it over with `each`.
    n_steps : int

    Returns
    -------
    DataFrame
        One row per test, as `Audit.to_frame` gives it.
    """
    split = adult_split(dataset, ADULT_SEEDS[trial.index][0])
    model = classifiers({"reduction": models["reduction"]})["reduction"]
    found = audit_on_test_part(model, split, **MIXED_AUDITS[trial.index], n_steps=n_steps)
    return found.to_frame().reset_index()


def audit_training(
    trial: Trial, *, dataset: Dataset, settings: Sequence[tuple[float, int]], n_steps: int
) -> pd.DataFrame:
    """Train plain networks in other ways on one split of Adult, and audit them.

    Parameters
    ----------
    trial : Trial
    dataset : Dataset
    settings : sequence of (float, int)
        Learning rate and number of training steps of each network.
    n_steps : int
        Of the attack.

    Returns
    -------
    DataFrame
        One row per setting: group measures and the lower bounds of both ratios.
    """
    data_seed, model_seed = ADULT_SEEDS[trial.index]
    split = adult_split(dataset, data_seed)
    rows = []
    for rate, steps in settings:
        model = BalancedMLP(learning_rate=rate, n_steps=steps, random_state=model_seed + trial.root, **ROUNDED)
        tests = audit_on_test_part(model.fit(split.X_train, split.y_train), split, **ADULT_AUDIT, n_steps=n_steps)
        rows.append(
            {"learning_rate": rate, "training_steps": steps}
            | group_fairness(model, split).to_dict()
            | {name: getattr(tests, name).lower_bound for name in ("loss_ratio", "error_rate_ratio")}
        )
    return pd.DataFrame(rows)


def audit_solvers(
    trial: Trial, *, dataset: Dataset, models: Mapping, solvers: Sequence[str], n_steps: int
) -> pd.DataFrame:
    """Return the bounds of the loss ratio of one split's models (rows) within metrics from several solvers (columns).

    Parameters
    ----------
    trial : Trial
    dataset : Dataset
    models : mapping
        What the training of the same split returned; hand it over with `each`.
    solvers : sequence of str
        See `SOLVERS`.
    n_steps : int
    """
    split = adult_split(dataset, ADULT_SEEDS[trial.index][0])
    metrics = {solver: metric_of_test_part(split, solver=solver) for solver in solvers}
    return pd.DataFrame(
        {
            solver: {
                method: audit_on_test_part(
                    model, split, **ADULT_AUDIT, n_steps=n_steps, metric=metric
                ).loss_ratio.lower_bound
                for method, model in classifiers(models).items()
            }
            for solver, metric in metrics.items()
        }
    )


def audit_compas(
    trial: Trial, *, dataset: Dataset, models: Mapping, n_points: int | None, n_steps: int
) -> pd.DataFrame:
    """Measure and audit the models of one split of COMPAS.

    Parameters
    ----------
    trial : Trial
    dataset : Dataset
    models : mapping
        What the training of the same split returned; hand it over with `each`.
    n_points : int or None
        Test points that are audited, from the head; None for all.
    n_steps : int
        Of the attack.

    Returns
    -------
    DataFrame
        One row per method: group measures, bounds and decisions of the tests, dropped and diverged points.
    """
    split = compas_split(dataset, COMPAS_SEEDS[trial.index][0])
    settings = COMPAS_AUDIT | {"metric": metric_of_test_part(split), "n_points": n_points, "n_steps": n_steps}
    rows = {}
    for method, model in classifiers(models).items():
        found = audit_on_test_part(model, split, **settings)
        rows[method] = group_fairness(model, split).to_dict() | {
            "t_n": found.loss_ratio.lower_bound,
            "reject_prop": float(found.loss_ratio.rejected),
            "error-rate t_n": found.error_rate_ratio.lower_bound,
            "error-rate reject_prop": float(found.error_rate_ratio.rejected),
            "dropped": found.loss_ratio.n_dropped,
            "diverged": found.attack.diverged.sum(),
        }
    return pd.DataFrame(rows).T


def by_step_size(
    trial: Trial,
    *,
    dataset: Dataset,
    models: Mapping,
    step_sizes: Sequence[float],
    n_steps: Mapping[str, int],
) -> pd.DataFrame:
    """Attack the four models of one split of Adult with steps of several sizes, as many as before.

    Parameters
    ----------
    trial : Trial
    dataset : Dataset
    models : mapping
        What the training of the same split returned; hand it over with `each`.
    step_sizes : sequence of float
    n_steps : dict of str to int
        By method.

    Returns
    -------
    DataFrame
        One row per method and size: method, step size, stopping time, lower bound, whether rejected, diverged points.
    """
    split = adult_split(dataset, ADULT_SEEDS[trial.index][0])
    metric = metric_of_test_part(split)
    rows = []
    for method, model in classifiers(models).items():
        for step_size in step_sizes:
            settings = ADULT_AUDIT | {"step_size": step_size, "n_steps": n_steps[method]}
            found = audit_on_test_part(model, split, metric=metric, **settings)
            rows.append(
                {"method": method, "step_size": step_size, "time": found.attack.stopping_time}
                | {"lower_bound": found.loss_ratio.lower_bound}
                | {"rejected": found.loss_ratio.rejected, "diverged": found.attack.diverged.sum()}
            )
    return pd.DataFrame(rows)


def along_the_flow(trial: Trial, *, dataset: Dataset, models: Mapping, n_steps: int, at: Sequence[int]) -> pd.DataFrame:
    """Follow one attack on each model of one split of Adult and test at several steps on the way.

    Parameters
    ----------
    trial : Trial
    dataset : Dataset
    models : mapping
        What the training of the same split returned; hand it over with `each`.
    n_steps : int
        Of the attack, with the tables' size.
    at : sequence of int
        Numbers of steps to test after.

    Returns
    -------
    DataFrame
        One row per method and time: method, time, lower_bound.
    """
    split = adult_split(dataset, ADULT_SEEDS[trial.index][0])
    metric = metric_of_test_part(split)
    rows = []
    for method, model in classifiers(models).items():
        found = audit_on_test_part(model, split, metric=metric, **ADULT_AUDIT, n_steps=n_steps, trajectory=True)
        losses = found.attack.loss_trajectory
        tests = loss_ratio_test(np.broadcast_to(losses[0], losses[at].shape), losses[at], variant="published")
        times = ADULT_AUDIT["step_size"] * np.array(at)
        rows.append(pd.DataFrame({"method": method, "time": times, "lower_bound": tests.lower_bound}))
    return pd.concat(rows, ignore_index=True)


def audit_population(trial: Trial, *, population: Mapping[float, pd.DataFrame], n_repetitions: int) -> pd.DataFrame:
    """Audit many random samples of a population whose true ratios are known.

    Parameters
    ----------
    trial : Trial
    population : dict of float to DataFrame
        Attacked people by the model's weight; see `calibration.attacked_population`.
    n_repetitions : int
        Audits of each weight and size.

    Returns
    -------
    DataFrame
        One row per weight, size and test: the true ratio, the shares rejected at a threshold that equals it (the Type I
        error) and at 5/4, and the coverage of the two-sided interval.
    """
    rng = trial.rng("audits")
    four_fifths = dict.fromkeys(calibration.TESTS, FOUR_FIFTHS)
    rows = []
    for weight, attacked in population.items():
        truth = calibration.true_ratios(attacked)
        for n_points in calibration.SIZES:
            people = rng.integers(len(attacked), size=(n_repetitions, n_points))
            at_truth, at_four_fifths = (
                calibration.sampled_audits(attacked, people, max_ratios=thresholds)
                for thresholds in (truth, four_fifths)
            )
            rows += [
                {"weight": weight, "test": name, "n": n_points, "true ratio": truth[name]}
                | {"type I error": test.rejected.mean(), "coverage": calibration.coverage(test, truth[name])}
                | {"rejected at 5/4": at_four_fifths[name].rejected.mean()}
                for name, test in at_truth.items()
            ]
    return pd.DataFrame(rows)


def audit_with_learned_metrics(trial: Trial, *, n_population: int, n_learned: int) -> dict:
    """Audit simulated people within the true metric and within metrics learned from other people or from themselves.

    Parameters
    ----------
    trial : Trial
    n_population : int
        People from whom the true ratios are taken.
    n_learned : int
        Audits of each size and metric.

    Returns
    -------
    dict
        ``truth``, the true ratio by test, and ``audits``, a table with one row per size, metric and test.
    """
    rng = trial.rng("learned metrics")
    model, flow = calibration.AUDITED, calibration.LEARNED_FLOW | {"variant": calibration.VARIANT}
    right = FairMetric.from_directions([calibration.DIRECTION])
    features, label, _ = calibration.draw_people(rng, n_population)
    truth = calibration.true_ratios(gradient_flow_attack(model, right, features, label, **flow).to_frame())
    rows = []
    for n_points in calibration.LEARNED_SIZES:
        features, label, group = calibration.draw_people(rng, n_learned, n_points)
        elsewhere, _, group_elsewhere = calibration.draw_people(rng, n_learned, n_points)
        ways = {
            "known": np.tile(calibration.DIRECTION, (n_learned, 1)),
            "learned from other people": calibration.learned_directions(elsewhere, group_elsewhere),
            "learned from the audited": calibration.learned_directions(features, group),
        }
        for way, directions in ways.items():
            tests = calibration.both_tests_of_each(directions, features, label, max_ratios=truth)
            angle = calibration.median_angle(directions)
            rows += [
                {"metric": way, "test": name, "n": n_points, "median angle (degrees)": angle}
                | {"bias": np.mean(test.statistic) - truth[name], "spread": np.std(test.statistic)}
                | {"mean standard error": np.mean(test.standard_error), "type I error": test.rejected.mean()}
                for name, test in tests.items()
            ]
    return {"truth": truth, "audits": pd.DataFrame(rows)}
