"""SenSR: a network trained on batches that are attacked along the sensitive subspace (Yurochkin et al. 2020)."""

from fairlab.checks import check_count, check_number
from fairlab.fair_metric import sensitive_directions
from fairlab.models.network import NetworkClassifier
from fairlab.models.sensr_recipe import Recipe


class SenSR(NetworkClassifier):
    """Sensitive subspace robustness: learn to do well on the worst people alike to those in the data.

    Each batch is attacked twice before the network learns from it: first freely inside the sensitive subspace, then
    in all directions with a penalty on the fair distance. Both go by the units of the features, which should be
    standardised: rates, penalty and distance are in these units. An attack that lowers its own objective is undone, or
    makes the network skip the batch.

    Training is many times faster with numba; without it, TensorFlow comes to the same up to rounding.

    Parameters
    ----------
    n_hidden : int
    learning_rate : float
        Of Adam, for the network.
    n_steps : int
        Batches.
    batch_size : int
        Half negatives, half positives, drawn with replacement.
    subspace_steps, subspace_rate
        Adam steps and rate of the attack inside the subspace.
    full_steps, full_rate
        Those of the attack in all directions.
    penalty : float
        lambda at the start; it moves within `fairlab.models.sensr_recipe.PENALTY_RANGE`.
    distance_target : float
        rho.
    solver : {"converged", "published", "liblinear"}
        Of the regressions that find the subspace; see `sensitive_directions`. The paper took liblinear on Adult,
        published on COMPAS.
    from_logits : bool
        How the loss is taken when the model is attacked; see `WhiteBoxClassifier`.
    random_state : int
        Of the initial weights and the batches.

    Attributes
    ----------
    network_ : tuple of ndarray
        Weights and biases; see `fairlab.models.network.NetworkClassifier`.
    directions_ : ndarray of shape (n_directions, n_features)
        Sensitive directions, not normalised.
    penalty_ : float
        lambda at the end.
    n_skipped_ : int
        Batches that the network did not learn from.
    classes_ : ndarray of shape (2,)

    References
    ----------
    Yurochkin, Bower, Sun. Training individually fair ML models with sensitive subspace robustness. ICLR 2020.

    Examples
    --------
    >>> from fairlab.models import SenSR
    >>> SenSR(n_hidden=50, n_steps=2_000).get_params()["n_hidden"]
    50
    """

    def __init__(
        self,
        *,
        n_hidden=100,
        learning_rate=1e-5,
        n_steps=20_000,
        batch_size=1000,
        subspace_steps=10,
        subspace_rate=10.0,
        full_steps=50,
        full_rate=1e-4,
        penalty=2.0,
        distance_target=1e-3,
        solver="converged",
        from_logits=True,
        random_state=0,
    ):
        self.n_hidden = n_hidden
        self.learning_rate = learning_rate
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.subspace_steps = subspace_steps
        self.subspace_rate = subspace_rate
        self.full_steps = full_steps
        self.full_rate = full_rate
        self.penalty = penalty
        self.distance_target = distance_target
        self.solver = solver
        self.from_logits = from_logits
        self.random_state = random_state

    def fit(self, X, y, *, sensitive_features) -> "SenSR":
        """Learn the sensitive directions, then train.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Labels of two classes.
        sensitive_features : DataFrame or array of shape (n_rows, n_attributes)
            Zeros and ones; see `fairlab.fair_metric.sensitive_directions`.
        """
        for name in ("subspace_steps", "full_steps"):
            check_count(getattr(self, name), name, least=0)
        for name in ("subspace_rate", "full_rate", "penalty", "distance_target"):
            check_number(getattr(self, name), name, above=0)
        from fairlab.models import sensr_dense, sensr_training  # only to train: they load what they compile with
        from fairlab.models.loops import IS_COMPILED

        features, labels, network, batches = self._start(X, y, bias=0.1)
        self.directions_ = sensitive_directions(
            X, sensitive_features, solver=self.solver, scaled=False, confidence=None
        )
        recipe = Recipe(
            subspace_steps=self.subspace_steps,
            full_steps=self.full_steps,
            subspace_rate=self.subspace_rate,
            distance_target=self.distance_target,
            full_rate=self.full_rate,
            penalty=self.penalty,
            learning_rate=self.learning_rate,
        )
        training = sensr_training if IS_COMPILED else sensr_dense
        network, self.penalty_, self.n_skipped_ = training.train(
            features, labels, batches, network, self.directions_, recipe
        )
        return self._keep(network)
