"""Baseline of "Statistical inference for individual fairness": a small network trained on balanced batches."""

from functools import lru_cache

import numpy as np

from fairlab.checks import optional
from fairlab.models.network import NetworkClassifier
from fairlab.networks import adam, adam_start, mean_loss_gradient

tf = optional("tensorflow")


class BalancedMLP(NetworkClassifier):
    """Network with one hidden layer, trained by Adam on batches with as many negatives as positives (Appendix F.3).

    Training takes numba; without it, TensorFlow comes to the same up to rounding.

    Parameters
    ----------
    n_hidden : int
    learning_rate : float
        Of Adam.
    n_steps : int
        Batches to train on.
    batch_size : int
        Half negatives, half positives, drawn with replacement.
    from_logits : bool
        How the loss is taken when the model is attacked; see `WhiteBoxClassifier`.
    random_state : int
        Of the initial weights and the batches.

    Attributes
    ----------
    network_ : tuple of ndarray
        Weights and biases; see `fairlab.models.network.NetworkClassifier`.
    classes_ : ndarray of shape (2,)

    Examples
    --------
    >>> from fairlab.models import BalancedMLP
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> model = BalancedMLP(n_hidden=4, n_steps=20, batch_size=10).fit(X, X[:, 0] > 0)
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
        from_logits=True,
        random_state=0,
    ):
        self.n_hidden = n_hidden
        self.learning_rate = learning_rate
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.from_logits = from_logits
        self.random_state = random_state

    def fit(self, X, y) -> "BalancedMLP":
        """Train.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Labels of two classes.
        """
        return self._train(*self._start(X, y))

    def _train(self, features, labels, network, batches):
        from fairlab.models import mlp_training  # only to train: it loads what it compiles with
        from fairlab.models.loops import IS_COMPILED

        train = mlp_training.train if IS_COMPILED else _compiled_training()
        return self._keep(train(features, labels, batches, network, np.float32(self.learning_rate)))


@lru_cache
def _compiled_training():
    """Return the training loop, compiled once for each shape of data."""

    @tf.function(jit_compile=True)
    def train(X, y, batches, network, learning_rate):
        def step(k, network, state):
            rows = batches[k]
            gradients = mean_loss_gradient(network, tf.gather(X, rows), tf.gather(y, rows))
            return k + 1, *adam(network, gradients, state, learning_rate)

        network = tuple(tf.convert_to_tensor(layer) for layer in network)
        return tf.while_loop(lambda k, *_: k < batches.shape[0], step, (0, network, adam_start(network)))[1]

    return train
