"""Project: a network that cannot see the sensitive subspace (Appendix F.3)."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fairlab.fair_metric import FairMetric
from fairlab.models.mlp import BalancedMLP


class ProjectedMLP(BalancedMLP):
    """`BalancedMLP` after a fixed layer that projects the sensitive subspace, learned from the training data, out.

    Parameters
    ----------
    n_hidden, learning_rate, n_steps, batch_size, from_logits, random_state
        As for `BalancedMLP`.
    solver, scaled, confidence
        Of the regressions that find the subspace; see `fairlab.fair_metric.sensitive_directions`. With `scaled`, what
        is projected out does not depend on the units of the features.

    Attributes
    ----------
    projection_ : ndarray of shape (n_features, n_features)
        Of the metric learned from the training data, in units of `scale_`.
    scale_ : ndarray of shape (n_features,) or None
        Of that metric.
    metric_ : FairMetric
        That metric.
    network_ : tuple of ndarray
        With the projection multiplied into the hidden weights.

    Examples
    --------
    >>> from fairlab.models import ProjectedMLP
    >>> rng = np.random.default_rng(0)
    >>> X, sex = rng.normal(size=(60, 2)), np.tile([[0], [1]], (30, 1))
    >>> model = ProjectedMLP(n_hidden=4, n_steps=20, batch_size=10).fit(X, X[:, 0] > 0, sensitive_features=sex)
    >>> model.predict(X).shape
    (60,)
    """

    def __init__(
        self,
        *,
        n_hidden=50,
        learning_rate=1e-4,
        n_steps=8000,
        batch_size=250,
        solver="converged",
        scaled=True,
        confidence=0.95,
        from_logits=True,
        random_state=0,
    ):
        super().__init__(
            n_hidden=n_hidden,
            learning_rate=learning_rate,
            n_steps=n_steps,
            batch_size=batch_size,
            from_logits=from_logits,
            random_state=random_state,
        )
        self.solver = solver
        self.scaled = scaled
        self.confidence = confidence

    def fit(self, X, y, *, sensitive_features) -> "ProjectedMLP":
        """Learn the subspace, then train.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Labels of two classes.
        sensitive_features : DataFrame or array of shape (n_rows, n_attributes)
            Zeros and ones; see `fairlab.fair_metric.sensitive_directions`.
        """
        features, *start = self._start(X, y)
        metric = FairMetric.learned(
            X, sensitive_features, solver=self.solver, scaled=self.scaled, confidence=self.confidence
        )
        self.projection_, self.scale_ = metric.projection, metric.scale
        unit = 1.0 if metric.scale is None else metric.scale
        projection = (self.projection_ / np.reshape(unit, (-1, 1)) * unit).astype(np.float32)
        self._train(features @ projection, *start)
        hidden, *others = self.network_
        self.network_ = (projection @ hidden, *others)
        return self

    @property
    def metric_(self) -> FairMetric:
        """The metric learned from the training data."""
        check_is_fitted(self)
        return FairMetric(self.projection_, self.scale_)
