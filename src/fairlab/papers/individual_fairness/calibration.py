"""How far the tests can be trusted: audits of simulated people whose true ratios are known (sections 3 and 4)."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import norm

from fairlab.data import Dataset
from fairlab.fair_metric import FairMetric, sensitive_directions
from fairlab.individual_fairness.attack import gradient_flow_attack
from fairlab.individual_fairness.auditing import RatioTest, error_rate_ratio_test, loss_ratio_test
from fairlab.models.classifiers import LinearClassifier
from fairlab.papers.individual_fairness.learners import PUBLISHED_METRIC
from fairlab.papers.individual_fairness.simulation import FLOW, METRIC_DIRECTIONS, fitted_intercepts

ALPHA = 0.05
VARIANT = "published"
TESTS = ("loss ratio", "error-rate ratio")
COLUMNS = ("loss", "attacked_loss", "wrong", "attacked_wrong")  # of an attack, that the tests need

# The simulated people of figure 1, attacked as there.
WEIGHTS = (-0.8, -1.2, -1.33, -4.0)  # of the first coordinate; the two in the middle have loss ratios near 5/4
SIZES = (50, 100, 200, 400, 800, 1600)
N_STEPS = 400

# People with five features, shifted by their group along the first one, to learn the metric from.
N_FEATURES, SHIFT = 5, 1.5
DIRECTION = np.eye(N_FEATURES)[0]
AUDITED = LinearClassifier([1.0, 1.0, 0.0, 0.0, 0.0], 0.0)  # it leans half on the sensitive direction
LEARNED_FLOW = {"regularizer": 50.0, "step_size": 0.01, "n_steps": 40}
LEARNED_SIZES = (100, 200, 400, 800)


def attacked_population(people: Dataset) -> dict[float, pd.DataFrame]:
    """Attack every simulated person once, under one model for each of `WEIGHTS`.

    Parameters
    ----------
    people : Dataset
        `individual-simulation`, as many as the population shall have.

    Returns
    -------
    dict of float to DataFrame
        By weight, one row per person; columns as `Attack.to_frame` gives them.
    """
    X, y = people.features, people.target.to_numpy()
    coef = np.column_stack([WEIGHTS, np.zeros(len(WEIGHTS))])
    metric = FairMetric.from_directions(METRIC_DIRECTIONS)
    models = (LinearClassifier(*pair) for pair in zip(coef, fitted_intercepts(coef, X, y), strict=True))
    return {
        weight: gradient_flow_attack(model, metric, X, y, **FLOW, n_steps=N_STEPS, variant=VARIANT).to_frame()
        for weight, model in zip(WEIGHTS, models, strict=True)
    }


def true_ratios(attacked: pd.DataFrame) -> dict[str, float]:
    """Return both ratios of a whole population, by the name of their test.

    Parameters
    ----------
    attacked : DataFrame
        Columns loss, attacked_loss, wrong and attacked_wrong.
    """
    before, after, wrong, attacked_wrong = (attacked[name].to_numpy() for name in COLUMNS)
    ratios = ((after / before).mean(), attacked_wrong.mean() / wrong.mean())
    return dict(zip(TESTS, map(float, ratios), strict=True))


def truth_table(population: dict[float, pd.DataFrame]) -> pd.DataFrame:
    """Return the true ratios of each weight, beside the largest ratio of one person's losses and the error rate."""
    rows = {
        weight: true_ratios(attacked)
        | {
            "largest loss ratio": (attacked["attacked_loss"] / attacked["loss"]).max(),
            "error rate": attacked["wrong"].mean(),
        }
        for weight, attacked in population.items()
    }
    return pd.DataFrame(rows).T.rename_axis("weight")


