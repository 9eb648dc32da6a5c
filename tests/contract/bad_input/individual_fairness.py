"""Bad input of the inference for individual fairness: attack, tests, audit."""

import numpy as np
import pandas as pd
from contract.bad_input.rows import OTHER, TABLE, TEXTS, Bad, Y, at_40, lacking

from fairlab.fair_metric import FairMetric
from fairlab.individual_fairness import (
    Attack,
    Audit,
    RatioTest,
    audit,
    error_rate_ratio_test,
    gradient_flow_attack,
    loss_ratio_test,
)
from fairlab.models import LinearClassifier

LINE = LinearClassifier([0.1, -0.1], 0.0)
METRIC = FairMetric.from_directions([[1.0, 0.0]])
WIDE = FairMetric.from_directions([[1.0, 0.0, 0.0]])
FLOW = {"regularizer": 1.0, "step_size": 0.1, "n_steps": 1}
LABELS = pd.Series(Y, index=TABLE.index + 10)
LOSS = np.arange(1.0, 9.0)
INDEXED = pd.Series(LOSS)
WRONG = np.array([True, False] * 4)


class Doubtful(LinearClassifier):
    """Answers with probabilities where labels are expected."""

    def predict(self, X):
        return np.full(np.shape(X)[:-1], 0.5)


def attack(model=LINE, metric=METRIC, X=TABLE, y=Y, **options):
    return lambda: gradient_flow_attack(model, metric, X, y, **FLOW | options)


def audited(model=LINE, metric=METRIC, X=TABLE, y=Y, **options):
    return lambda: audit(model, metric, X, y, **FLOW | options)


