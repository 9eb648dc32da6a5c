"""A PyTorch module as a network."""

from contextlib import contextmanager

import numpy as np

from fairlab.checks import optional
from fairlab.networks import BaseNetwork

torch = optional("torch")

MIN_PROBABILITY = 1e-7  # least probability


class TorchNetwork(BaseNetwork):
    """A PyTorch classifier of rows of numbers, in evaluation mode: without dropout, without stored gradients.

    Parameters
    ----------
    model : torch.nn.Module
        Returns (n_rows,), (n_rows, 1) or (n_rows, n_classes). The outputs are logits, unless the last layer is a
        sigmoid or a softmax, or outputs are probabilities for all inputs. The first linear layer gives the number of
        features.

    Attributes
    ----------
    model : torch.nn.Module
        Its last layer and size are stored; another module needs another network.

    Raises
    ------
    ValueError
        If the module has no linear layer, or returns something else.
    """

    def __init__(self, model):
        self.model = model
        linear = [layer for layer in model.modules() if isinstance(layer, torch.nn.Linear)]
        if not linear:
            raise ValueError("model: expected a PyTorch module with a linear layer; wrap others in a function")
        self.n_features, self._as = linear[0].in_features, linear[0].weight
        self._end = [layer for layer in model.modules() if not list(layer.children())][-1]
        # A sigmoid or softmax inside `forward` is no layer; inputs of all sizes show it.
        sizes = np.repeat([1, 10, 1000], 64)[:, None]
        probe = sizes * np.random.default_rng(0).normal(size=(len(sizes), self.n_features))
        probe = np.concatenate([probe, np.abs(probe)])  # with a logarithm inside, only inputs above 0 have outputs
        with _in_use(model), torch.no_grad():
            X, ends = self._tensor(probe), torch.nn.Sigmoid | torch.nn.Softmax | torch.nn.LogSoftmax
            answer, _, ended = self._passed(X)
            # The layer that was defined last need not be the last one applied.
            is_end = ended is not None and torch.equal(*map(torch.nan_to_num, (ended, answer)))
            self._is_cut = isinstance(self._end, ends) and is_end
        self.n_classes = max(answer.shape[1], 2)
        answer = answer[torch.isfinite(answer).all(dim=1)].cpu().numpy()
        within = answer.size > 0 and ((answer >= 0) & (answer <= 1)).all()
        if within and answer.shape[1] > 1 and not np.allclose(answer.sum(axis=1), 1, atol=1e-4):
            raise ValueError(f"model: ends with {answer.shape[1]} sigmoids, expected one, or a softmax")
        self._are_probabilities = within and not self._is_cut

    def _answer(self, X, slope=None, label=0):
        X = self._tensor(X).requires_grad_(slope is not None)
        with _in_use(self.model), torch.set_grad_enabled(slope is not None):
            answer = self._logits(X)
            logits = answer.detach().cpu().numpy()
            if slope is None:
                return (logits,)
            return logits, torch.autograd.grad(answer, X, self._tensor(slope(logits, label, np)))[0].cpu().numpy()

    def _tensor(self, values):
        return torch.tensor(values, dtype=self._as.dtype, device=self._as.device)

    def _logits(self, X):
        answer = self._outputs(X)
        if self._are_probabilities:
            answer = (
                torch.logit(answer, eps=MIN_PROBABILITY)
                if answer.shape[1] == 1
                else torch.log(answer.clamp_min(MIN_PROBABILITY))
            )
        return torch.cat([torch.zeros_like(answer), answer], dim=1) if answer.shape[1] == 1 else answer

    def _outputs(self, X):
        """Return the module's outputs, or the inputs of a sigmoid or softmax at its end, shape (n_rows, n_outputs).

        This avoids their rounding to 0 or 1.
        """
        answer, entering, _ = self._passed(X)
        return entering if self._is_cut else answer

    def _passed(self, X):
        """Return the module's outputs, shape (n_rows, n_outputs), and the inputs and outputs of its last layer."""
        caught = [(None, None)]
        hook = self._end.register_forward_hook(lambda _, inputs, output: caught.append((inputs[0], output)))
        try:
            answer = self.model(X)
        finally:
            hook.remove()
        if not isinstance(answer, torch.Tensor):
            raise ValueError(f"model: returned a {type(answer).__name__}, expected a tensor with one row each")
        answer, *parts = (_in_rows(part) for part in (answer, *caught[-1]))
        if answer.ndim != 2 or len(answer) != len(X):
            raise ValueError(f"model: returned shape {tuple(answer.shape)} for {len(X)} rows, expected one row each")
        return answer, *parts


def _in_rows(values):
    """Return one number a row as a column."""
    return values[:, None] if getattr(values, "ndim", 2) == 1 else values


@contextmanager
def _in_use(model):
    """Put a module into evaluation mode inside a ``with`` block, then restore its mode."""
    was_training = [(each, each.training) for each in model.modules()]  # parts may be frozen
    model.eval()
    try:
        yield
    finally:
        for each, was in was_training:
            each.training = was
