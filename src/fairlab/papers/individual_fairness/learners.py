"""The classifiers that the paper compares: their settings, training and stored form (sections 4.2, F.3 and G)."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp
from sklearn.linear_model import LogisticRegression

from fairlab.checks import optional
from fairlab.data import Dataset
from fairlab.fair_metric import FairMetric, sensitive_directions
from fairlab.networks import initial_network, layer_inputs
from fairlab.papers.individual_fairness.splits import DIVIDE, SEEDS
from fairlab.papers.individual_fairness.units import HiddenUnits, OfUnits, Votes
from fairlab.papers.training import Training
from fairlab.suite.seeds import Trial

reductions = optional("fairlearn.reductions")


def stopped_early(X, attribute) -> np.ndarray:
    """Return coefficients by L-BFGS, started at zero and stopped at a gradient of 1e-4 or after 100 iterations.

    scikit-learn did the same before it divided the loss by the number of rows. On Adult, it stops before it converges.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    attribute : ndarray of shape (n_rows,)
        Zeros and ones.
    """
    design = np.column_stack([X, np.ones(len(X))])
    penalised = np.append(np.ones(X.shape[1]), 0.0)
    sign = 2 * attribute - 1

    def objective(weights):
        logit = design @ weights
        loss = np.logaddexp(0, -sign * logit).sum() + 0.5 * (penalised * weights) @ weights
        return loss, design.T @ (expit(logit) - attribute) + penalised * weights

    options = {"maxiter": 100, "gtol": 1e-4}
    result = minimize(objective, np.zeros(design.shape[1]), jac=True, method="L-BFGS-B", options=options)
    return result.x[:-1]


def by_liblinear(X, attribute) -> np.ndarray:
    """Return coefficients by liblinear, which penalises the intercept too.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    attribute : ndarray of shape (n_rows,)
        Zeros and ones.
    """
    return LogisticRegression(solver="liblinear").fit(X, attribute).coef_[0]


SOLVERS = {"published": stopped_early, "converged": None, "liblinear": by_liblinear}  # of `sensitive_directions`
PUBLISHED_METRIC = {"solver": stopped_early, "scaled": False, "confidence_level": None}  # behind the published numbers


class Learner(OfUnits):
    """White box for labels 0 and 1 whose fitted attributes end with an underscore."""

    def fitted(self) -> dict:
        """Return the fitted attributes as plain data."""
        return {name: value for name, value in vars(self).items() if name.endswith("_")}

    def with_fitted(self, learned: dict) -> "Learner":
        """Set the fitted attributes that `fitted` returned for another learner."""
        vars(self).update(learned)
        return self


@dataclass(kw_only=True, eq=False)
class BalancedMLP(Learner):
    """Network with one hidden layer, trained by Adam on batches with as many negatives as positives."""

    n_hidden: int = 50
    learning_rate: float = 1e-4
    n_steps: int = 8000
    batch_size: int = 250
    rounded_loss: bool = False
    random_state: int = 0

    def fit(self, X, y) -> "BalancedMLP":
        """Train."""
        features, *start = self._start(X, y)
        return self._train(features, *start)

    def log_odds(self, X):
        """Return the log odds of label 1, shape (..., n_points)."""
        network = [part.astype(X.dtype) for part in self.network_]
        *_, active = layer_inputs(network, X)
        output, bias = network[-2:]
        return (active @ (output[:, 1:] - output[:, :1]))[..., 0] + bias[1] - bias[0]

    @property
    def units(self) -> HiddenUnits:
        """The hidden layer."""
        kernel, bias, output, output_bias = self.network_
        return HiddenUnits(kernel, bias, output[:, 1] - output[:, 0], float(output_bias[1] - output_bias[0]))

    def _start(self, X, y, *, bias: float = 0.0):
        """Return features, labels, the initial network and the rows of each batch, drawn from one generator."""
        features, labels = np.asarray(X, dtype=np.float32), np.asarray(y).astype(np.int32)
        rng = np.random.default_rng(self.random_state)
        network = initial_network(rng, (features.shape[1], self.n_hidden, 2), bias=bias)
        return features, labels, network, balanced_batches(rng, labels, self.n_steps, self.batch_size)

    def _train(self, features, labels, network, batches):
        training, features = Training([network], self.learning_rate), np.ascontiguousarray(features)
        for rows in batches:
            training.learn_from(features, labels, rows[None])
        self.network_ = tuple(training.networks()[0])
        return self


@dataclass(kw_only=True, eq=False)
class ProjectedMLP(BalancedMLP):
    """`BalancedMLP` after a fixed layer that projects out the sensitive subspace learned from the training data."""

    def fit(self, X, y, *, sensitive_features) -> "ProjectedMLP":
        """Learn the subspace, then train."""
        features, *start = self._start(X, y)
        self.projection_ = FairMetric.learned(X, sensitive_features, **PUBLISHED_METRIC).projection
        projection = self.projection_.astype(np.float32)
        self._train(features @ projection, *start)
        hidden, *others = self.network_
        self.network_ = (projection @ hidden, *others)
        return self


@dataclass(kw_only=True, eq=False)
class SenSR(BalancedMLP):
    """Sensitive subspace robustness (Yurochkin et al. 2020): a network trained on attacked batches.

    Each batch is attacked first freely inside the sensitive subspace, then in all directions with a penalty on the fair
    distance. If the first attack lowers its objective, it is undone; if the second does, the network skips the batch.
    Rates are Adam's; `distance_target` is rho, and `penalty` the initial lambda.
    """

    n_hidden: int = 100
    learning_rate: float = 1e-5
    n_steps: int = 20_000
    batch_size: int = 1000
    subspace_steps: int = 10
    subspace_rate: float = 10.0
    full_steps: int = 50
    full_rate: float = 1e-4
    penalty: float = 2.0
    distance_target: float = 1e-3
    solver: str = "converged"

    def fit(self, X, y, *, sensitive_features) -> "SenSR":
        """Learn the sensitive directions, then train."""
        from fairlab.papers.individual_fairness import sensr  # only to train: it loads the compiler

        start = self._start(X, y, bias=0.1)
        options = {"solver": SOLVERS[self.solver], "scaled": False, "confidence_level": None}
        self.directions_ = sensitive_directions(X, sensitive_features, **options)
        network, self.penalty_, self.n_skipped_ = sensr.train(*start, self.directions_, self)
        self.network_ = tuple(network)
        return self


@dataclass(kw_only=True, eq=False)
class EqualizedOddsMixture(Learner):
    """Reductions (Agarwal et al. 2018) over logistic models, used as a soft vote with a gradient.

    `eps` is the allowed violation of equalized odds, and 1/eps bounds the multipliers: in fairlearn at the time of the
    paper, one number set both.
    """

    eps: float = 0.03
    max_iter: int = 50
    class_weight: str | None = "balanced"
    rounded_loss: bool = False

    def fit(self, X, y, *, sensitive_features) -> "EqualizedOddsMixture":
        """Train; the groups are all combinations of the sensitive features."""
        groups = np.unique(np.asarray(sensitive_features), axis=0, return_inverse=True)[1]
        learner = reductions.ExponentiatedGradient(
            LogisticRegression(solver="liblinear", class_weight=self.class_weight),
            reductions.EqualizedOdds(difference_bound=self.eps),
            eps=self.eps,
            max_iter=self.max_iter,
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="fairlearn")  # it warns of its own use of pandas
            features = np.asarray(X, dtype=np.float32).astype(float)
            learner.fit(features, np.asarray(y).astype(np.int32), sensitive_features=groups)
        weight = learner.weights_.to_numpy()
        models = [learner.predictors_[k] for k in learner.weights_.index]
        voting = weight > 0  # the linear program leaves rounding errors
        self.coef_ = np.vstack([model.coef_ for model in models])[voting]
        self.intercept_ = np.concatenate([model.intercept_ for model in models])[voting]
        self.weight_ = (weight / np.maximum(weight, 0).sum())[voting]
        return self

    def log_odds(self, X):
        """Return the log odds of the mixture, p(x) = sum_t weight_t sigmoid(coef_t . x + intercept_t)."""
        kernel, bias, log_weight = (
            part.astype(X.dtype) for part in (self.units.kernel, self.units.bias, np.log(self.units.weight))
        )
        logits = X @ kernel + bias
        one, zero = (logsumexp(log_weight + log_expit(s * logits), axis=-1) for s in (1, -1))
        return one - zero

    @property
    def units(self) -> Votes:
        """The logistic models and their weights."""
        voting = self.weight_ > 0
        return Votes(self.coef_[voting].T, self.intercept_[voting], self.weight_[voting])


def balanced_batches(rng: np.random.Generator, y: np.ndarray, n_batches: int, batch_size: int) -> np.ndarray:
    """Return row numbers drawn with replacement, shape (n_batches, batch_size): half negatives, half positives.

    Parameters
    ----------
    rng : numpy.random.Generator
    y : ndarray of int of shape (n_rows,)
        Zeros and ones, both present.
    n_batches, batch_size : int
    """
    halves = [
        rows[rng.integers(len(rows), size=(n_batches, batch_size // 2))]
        for rows in (np.flatnonzero(y == label) for label in (0, 1))
    ]
    return np.concatenate(halves, axis=1).astype(np.int32)


CLASSES = {"baseline": BalancedMLP, "project": ProjectedMLP, "reduction": EqualizedOddsMixture, "sensr": SenSR}
METHODS = tuple(CLASSES)
LABELS = {"baseline": "Baseline", "project": "Project", "reduction": "Reductions", "sensr": "SenSR"}

# Losses are computed from rounded probabilities, as for the published numbers.
ROUNDED = {"rounded_loss": True}


# Settings of Reductions and SenSR in the studies. On COMPAS, Reductions is not balanced by class, as in the authors'
# code but unlike the text.
SETTINGS = {
    "adult": {"reduction": {"eps": 0.03}, "sensr": {"solver": "liblinear"}},
    "compas": {
        "reduction": {"eps": 0.05, "class_weight": None},
        "sensr": {"solver": "published", "learning_rate": 1e-4, "subspace_rate": 0.1, "full_steps": 8},
    },
}


def methods_of(study: str, seed: int, *, network_steps: int, sensr_steps: int, reductions_iterations: int) -> dict:
    """Return the four untrained classifiers with a study's settings, by method; `seed` is for the networks.

    The paper's sizes: 8,000 steps, 20,000 (Adult) or 16,000 (COMPAS) steps of SenSR, and 50 iterations.

    Parameters
    ----------
    study : {"adult", "compas"}
    seed : int
    network_steps, sensr_steps, reductions_iterations : int
    """
    own = SETTINGS[study]
    return {
        "baseline": BalancedMLP(n_steps=network_steps, random_state=seed, **ROUNDED),
        "project": ProjectedMLP(n_steps=network_steps, random_state=seed, **ROUNDED),
        "reduction": EqualizedOddsMixture(max_iter=reductions_iterations, **own["reduction"], **ROUNDED),
        "sensr": SenSR(n_steps=sensr_steps, random_state=seed, **own["sensr"], **ROUNDED),
    }


def train(trial: Trial, *, study: str, dataset: Dataset, **effort: int) -> dict[str, dict]:
    """Train the four methods on one split; a trial of the notebooks `adult`, `stopping_time` and `compas`.

    Parameters
    ----------
    trial : Trial
        Its index chooses the authors' seeds; its root is added to the seed of the models.
    study : {"adult", "compas"}
    dataset : Dataset
        `adult-individual` or `compas-individual`.
    **effort : int
        ``network_steps``, ``sensr_steps`` and ``reductions_iterations`` of `methods_of`.

    Returns
    -------
    dict of str to dict
        Fitted attributes by method, as `classifiers` takes them.
    """
    data_seed, model_seed = SEEDS[study][trial.index]
    split = DIVIDE[study](dataset, data_seed)
    groups = {"sensitive_features": split.sensitive_train}
    return {
        name: method.fit(split.X_train, split.y_train, **(groups if name != "baseline" else {})).fitted()
        for name, method in methods_of(study, model_seed + trial.root, **effort).items()
    }


def classifiers(learned: Mapping[str, dict], *, rounded_loss: bool = True) -> dict:
    """Return trained classifiers from the fitted attributes that `train` returned.

    Parameters
    ----------
    learned : dict of str to dict
        Fitted attributes by method.
    rounded_loss : bool
        How losses are computed; see `WhiteBoxClassifier`. True for the published numbers.
    """
    return {name: CLASSES[name](rounded_loss=rounded_loss).with_fitted(part) for name, part in learned.items()}
