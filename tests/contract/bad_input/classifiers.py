"""Bad input of classifiers that can be attacked: white boxes, Keras, networks."""

import numpy as np
from contract.bad_input.rows import SEX, TABLE, Bad, Y, network
from sklearn.exceptions import NotFittedError

from fairlab.models import (
    BalancedMLP,
    EqualizedOddsMixture,
    KerasClassifier,
    LinearClassifier,
    ProjectedMLP,
    SenSR,
    SoftVote,
    WhiteBoxClassifier,
)

HALF = SEX.replace(0, np.nan)
LINE = LinearClassifier([1.0, -1.0], 0.0)
VOTE = SoftVote([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], [0.5, 0.5])
TINY = {"n_steps": 1, "batch_size": 4, "n_hidden": 2}
BAD_LABELS = [0, 1, 2, 0, 1, 2, 0, 1]


def fit(model, X=TABLE, y=Y, sensitive=SEX, **options):
    if sensitive is not None:
        options["sensitive_features"] = sensitive
    return lambda: model.fit(X, y, **options)


def three_outputs(X):
    import keras

    return keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, activation="softmax")])


ROWS = {
    "models": [
        Bad("LinearClassifier", "coef", lambda: LinearClassifier([[1.0, 2.0]], 0.0), "has shape (1, 2), intercept ()"),
        Bad(
            "LinearClassifier",
            "coef",
            lambda: LinearClassifier(["a", "b"], 0.0),
            "expected finite numbers, found ['a', 'b']",
        ),
        Bad(
            "LinearClassifier",
            "coef",
            lambda: LinearClassifier([np.nan, 1.0], 0.0),
            "expected finite numbers, found [nan, 1.0]",
        ),
        Bad(
            "LinearClassifier",
            "intercept",
            lambda: LinearClassifier([1.0, 2.0], np.inf),
            "expected finite numbers, found inf",
        ),
        Bad(
            "LinearClassifier",
            "X",
            lambda: LINE.predict(np.ones((4, 3))),
            "expected 2 columns, one for each coefficient, found shape (4, 3)",
        ),
        Bad("LinearClassifier", "X", lambda: LINE.predict([["a", "b"]]), "expected numbers, found"),
        Bad(
            "WhiteBoxClassifier",
            "log_odds",
            lambda: WhiteBoxClassifier().predict(np.ones((2, 2))),
            "expected a subclass that defines log_odds, found none",
            NotImplementedError,
        ),
        Bad(
            "WhiteBoxClassifier",
            "y",
            lambda: LINE.loss(np.ones((2, 2)), np.ones(3)),
            "expected one label for each of 2 points, found shape (3,)",
        ),
        Bad(
            "SoftVote",
            "weight",
            lambda: SoftVote([[1.0], [2.0]], [0.0, 0.0], [0.5, 0.6]),
            "expected shares that sum to 1, found a sum of 1.1",
        ),
        Bad(
            "SoftVote",
            "weight",
            lambda: SoftVote([[1.0], [2.0]], [0.0, 0.0], [1.5, -0.5]),
            "expected shares that sum to 1, found a sum of 1",
        ),
        Bad(
            "SoftVote",
            "weight",
            lambda: SoftVote([[1.0], [2.0]], [0.0, 0.0], [1.0]),
            "expected one row or number per model, found shapes (2, 1), (2,) and",
        ),
        Bad(
            "SoftVote",
            "intercept",
            lambda: SoftVote([[1.0], [2.0]], [0.0], [0.5, 0.5]),
            "expected one row or number per model, found shapes (2, 1), (1,) and",
        ),
        Bad(
            "SoftVote",
            "coef",
            lambda: SoftVote([1.0, 2.0], [0.0, 0.0], [0.5, 0.5]),
            "expected one row or number per model, found shapes (2,), (2,) and",
        ),
        Bad(
            "SoftVote",
            "X",
            lambda: VOTE.predict(np.ones((4, 3))),
            "expected 2 columns, one for each coefficient, found shape (4, 3)",
        ),
        Bad("KerasClassifier", "model", lambda: KerasClassifier(3), "expected a Keras model, found int", TypeError),
        Bad(
            "KerasClassifier",
            "model",
            lambda: KerasClassifier(three_outputs(2)).predict(np.ones((2, 2))),
            "expected one or two outputs per point, found 3",
        ),
        Bad(
            "KerasClassifier",
            "from_logits",
            lambda: KerasClassifier(network(), from_logits="no"),
            "expected True or False, found 'no'",
        ),
        Bad(
            "BalancedMLP",
            "n_hidden",
            fit(BalancedMLP(**TINY | {"n_hidden": 0}), sensitive=None),
            "expected a positive integer, found 0",
        ),
        Bad(
            "BalancedMLP",
            "n_steps",
            fit(BalancedMLP(**TINY | {"n_steps": 0.5}), sensitive=None),
            "expected a positive integer, found 0.5",
        ),
        Bad(
            "BalancedMLP",
            "batch_size",
            fit(BalancedMLP(**TINY | {"batch_size": 1}), sensitive=None),
            "expected an integer, at least 2, found 1",
        ),
        Bad(
            "BalancedMLP",
            "learning_rate",
            fit(BalancedMLP(**TINY, learning_rate=-1), sensitive=None),
            "expected a finite number above 0, found -1",
        ),
        Bad(
            "BalancedMLP",
            "random_state",
            fit(BalancedMLP(**TINY, random_state=-1), sensitive=None),
            "expected an integer, at least 0, found -1",
        ),
        Bad(
            "BalancedMLP",
            "y",
            fit(BalancedMLP(**TINY), y=BAD_LABELS, sensitive=None),
            "expected two classes, found 3: 0, 1, 2",
        ),
        Bad(
            "BalancedMLP",
            "fit",
            lambda: BalancedMLP().predict(TABLE),
            "ted yet. Call 'fit' with appropriate arguments before using this",
            NotFittedError,
        ),
        Bad(
            "ProjectedMLP",
            "n_hidden",
            fit(ProjectedMLP(**TINY | {"n_hidden": 2.5}), sensitive=SEX.to_frame()),
            "expected a positive integer, found 2.5",
        ),
        Bad(
            "ProjectedMLP",
            "sensitive_features",
            fit(ProjectedMLP(**TINY), sensitive=SEX.to_frame() + 1),
            "expected 0 and 1, both present",
        ),
        Bad(
            "ProjectedMLP",
            "sensitive_features",
            fit(ProjectedMLP(**TINY), sensitive=SEX),
            "expected shape (n_rows, n_features), found (8,)",
        ),
        Bad(
            "SenSR",
            "solver",
            fit(SenSR(**TINY, solver="lbfgs"), sensitive=SEX.to_frame()),
            "expected one of converged, published, liblinear, found 'lbfgs'",
        ),
        Bad(
            "SenSR",
            "subspace_steps",
            fit(SenSR(**TINY, subspace_steps=-1), sensitive=SEX.to_frame()),
            "expected an integer, at least 0, found -1",
        ),
        Bad(
            "SenSR",
            "full_rate",
            fit(SenSR(**TINY, full_rate="fast"), sensitive=SEX.to_frame()),
            "expected a finite number above 0, found 'fast'",
        ),
        Bad(
            "SenSR",
            "penalty",
            fit(SenSR(**TINY, penalty=np.nan), sensitive=SEX.to_frame()),
            "expected a finite number above 0, found nan",
        ),
        Bad("SenSR", "sensitive_features", fit(SenSR(**TINY), sensitive=SEX[:5].to_frame()), "has 5 rows, X has 8"),
        Bad(
            "EqualizedOddsMixture", "eps", fit(EqualizedOddsMixture(eps=0)), "expected a finite number above 0, found 0"
        ),
        Bad(
            "EqualizedOddsMixture",
            "max_iter",
            fit(EqualizedOddsMixture(max_iter=-1)),
            "expected a positive integer, found -1",
        ),
        Bad(
            "EqualizedOddsMixture",
            "difference_bound",
            fit(EqualizedOddsMixture(difference_bound=-1)),
            "expected a finite number of at least 0, found -1",
        ),
        Bad(
            "EqualizedOddsMixture",
            "sensitive_features",
            fit(EqualizedOddsMixture(), sensitive=SEX[:5]),
            "expected 8 rows, none missing, found 5 rows",
        ),
        Bad(
            "EqualizedOddsMixture",
            "sensitive_features",
            fit(EqualizedOddsMixture(), sensitive=HALF),
            "expected 8 rows, none missing, found 4 missing values",
        ),
    ]
}
