"""Bad input of models that can be attacked, and of programs."""

import numpy as np
from contract.bad_input.rows import Bad, network

from fairlab.models import (
    CommandSoftware,
    KerasClassifier,
    LinearClassifier,
    WhiteBoxClassifier,
)

LINE = LinearClassifier([1.0, -1.0], 0.0)


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
            "expected numbers, found <U1",
        ),
        Bad(
            "LinearClassifier",
            "coef",
            lambda: LinearClassifier([np.nan, 1.0], 0.0),
            "1 values are missing or infinite",
        ),
        Bad(
            "LinearClassifier",
            "intercept",
            lambda: LinearClassifier([1.0, 2.0], np.inf),
            "1 values are missing or infinite",
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
            "expected a number above 0, found -1",
        ),
        Bad(
            "CommandSoftware",
            "n_jobs",
            lambda: CommandSoftware(["true"], n_jobs=0),
            "expected a positive integer, found 0",
        ),
    ]
}
