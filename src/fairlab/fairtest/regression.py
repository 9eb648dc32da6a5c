"""The regression metric (section 4.2), which finds the labels that go with a binary protected attribute."""

import numpy as np
from scipy.linalg import pinvh
from scipy.special import ndtri
from sklearn.linear_model import LogisticRegression

from fairlab.fairtest.arguments import check_whole
from fairlab.fairtest.metric import Hypothesis, Interval, Metric, require_categorical
from fairlab.fairtest.sample import Sample
from fairlab.fairtest.tables import Difference


class Regression(Metric):
    """Logistic regression of a binary protected attribute on many labels, each with two values.

    It is for finding contexts and labels in training; a test compares each of the labels found by `label_metric`.

    Parameters
    ----------
    top_k : int
        How many labels to keep in each context; the association is the mean of their effects.
    label_metric : Metric
        Of one label in the test.

    Notes
    -----
    Penalised by C = 1 with liblinear, intercept included. The standard error of a coefficient is
    ``sqrt(MSE * diag(pinv(X'X)))`` with the share of misclassified people as MSE and no intercept in X.

    Examples
    --------
    >>> from fairlab.fairtest import Regression
    >>> Regression(top_k=5).top_k
    5
    """

    name = "REG"

    def __init__(self, *, top_k: int = 35, label_metric: Metric | None = None):
        check_whole("top_k", top_k, least=1)
        if label_metric is not None and not isinstance(label_metric, Metric):
            raise TypeError(f"metric: expected a Metric such as Difference(), found {label_metric!r}")
        self.top_k = top_k
        self.label_metric = label_metric or Difference()

    def check(self, sample: Sample) -> None:
        """Raise a ValueError unless the protected attribute and all labels have two categories."""
        for column in (sample.protected, *sample.output):
            require_categorical(column, self.name, binary=True)

    def approximate(self, sample: Sample, *, conf: float) -> Interval:
        """Return one interval for each label's coefficient; there are no p-values."""
        labels = np.column_stack([column.values for column in sample.output]).astype(float)
        nothing = np.zeros(labels.shape[1])
        if np.ptp(sample.protected.values) == 0:
            return Interval(nothing, nothing, np.ones_like(nothing))
        model = LogisticRegression(solver="liblinear").fit(labels, sample.protected.values)
        error_share = (model.predict(labels) != sample.protected.values).mean()
        with np.errstate(invalid="ignore"):
            error = np.sqrt(error_share * np.diag(pinvh(labels.T @ labels)))
        margin = ndtri((1 + conf) / 2) * error
        [coefficient] = model.coef_
        return Interval(
            np.nan_to_num(coefficient - margin), np.nan_to_num(coefficient + margin), np.ones_like(coefficient)
        )

    def effect(self, interval: Interval):
        """Return the mean effect of the `top_k` strongest labels."""
        effects = super().effect(interval)
        return np.sort(effects)[-self.top_k :].mean()

    def labels(self, sample: Sample, *, conf: float) -> tuple[str, ...]:
        """Return the names of the `top_k` labels with the largest effects, in that order."""
        effects = super().effect(self.approximate(sample, conf=conf))
        return tuple(sample.output[i].name for i in np.argsort(-effects, kind="stable")[: self.top_k])

    def hypotheses(self, sample: Sample, labels: tuple[str, ...]) -> list[Hypothesis]:
        """Return one hypothesis for each label found in training."""
        outputs = {column.name: column for column in sample.output}
        return [Hypothesis(name, self.label_metric, Sample(sample.protected, outputs[name])) for name in labels]