def both_tests(columns: Iterable[np.ndarray], *, max_ratios: dict[str, float]) -> dict[str, RatioTest]:
    """Make both tests of many audits, each against its own largest ratio; columns are of shape (n_audits, n_points)."""
    before, after, wrong, attacked_wrong = columns
    loss, errors = (max_ratios[name] for name in TESTS)
    tests = (
        loss_ratio_test(before, after, max_loss_ratio=loss, alpha=ALPHA, variant=VARIANT),
        error_rate_ratio_test(wrong, attacked_wrong, max_loss_ratio=errors, alpha=ALPHA, variant=VARIANT),
    )
    return dict(zip(TESTS, tests, strict=True))


def sampled_audits(attacked: pd.DataFrame, rows: np.ndarray, *, max_ratios: dict[str, float]) -> dict[str, RatioTest]:
    """Make both tests of many audits, each of the people whose numbers stand in a line of `rows`."""
    return both_tests((attacked[name].to_numpy()[rows] for name in COLUMNS), max_ratios=max_ratios)


def coverage(test: RatioTest, truth: float) -> float:
    """Return the share of two-sided intervals that cover the true ratio."""
    low, high = np.moveaxis(test.interval, -1, 0)
    return ((low <= truth) & (truth <= high)).mean()


def beyond_monte_carlo_error(rates: pd.DataFrame, *, n_repetitions: int) -> pd.DataFrame:
    """Count, by test and size, the rates that are off their promise by more than three Monte Carlo standard errors.

    Parameters
    ----------
    rates : DataFrame
        Columns test, n, type I error and coverage.
    n_repetitions : int
        Audits that each rate was counted over.
    """
    error = np.sqrt(ALPHA * (1 - ALPHA) / n_repetitions)
    beyond = {
        "type I error too high": rates["type I error"] > ALPHA + 3 * error,
        "coverage too low": rates["coverage"] < 1 - ALPHA - 3 * error,
    }
    return pd.DataFrame(beyond).groupby([rates["test"], rates["n"]], sort=False).sum()


def curves(rates: pd.DataFrame, *, rate: str, curve: str, n_repetitions: int) -> pd.DataFrame:
    """Return the columns that `rate_curves` draws beside those of `rates`: curve, x, rate and error.

    Parameters
    ----------
    rates : DataFrame
        With a column n.
    rate, curve : str
        Columns of the rate to draw and of what tells the curves apart.
    n_repetitions : int
        Audits that each rate was counted over.
    """
    table = rates.rename(columns={curve: "curve", "n": "x", rate: "rate"})
    half_width = norm.ppf(0.975) * np.sqrt(table["rate"] * (1 - table["rate"]) / n_repetitions)
    return table.assign(error=half_width, curve=table["curve"].astype(str))


def draw_people(rng: np.random.Generator, *shape: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, shape (*shape, 5), labels and groups of new people, whose labels follow `AUDITED`."""
    group = rng.integers(0, 2, shape)
    features = rng.normal(size=(*shape, N_FEATURES)) + SHIFT * (group[..., None] - 0.5) * DIRECTION
    label = rng.random(shape) < expit(features @ AUDITED.coef)
    return features, label.astype(int), group


def learned_directions(features: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the sensitive direction that each sample teaches, shape (n_samples, n_features)."""
    return np.concatenate(
        [sensitive_directions(x, g[:, None], **PUBLISHED_METRIC) for x, g in zip(features, groups, strict=True)]
    )


def both_tests_of_each(directions, features, labels, *, max_ratios: dict[str, float]) -> dict[str, RatioTest]:
    """Audit `AUDITED` on each of several samples, within a metric that ignores the sample's own direction."""
    attacks = [
        gradient_flow_attack(AUDITED, FairMetric.from_directions([direction]), x, y, variant=VARIANT, **LEARNED_FLOW)
        for direction, x, y in zip(directions, features, labels, strict=True)
    ]
    columns = (np.array([getattr(attack, name) for attack in attacks]) for name in COLUMNS)
    return both_tests(columns, max_ratios=max_ratios)


def median_angle(directions: np.ndarray) -> float:
    """Return the median angle, in degrees, between learned directions and the true one."""
    cosine = np.abs(directions @ DIRECTION) / np.linalg.norm(directions, axis=1)
    return np.degrees(np.median(np.arccos(cosine)))
