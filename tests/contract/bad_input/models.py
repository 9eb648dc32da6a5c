"""Bad input of the other models, and of the protocol by which any comes in."""

import numpy as np
import pandas as pd
from contract.bad_input.rows import NAN, SEX, TABLE, TEXTS, Bad, Y
from sklearn.exceptions import NotFittedError

from fairlab.models import (
    BoundedCovarianceLogistic,
    CommandSoftware,
    EqualRatesLogistic,
    LeastSquaresClassifier,
    MultiwayTree,
    NearbySVC,
    as_classifier,
    as_network,
    balancing_weights,
    is_keras,
    massage,
)

HALF = SEX.replace(0, np.nan)
CODES = pd.DataFrame({"a": [0, 1, 0, 1, 2, 2, 0, 1], "b": [0, 0, 1, 1, 0, 1, 0, 1]})
TREE = MultiwayTree().fit(CODES, Y)
SVC = NearbySVC().fit(TABLE, Y)
LEAST = LeastSquaresClassifier().fit(TABLE, Y)
BAD_LABELS = [0, 1, 2, 0, 1, 2, 0, 1]


def fit(model, X=TABLE, y=Y, sensitive=SEX, **options):
    if sensitive is not None:
        options["sensitive_features"] = sensitive
    return lambda: model.fit(X, y, **options)


