"""The study of a single biased feature (FlipTest, section 5.5): the model, its coins, and what to expect of a map."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist
from scipy.stats import geom

from fairlab.data.variants.arrests import STOP, classify
from fairlab.fliptest.flipsets import Flipset, flipset

# What may be made of a fraction of an arrest; the first is recorded.
FRACTIONS = {"rounded": np.round, "cut off": np.floor, "as they are": np.asarray}


def monotone_rearrangement(source, target) -> np.ndarray:
    """Return each source value's image under the map of order, optimal for every cost convex in the distance."""
    source, target = np.asarray(source, dtype=float), np.asarray(target, dtype=float)
    image = np.empty(len(source))
    image[np.argsort(source, kind="stable")] = np.sort(target)
    return image


def tossing_model(rng: np.random.Generator) -> Callable:
    """Return the model that tosses a coin for every prediction about someone with one arrest, anew in every call."""
    return lambda X: classify(X["arrests"], rng.integers(2, size=len(X)))


def both_models(trial, coin: pd.Series) -> dict[str, Callable]:
    """Return the model, 1 for high risk and 0 for low, by whose coin it is.

    Parameters
    ----------
    trial : fairlab.seeds.Trial
        Has the tosses of the model ``per prediction``.
    coin : Series
        By person, 0 or 1: that of the model ``per person``. The image inherits it with its label.
    """
    per_person = lambda X: classify(X["arrests"], coin[X.index])  # noqa: E731
    return {"per prediction": tossing_model(trial.rng("tosses")), "per person": per_person}


def population_plan(values) -> np.ndarray:
    """Return the optimal plan between the populations of S and S', which pairs equal quantiles.

    Parameters
    ----------
    values : array of shape (n_values,)
        0, 1, 2 and so on.

    Returns
    -------
    array of shape (n_values, n_values)
    """
    ends = [geom(stop, loc=-1).cdf(np.append(-1, values)) for stop in STOP.values()]
    upper = np.minimum.outer(*(end[1:] for end in ends))
    lower = np.maximum.outer(*(end[:-1] for end in ends))
    return np.clip(upper - lower, 0, None)


def expected_flips(plan, x, y, *, n_points: int) -> dict[str, float]:
    """Return what a transport plan makes one expect, with two coins for each pair, out of `n_points` people.

    Parameters
    ----------
    plan : array of shape (n_x, n_y)
        Share of each pair.
    x, y : array of shape (n_x,) and (n_y,)
        Arrests on either side.
    n_points : int
    """
    high, image_high = classify(x, 0.5)[:, None], classify(y, 0.5)
    positive, difference = plan * high * (1 - image_high), np.subtract.outer(x, y)
    return {
        "F+": n_points * positive.sum(),
        "F−": n_points * (plan * (1 - high) * image_high).sum(),
        "share with more arrests": positive[difference > 0].sum() / positive.sum(),
        "mean difference": (positive * difference).sum() / positive.sum(),
    }


def measured_flips(flip: Flipset, arrests: pd.Series, image: pd.Series) -> dict[str, float]:
    """Return the four published quantities for one map and coin."""
    difference = (arrests - image)[flip.positive]
    return {
        "F+": flip.n_positive,
        "F−": flip.n_negative,
        "share with more arrests": (difference > 0).mean(),
        "mean difference": difference.mean(),
    }


def flips_by_reading(S: pd.DataFrame, images: dict[int, pd.DataFrame], coin: pd.Series, trial_of) -> pd.DataFrame:
    """Return the flipset sizes under what may be made of fractions of an arrest, and under either coin.

    Parameters
    ----------
    S : DataFrame of shape (n, 1)
    images : dict of int to DataFrame of shape (n, 1)
        Per trial, the image in arrests as the generator gives it.
    coin : Series
        By person, for the second model.
    trial_of : callable
        Returns a trial by its number, for the tosses of the first.
    """
    rows = []
    for fraction, whole in FRACTIONS.items():
        for k, raw in images.items():
            image = S.assign(arrests=whole(raw["arrests"]))
            for owner, model in both_models(trial_of(k), coin).items():
                flip = flipset(model, S, image)
                difference = (S - image).loc[flip.positive, "arrests"].mean()
                rows.append(
                    {"fractions": fraction, "coin": owner, "map": f"GAN {k}"}
                    | {"F+": flip.n_positive, "F−": flip.n_negative, "mean difference": difference}
                )
    return pd.DataFrame(rows)


def redrawn_flips(S: pd.DataFrame, S_prime: pd.DataFrame, rng, *, n_redrawn: int) -> pd.DataFrame:
    """Return the sizes of the closed form's flipsets with the order of equals and the tosses drawn anew."""
    rows = []
    for _ in range(n_redrawn):
        shuffled = S.sample(frac=1, random_state=rng)
        image = shuffled.assign(arrests=monotone_rearrangement(shuffled["arrests"], S_prime["arrests"]))
        flip = flipset(tossing_model(rng), shuffled, image)
        rows.append({"F+": flip.n_positive, "F−": flip.n_negative})
    return pd.DataFrame(rows)


def best_ks_of_a_function(x_count, y_count) -> float:
    """Return the least KS distance that a map sending equal people to equal images can reach.

    Parameters
    ----------
    x_count, y_count : array of int
        People per value of the feature, in ascending order, in the source and in the target; equally many in all.
    """
    steps, target_steps = (np.append(0, np.cumsum(count)) / np.sum(count) for count in (x_count, y_count))
    return float(np.abs(np.subtract.outer(target_steps, steps)).min(axis=1).max())


def root_of_l1(X, Y) -> np.ndarray:
    """Return the square root of the L1 distance of all pairs, shape (n_x, n_y): a concave cost."""
    return np.sqrt(cdist(X, Y, metric="cityblock"))


def correlation(group, risk) -> float:
    """Return Pearson's correlation, 0 if one side is constant."""
    return float(np.corrcoef(group, risk)[0, 1]) if np.ptp(group) and np.ptp(risk) else 0.0


def correlation_by_arrests(in_S: pd.Series, high_risk: pd.Series, arrests: pd.Series, *, most: int = 4) -> pd.DataFrame:
    """Return, for people with equally many arrests, how the model's output goes with the group.

    Parameters
    ----------
    in_S, high_risk : Series of 0 and 1
    arrests : Series of int
    most : int
        From here on numbers of arrests are taken together.
    """
    people = pd.DataFrame({"S": in_S, "risk": high_risk, "arrests": arrests.clip(upper=most)})
    rows = {
        f"{k} or more" if k == most else str(k): {
            "people": len(equal),
            "share of S": equal["S"].mean(),
            "share at high risk": equal["risk"].mean(),
            "correlation": correlation(equal["S"], equal["risk"]),
        }
        for k, equal in people.groupby("arrests")
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("arrests")


def subgroup_table(findings, reported) -> pd.DataFrame:
    """Return the subgroups that FairTest found, everyone first.

    Parameters
    ----------
    findings : sequence of fairlab.fairtest.Subgroup
    reported : sequence of fairlab.fairtest.Subgroup
        Those of them that are reported.
    """
    return pd.DataFrame(
        [
            {
                "subgroup": str(finding.node),
                "people": finding.size,
                "correlation": correlation(finding.sample.sensitive_features.values, finding.sample.output.values),
                "low": finding.associations[0].low,
                "high": finding.associations[0].high,
                "p-value": finding.associations[0].p_value,
                "reported": finding in reported,
            }
            for finding in findings
        ]
    )
