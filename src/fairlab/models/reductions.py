"""Reductions: a mixture of logistic models under equalized odds (Agarwal et al. 2018), by fairlearn."""

import warnings

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from fairlab.checks import check_count, check_number, optional
from fairlab.models.classifiers import LearnedClassifier, SoftVote, Votes

reductions = optional("fairlearn.reductions")


class EqualizedOddsMixture(LearnedClassifier):
    """Exponentiated gradient over logistic models, used as a soft vote so that it has a gradient.

    Parameters
    ----------
    eps : float
        Bound of the multipliers is 1/eps.
    difference_bound : float or None
        Violation of equalized odds that is allowed. None: `eps`, as one number stood for both in the fairlearn of
        the paper's time.
    max_iter : int
        Iterations of the exponentiated gradient.
    class_weight : {"balanced", None}
        Of the logistic models.
    from_logits : bool
        How the loss is taken when the model is attacked; see `WhiteBoxClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_models, n_features)
    intercept_, weight_ : ndarray of shape (n_models,)
        Of the logistic models with a vote.
    n_iter_ : int
        Iterations of the exponentiated gradient.
    mixture_ : SoftVote
        Their mixture.
    classes_ : ndarray of shape (2,)

    References
    ----------
    Agarwal, Beygelzimer, Dudik, Langford, Wallach. A Reductions Approach to Fair Classification. ICML 2018.

    Examples
    --------
    >>> from fairlab.models import EqualizedOddsMixture
    >>> rng = np.random.default_rng(0)
    >>> X, sex = rng.normal(size=(80, 2)), np.tile([0, 1], 40)
    >>> model = EqualizedOddsMixture(max_iter=3).fit(X, X[:, 0] > 0, sensitive_features=sex)
    >>> model.predict(X).shape
    (80,)
    """

    def __init__(self, *, eps=0.03, difference_bound=None, max_iter=50, class_weight="balanced", from_logits=True):
        self.eps = eps
        self.difference_bound = difference_bound
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.from_logits = from_logits

    def fit(self, X, y, *, sensitive_features) -> "EqualizedOddsMixture":
        """Train.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Labels of two classes.
        sensitive_features : DataFrame or array of shape (n_rows, n_attributes)
            The groups are all combinations of their values.
        """
        check_number(self.eps, "eps", above=0)
        check_count(self.max_iter, "max_iter")
        if self.difference_bound is not None:
            check_number(self.difference_bound, "difference_bound", least=0)
        features, labels = self._training_data(X, y)
        groups = np.asarray(sensitive_features)
        if len(groups) != len(features) or (missing := pd.isna(groups)).any():
            found = f"{len(groups)} rows" if len(groups) != len(features) else f"{missing.sum()} missing values"
            raise ValueError(f"sensitive_features: expected {len(features)} rows, none missing, found {found}")
        groups = np.unique(groups, axis=0, return_inverse=True)[1]
        bound = self.eps if self.difference_bound is None else self.difference_bound
        learner = reductions.ExponentiatedGradient(
            LogisticRegression(solver="liblinear", class_weight=self.class_weight),
            reductions.EqualizedOdds(difference_bound=bound),
            eps=self.eps,
            max_iter=self.max_iter,
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="fairlearn")  # it warns of its own use of pandas
            learner.fit(features.astype(float), labels, sensitive_features=groups)
        self.n_iter_ = int(learner.last_iter_) + 1
        weight = learner.weights_.to_numpy()
        models = [learner.predictors_[k] for k in learner.weights_.index]
        voting = weight > 0  # the linear program leaves rounding errors
        self.coef_ = np.vstack([model.coef_ for model in models])[voting]
        self.intercept_ = np.concatenate([model.intercept_ for model in models])[voting]
        self.weight_ = (weight / np.maximum(weight, 0).sum())[voting]
        return self

    @property
    def mixture_(self) -> SoftVote:
        """The mixture of the logistic models."""
        check_is_fitted(self)
        return SoftVote(self.coef_, self.intercept_, self.weight_)

    def log_odds(self, X):
        """Return the log odds of the mixture, shape (..., n_points)."""
        return self.mixture_.log_odds(X)

    @property
    def units(self) -> Votes:
        """The logistic models and their weights."""
        return self.mixture_.units
