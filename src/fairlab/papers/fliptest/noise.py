"""How many flips a map's own error causes (FlipTest, section 5.1): two groups that do not differ, and a jagged model.

The features that the model sees have the same distribution in both groups, so that a perfect map changes nobody's
outcome. Other features tell the groups apart, so that there is something for the map to learn.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC

from fairlab.fliptest.flipsets import Flipset, flipset
from fairlab.fliptest.validation import MapValidation, validate_map
from fairlab.transport import ExactTransport

# Difference of the groups' means in each feature that tells them apart, in standard deviations.
SHIFT = 1.0


@dataclass(frozen=True, eq=False)
class NoiseFloor:
    """Flips between two groups that do not differ in what the models see.

    Attributes
    ----------
    validation : MapValidation
        Of the GAN map.
    flips : dict of (C, gamma) to dict of str to Flipset
        Per model: ``GAN``, of the whole source group; ``GAN, subset`` and ``exact, subset``, of some of it, the exact
        map being to as many of the target group. Empty if the GAN diverged.
    """

    validation: MapValidation
    flips: dict[tuple, dict[str, Flipset]]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per model and map: people, those of label 1 before the map, and sizes of the flipsets."""
        return pd.DataFrame(
            [
                {"C": C, "gamma": gamma, "map": name, "people": len(flip.index), "positive": flip.prediction.sum()}
                | {"F+": flip.n_positive, "F−": flip.n_negative}
                for (C, gamma), by_map in self.flips.items()
                for name, flip in by_map.items()
            ]
        )


def identical_groups(rng, n_points: int, *, n_seen: int, n_telling: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw two groups with equal distributions of the features that a model sees.

    Parameters
    ----------
    rng : numpy.random.Generator
    n_points : int
        Of each group.
    n_seen : int
        Standard normal features, the first columns.
    n_telling : int
        Features that tell the groups apart: normal, unit variance, mean 0 in the source and `SHIFT` in the target.

    Returns
    -------
    source, target : array of shape (n_points, n_seen + n_telling)

    Raises
    ------
    ValueError
        If there are no points or no features to see.
    """
    for name, value, least in (("n_points", n_points, 1), ("n_seen", n_seen, 1), ("n_telling", n_telling, 0)):
        if value < least:
            raise ValueError(f"{name}: expected at least {least}, found {value}")
    source, target = rng.normal(size=(2, n_points, n_seen + n_telling))
    target[:, n_seen:] += SHIFT
    return source, target


def random_label_svm(X, rng, *, n_seen: int, C: float = 1.0, gamma="scale") -> Pipeline:
    """Fit a support vector machine with RBF kernel to a coin toss for each row.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    rng : numpy.random.Generator
        Of the tosses.
    n_seen : int
        The model sees that many columns, the first ones.
    C : float
        Price of a label that is not reproduced; the higher, the more jagged the model.
    gamma : float or "scale"
        Inverse square of the kernel's width, up to a factor; "scale" as in scikit-learn.

    Returns
    -------
    Pipeline
        Its ``predict`` takes tables such as `X`.
    """
    seen = ColumnTransformer([("seen", "passthrough", slice(n_seen))])
    return make_pipeline(seen, SVC(C=C, gamma=gamma, cache_size=1000)).fit(X, rng.integers(2, size=len(X)))


def noise_floors(trials, *, n_points, n_subset, n_seen, n_telling, svms, **recipe) -> list[NoiseFloor]:
    """Draw two groups, map one to the other, and count the flips of models fitted to random labels.

    A function for `fairlab.Experiment.trials` with ``batch``. Every trial has people, a map and labels of its own.

    Parameters
    ----------
    trials : list of fairlab.seeds.Trial
    n_points, n_seen, n_telling : int
        See `identical_groups`.
    n_subset : int
        Most people of either group for the exact map.
    svms : sequence of (float, float or "scale")
        C and gamma of each model; see `random_label_svm`.
    **recipe
        Options of `fairlab.transport.GANEnsemble`.

    Returns
    -------
    list of NoiseFloor
    """
    from fairlab.transport import GANEnsemble

    groups = [identical_groups(t.rng("points"), n_points, n_seen=n_seen, n_telling=n_telling) for t in trials]
    ensemble = GANEnsemble([trial.seed("gan") for trial in trials], **recipe)
    ensemble.fit(*(np.stack(side) for side in zip(*groups, strict=True)))
    return [
        _noise_floor(trial, gan, *pair, n_subset=n_subset, n_seen=n_seen, svms=svms)
        for trial, gan, pair in zip(trials, ensemble.maps_, groups, strict=True)
    ]


def _noise_floor(trial, gan, source, target, *, n_subset, n_seen, svms):
    image = gan.transform(source)
    validation = validate_map(target, image, X_source=source)
    if validation.diverged:
        return NoiseFloor(validation, {})
    some, some_target = source[:n_subset], target[:n_subset]
    pairs = {
        "GAN": (source, image),
        "GAN, subset": (some, image[:n_subset]),
        "exact, subset": (some, ExactTransport().fit(some, some_target).transform(some)),
    }
    flips = {}
    for C, gamma in svms:
        model = random_label_svm(np.vstack([source, target]), trial.rng("labels"), n_seen=n_seen, C=C, gamma=gamma)
        flips[C, gamma] = {name: flipset(model, *pair) for name, pair in pairs.items()}
    return NoiseFloor(validation, flips)
