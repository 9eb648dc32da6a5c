"""A PyTorch module with batched access to its logits and their gradients."""

import numpy as np

from fairlab.checks import optional

torch = optional("torch")

CHUNK = 1 << 16  # rows that go through the module at once
TINY = 1e-7  # least probability


class TorchNetwork:
    """A PyTorch classifier of rows of numbers, asked as it is in use: without dropout, without keeping gradients.

    Parameters
    ----------
    model : torch.nn.Module
        Returns (n_rows,), (n_rows, 1) or (n_rows, n_classes). The outputs are logits, unless the last layer is a
        sigmoid or a softmax, or they are probabilities whatever goes in.

    Attributes
    ----------
    n_features : int
        From the first linear layer.
    n_classes : int
        One output is two classes.

    Raises
    ------
    ValueError
        If the module has no linear layer to tell the number of features by, or returns something else.
    """

    def __init__(self, model):
        self._model = model
        linear = [layer for layer in model.modules() if isinstance(layer, torch.nn.Linear)]
        if not linear:
            raise ValueError("model: expected a PyTorch module with a linear layer; wrap others in a function")
        self.n_features = linear[0].in_features
        leaves = [layer for layer in model.modules() if not list(layer.children())]
        self._end = leaves[-1]
        self._as = linear[0].weight
        # A sigmoid or softmax inside `forward` is no layer; inputs of all sizes show it.
        sizes = np.repeat([1, 10, 1000], 64)[:, None]
        probe = sizes * np.random.default_rng(0).normal(size=(len(sizes), self.n_features))
        with _InUse(model), torch.no_grad():
            outputs = np.concatenate([self._outputs(part).cpu().numpy() for part in self._chunks(probe)])
        self.n_classes = max(outputs.shape[1], 2)
        within = ((outputs >= 0) & (outputs <= 1)).all()
        self._are_probabilities = within and (outputs.shape[1] == 1 or np.allclose(outputs.sum(axis=1), 1, atol=1e-4))

    @property
    def model(self):
        """The module, whose end and size are known; another module is another network."""
        return self._model

    def logits(self, X) -> np.ndarray:
        """Return logits in float32, shape (n_rows, n_classes); of one output, 0 and its own.

        Raises
        ------
        ValueError
            If one is not a number.
        """
        with _InUse(self._model), torch.no_grad():
            parts = [self._logits(part).cpu().numpy() for part in self._chunks(X)]
        logits = np.concatenate(parts)
        if (bad := np.isnan(logits).any(axis=1)).any():
            raise ValueError(f"model: answers {int(bad.sum())} of {len(bad)} inputs with what is not a number")
        return logits

    def log_odds_gradient(self, X, label: int) -> np.ndarray:
        """Return the input gradient of the log odds of a class, by number, shape (n_rows, n_features).

        Raises
        ------
        ValueError
            If a gradient is not a number.
        """
        parts = []
        with _InUse(self._model):
            for part in self._chunks(X):
                part.requires_grad_(True)
                logits = self._logits(part)
                others = [k for k in range(logits.shape[1]) if k != label]
                odds = logits[:, label] - torch.logsumexp(logits[:, others], dim=1)
                parts.append(torch.autograd.grad(odds.sum(), part)[0].cpu().numpy())
        gradient = np.concatenate(parts)
        if (bad := ~np.isfinite(gradient).all(axis=1)).any():
            raise ValueError(f"model: the gradient of {int(bad.sum())} of {len(bad)} inputs is not a number")
        return gradient

    def _chunks(self, X):
        X = np.asarray(X, dtype=float)
        for start in range(0, max(len(X), 1), CHUNK):
            yield torch.tensor(X[start : start + CHUNK], dtype=self._as.dtype, device=self._as.device)

    def _logits(self, X):
        answer = self._outputs(X)
        if self._are_probabilities:
            answer = torch.logit(answer, eps=TINY) if answer.shape[1] == 1 else torch.log(answer.clamp_min(TINY))
        return torch.cat([torch.zeros_like(answer), answer], dim=1) if answer.shape[1] == 1 else answer

    def _outputs(self, X):
        """Return what the module gives, or what enters a sigmoid or softmax at its end, shape (n_rows, n_outputs)."""
        caught = []
        # What enters the last layer keeps what a sigmoid or softmax would round to 0 or 1.
        hook = self._end.register_forward_pre_hook(lambda _, inputs: caught.append(inputs[0]))
        try:
            answer = self._model(X)
        finally:
            hook.remove()
        one_sided = isinstance(self._end, torch.nn.Sigmoid)
        if one_sided or isinstance(self._end, torch.nn.Softmax | torch.nn.LogSoftmax):
            answer = caught[-1]
        if answer.ndim == 1:
            answer = answer[:, None]
        if answer.ndim != 2 or len(answer) != len(X):
            raise ValueError(f"model: returned shape {tuple(answer.shape)} for {len(X)} rows, expected one row each")
        if one_sided and answer.shape[1] > 1:
            raise ValueError(f"model: ends with {answer.shape[1]} sigmoids, expected one, or a softmax")
        return answer


class _InUse:
    """Put a module into evaluation inside a ``with`` block, and back as it was."""

    def __init__(self, model):
        self._model = model

    def __enter__(self):
        self.was_training = self._model.training
        self._model.eval()

    def __exit__(self, *_):
        self._model.train(self.was_training)