ROWS = {
    "individual_fairness": [
        Bad(
            "gradient_flow_attack",
            "model",
            attack(model=at_40),
            "expected an object with loss, loss_gradient, predict, found one",
            TypeError,
        ),
        Bad(
            "gradient_flow_attack",
            "model",
            attack(model=METRIC),
            "expected an object with loss, loss_gradient, predict, found one",
            TypeError,
        ),
        Bad(
            "gradient_flow_attack",
            "predict",
            attack(model=Doubtful([0.1, -0.1], 0.0)),
            "expected labels 0 and 1, no probabilities or other labels",
        ),
        Bad(
            "gradient_flow_attack",
            "metric",
            attack(metric=3),
            "expected an object with squared_distance, gradient, found one without",
            TypeError,
        ),
        Bad("gradient_flow_attack", "metric", attack(metric=WIDE), "is over 3 features, X has 2"),
        Bad("gradient_flow_attack", "X", attack(X=TEXTS), "expected numbers"),
        Bad("gradient_flow_attack", "X", attack(X=TABLE.assign(income=np.inf)), "column 'income' holds inf in row 0"),
        Bad("gradient_flow_attack", "X", attack(X=np.ones((2, 8, 2)) * np.nan), "32 values are missing or infinite"),
        Bad("gradient_flow_attack", "y", attack(y=Y[:3]), "expected one label for each of 8 points, found shape (3,)"),
        Bad("gradient_flow_attack", "y", attack(y=Y + 1), "expected labels 0 and 1, found 2"),
        Bad("gradient_flow_attack", "y", attack(y=LABELS), "expected the same index"),
        Bad(
            "gradient_flow_attack",
            "regularizer",
            attack(regularizer=-1),
            "expected a finite number of at least 0",
        ),
        Bad(
            "gradient_flow_attack",
            "regularizer",
            attack(regularizer="strong"),
            "expected a finite number of at least 0",
        ),
        Bad("gradient_flow_attack", "step_size", attack(step_size=0), "expected a finite number above 0, found 0"),
        Bad(
            "gradient_flow_attack",
            "step_size",
            attack(step_size="small"),
            "expected a finite number above 0",
        ),
        Bad("gradient_flow_attack", "n_steps", attack(n_steps=0.5), "expected a positive integer, found 0.5"),
        Bad("gradient_flow_attack", "n_steps", attack(n_steps=0), "expected a positive integer, found 0"),
        Bad(
            "gradient_flow_attack",
            "schedule",
            attack(schedule="slow"),
            "expected one of constant, decaying, found 'slow'",
        ),
        Bad("gradient_flow_attack", "dtype", attack(dtype="int8"), "expected one of float32, float64, found 'int8'"),
        Bad(
            "gradient_flow_attack",
            "variant",
            attack(variant="printed"),
            "expected one of sound, published, found 'printed'",
        ),
        Bad("audit", "max_loss_ratio", audited(max_loss_ratio=-1), "expected a finite number above 0, found -1"),
        Bad("audit", "max_loss_ratio", audited(max_loss_ratio="fair"), "expected a finite number above 0"),
        Bad("audit", "alpha", audited(alpha=5), "expected a number between 0 and 1, found 5"),
        Bad("audit", "y", audited(y=LABELS), "expected the same index"),
        Bad("audit", "X", audited(X=OTHER.iloc[:0], y=[]), "expected at least 1"),
        Bad(
            "audit",
            "variant",
            audited(variant="printed"),
            "expected one of sound, published, found 'printed'",
        ),
        Bad("loss_ratio_test", "loss", lambda: loss_ratio_test(-LOSS, LOSS), "expected zero or more, found -1.0"),
        Bad("loss_ratio_test", "loss", lambda: loss_ratio_test(LOSS * np.nan, LOSS), "8 of 8 are not a number"),
        Bad("loss_ratio_test", "loss", lambda: loss_ratio_test(["a", "b"], [1, 2]), "expected numbers, found"),
        Bad(
            "loss_ratio_test",
            "loss",
            lambda: loss_ratio_test(LOSS[:1], LOSS[:1]),
            "expected the same, with 2 points or more",
        ),
        Bad(
            "loss_ratio_test",
            "attacked_loss",
            lambda: loss_ratio_test(LOSS, LOSS[:3]),
            "expected the same, with 2 points or more",
        ),
        Bad(
            "loss_ratio_test",
            "attacked_loss",
            lambda: loss_ratio_test(INDEXED, INDEXED.set_axis(range(10, 18))),
            "expected the same index",
        ),
        Bad(
            "loss_ratio_test",
            "max_loss_ratio",
            lambda: loss_ratio_test(LOSS, LOSS, max_loss_ratio=np.nan),
            "expected a finite number above 0, found nan",
        ),
        Bad(
            "loss_ratio_test",
            "alpha",
            lambda: loss_ratio_test(LOSS, LOSS, alpha=95),
            "expected a number between 0 and 1, found 95",
        ),
        Bad(
            "loss_ratio_test",
            "variant",
            lambda: loss_ratio_test(LOSS, LOSS, variant="printed"),
            "expected one of sound, published, found 'printed'",
        ),
        Bad(
            "error_rate_ratio_test", "wrong", lambda: error_rate_ratio_test(LOSS, WRONG), "expected 0 and 1, found 2.0"
        ),
        Bad(
            "error_rate_ratio_test",
            "attacked_wrong",
            lambda: error_rate_ratio_test(WRONG, WRONG[:3]),
            "expected the same, with 2 points or more",
        ),
        Bad(
            "error_rate_ratio_test",
            "max_loss_ratio",
            lambda: error_rate_ratio_test(WRONG, WRONG, max_loss_ratio=0),
            "expected a finite number above 0, found 0",
        ),
        Bad(
            "error_rate_ratio_test",
            "alpha",
            lambda: error_rate_ratio_test(WRONG, WRONG, alpha="low"),
            "expected a number between 0 and 1, found 'low'",
        ),
        lacking(Attack, "X"),
        lacking(Audit, "attack"),
        lacking(RatioTest, "statistic"),
    ]
}