ROWS = {
    "models": [
        Bad(
            "BoundedCovarianceLogistic",
            "covariance_bound",
            fit(BoundedCovarianceLogistic(-1)),
            "expected a number of at least 0, found -1",
        ),
        Bad(
            "BoundedCovarianceLogistic",
            "covariance_bound",
            fit(BoundedCovarianceLogistic("tight")),
            "expected a number of at least 0, found 'tight'",
        ),
        Bad(
            "BoundedCovarianceLogistic",
            "max_iter",
            fit(BoundedCovarianceLogistic(max_iter=0)),
            "expected a positive integer, found 0",
        ),
        Bad("BoundedCovarianceLogistic", "age", fit(BoundedCovarianceLogistic(), TEXTS), "expected numbers"),
        Bad(
            "BoundedCovarianceLogistic",
            "y",
            fit(BoundedCovarianceLogistic(), y=BAD_LABELS),
            "expected two classes, found 3: 0, 1, 2",
        ),
        Bad(
            "BoundedCovarianceLogistic",
            "sensitive_features",
            fit(BoundedCovarianceLogistic(), sensitive=SEX[:5]),
            "has 5 rows, X has 8",
        ),
        Bad(
            "EqualRatesLogistic",
            "covariance_bound",
            fit(EqualRatesLogistic(-1)),
            "expected a number of at least 0, found -1",
        ),
        Bad(
            "EqualRatesLogistic",
            "covariance_bound",
            fit(EqualRatesLogistic("tight")),
            "expected a number of at least 0, found 'tight'",
        ),
        Bad(
            "EqualRatesLogistic",
            "max_iter",
            fit(EqualRatesLogistic(max_iter=0)),
            "expected a positive integer, found 0",
        ),
        Bad("EqualRatesLogistic", "tol", fit(EqualRatesLogistic(tol=-1)), "expected a finite number above 0, found -1"),
        Bad("EqualRatesLogistic", "age", fit(EqualRatesLogistic(), NAN), "holds nan in row 6"),
        Bad(
            "EqualRatesLogistic",
            "sensitive_features",
            fit(EqualRatesLogistic(), sensitive=SEX * 0),
            "expected two values, found 1: 0",
        ),
        Bad(
            "EqualRatesLogistic",
            "sensitive_features",
            fit(EqualRatesLogistic(), sensitive=HALF),
            "4 values are missing",
        ),
        Bad(
            "EqualRatesLogistic",
            "sensitive_features",
            fit(EqualRatesLogistic(), sensitive=TABLE),
            "expected one column, found shape (8, 2)",
        ),
        Bad("EqualRatesLogistic", "y", fit(EqualRatesLogistic(), y=Y[:5]), "has 5 rows, X has 8"),
        Bad("EqualRatesLogistic", "y", fit(EqualRatesLogistic(), y=np.zeros(8, int)), "expected both classes"),
        Bad(
            "LeastSquaresClassifier",
            "threshold",
            fit(LeastSquaresClassifier("half"), sensitive=None),
            "expected a finite number, found 'half'",
        ),
        Bad(
            "LeastSquaresClassifier",
            "threshold",
            fit(LeastSquaresClassifier(np.nan), sensitive=None),
            "expected a finite number, found nan",
        ),
        Bad("LeastSquaresClassifier", "age", fit(LeastSquaresClassifier(), TEXTS, sensitive=None), "expected numbers"),
        Bad(
            "LeastSquaresClassifier",
            "income",
            lambda: LEAST.predict(TABLE[["age"]]),
            "ature names should match those that were passed during fit.",
        ),
        Bad(
            "LeastSquaresClassifier",
            "LeastSquaresClassifier",
            lambda: LeastSquaresClassifier().predict(TABLE),
            "instance is not fitted yet. Call 'fit' with appropriate arguments",
            NotFittedError,
        ),
        Bad(
            "MultiwayTree",
            "X",
            fit(MultiwayTree(), CODES - 1, sensitive=None),
            "expected codes, whole numbers from 0 on",
        ),
        Bad(
            "MultiwayTree",
            "X",
            fit(MultiwayTree(), CODES + 0.5, sensitive=None),
            "expected codes, whole numbers from 0 on",
        ),
        Bad(
            "MultiwayTree",
            "purity",
            fit(MultiwayTree(purity=("c",)), CODES, sensitive=None),
            "and discount: c is no column",
        ),
        Bad(
            "MultiwayTree",
            "purity",
            fit(MultiwayTree(purity=3), CODES, sensitive=None),
            "expected a tuple of columns, found 3",
        ),
        Bad("MultiwayTree", "discount", fit(MultiwayTree(discount="c"), CODES, sensitive=None), "c is no column"),
        Bad(
            "MultiwayTree",
            "y",
            fit(MultiwayTree(), CODES, y=BAD_LABELS, sensitive=None),
            "expected two classes, found 3: 0, 1, 2",
        ),
        Bad(
            "MultiwayTree",
            "b",
            lambda: TREE.predict(CODES[["a"]]),
            "he feature names should match those that were passed during fit.",
        ),
        Bad(
            "NearbySVC",
            "C",
            fit(NearbySVC(-1), sensitive=None),
            "parameter of SVC must be a float in the range (0.0, inf]. Got -1",
        ),
        Bad(
            "NearbySVC",
            "gamma",
            fit(NearbySVC(gamma="small"), sensitive=None),
            "parameter of SVC must be a str among",
        ),
        Bad("NearbySVC", "y", fit(NearbySVC(), y=None, sensitive=None), "to be passed, but the target y is None"),
        Bad("NearbySVC", "age", lambda: SVC.predict(NAN), "holds nan in row 6"),
        Bad("CommandSoftware", "command", lambda: CommandSoftware([]), "expected a list of texts, found []"),
        Bad(
            "CommandSoftware",
            "command",
            lambda: CommandSoftware("python decide.py"),
            "expected a list such as ['python', 'decide.py'], found the text",
        ),
        Bad(
            "CommandSoftware",
            "timeout",
            lambda: CommandSoftware(["true"], timeout=-1),
            "expected a positive number of seconds, found -1",
        ),
        Bad(
            "CommandSoftware",
            "n_jobs",
            lambda: CommandSoftware(["true"], n_jobs=0),
            "expected a positive integer, found 0",
        ),
        Bad(
            "as_classifier",
            "model",
            lambda: as_classifier(3),
            "expected a function or an object with .predict, found int",
            TypeError,
        ),
        Bad("as_classifier", "model", lambda: as_classifier(lambda X: 1)(TABLE), "expected one class per row"),
        Bad("as_classifier", "model", lambda: as_classifier(lambda X: [1])(TABLE), "expected one class per row"),
        Bad(
            "as_network",
            "model",
            lambda: as_network(LEAST),
            "expected a Keras model, whose gradients can be had, found",
            TypeError,
        ),
        Bad(
            "as_network",
            "model",
            lambda: as_network(None),
            "expected a Keras model, whose gradients can be had, found NoneType",
            TypeError,
        ),
        Bad("is_keras", "model", lambda: is_keras(), "is_keras() missing 1 required positional", TypeError),
        Bad("massage", "y", lambda: massage(Y, SEX, Y[:5]), "expected one length, found shapes (8,), (8,) and (5,)"),
        Bad("massage", "disadvantaged", lambda: massage(Y, SEX * 0, Y), "expected two groups, found one"),
        Bad(
            "massage",
            "n_promoted",
            lambda: massage(Y, SEX, Y, n_promoted=99, n_demoted=1),
            "expected at most 2 and 2, found 99 and 1",
        ),
        Bad(
            "massage",
            "n_promoted",
            lambda: massage(Y, SEX, Y, n_promoted=-1, n_demoted=1),
            "expected an integer, at least 0, found -1",
        ),
        Bad(
            "massage", "n_demoted", lambda: massage(Y, SEX, Y, n_promoted=1), "expected both or none, found 1 and None"
        ),
        Bad("massage", "y", lambda: massage(Y + 1, SEX, Y), "expected labels 0 and 1, found np.int64(2)"),
        Bad(
            "massage",
            "scores",
            lambda: massage(Y, SEX, np.full(8, np.nan)),
            "expected finite numbers, found float64 with what is none",
        ),
        Bad(
            "balancing_weights",
            "y",
            lambda: balancing_weights(Y, SEX[:5]),
            "expected one length, found shapes (8,) and (5,)",
        ),
        Bad(
            "balancing_weights",
            "y",
            lambda: balancing_weights([], []),
            "expected one length, found shapes (0,) and (0,)",
        ),
        Bad("balancing_weights", "sensitive_features", lambda: balancing_weights(Y, HALF), "expected none"),
        Bad(
            "balancing_weights",
            "sensitive_features",
            lambda: balancing_weights(Y, TABLE),
            "expected one length, found shapes (8,) and (8, 2)",
        ),
    ]
}
