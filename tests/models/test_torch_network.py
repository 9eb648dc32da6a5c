import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; it is an extra, pip install 'fairlab[torch]'")

from fairlab.models.torch_network import TorchNetwork  # noqa: E402

KERNEL, BIAS = np.array([[1.0, -2.0, 0.5]]), np.array([0.25])
X = np.random.default_rng(0).normal(size=(50, 3))


def module(*end, kernel=KERNEL, bias=BIAS):
    linear = torch.nn.Linear(kernel.shape[1], kernel.shape[0])
    with torch.no_grad():
        linear.weight.copy_(torch.tensor(kernel))
        linear.bias.copy_(torch.tensor(bias))
    return torch.nn.Sequential(linear, *end)


class Inside(torch.nn.Module):
    """An end that is no layer."""

    def __init__(self, model, end):
        super().__init__()
        self.inner, self.end = model, end

    def forward(self, X):
        return self.end(self.inner(X))


TWO = {"kernel": np.vstack([0 * KERNEL, KERNEL]), "bias": np.append(0, BIAS)}


@pytest.mark.parametrize(
    "model",
    [
        module(),
        module(torch.nn.Sigmoid()),
        module(torch.nn.Softmax(1), **TWO),
        module(**TWO),
        Inside(module(), lambda logits: logits[:, 0]),
        Inside(module(), torch.sigmoid),
        Inside(module(**TWO), lambda logits: torch.softmax(logits, dim=1)),
        Inside(module(**TWO), lambda logits: torch.log_softmax(logits, dim=1)),
    ],
    ids=["logit", "sigmoid", "softmax", "logits", "flat", "sigmoid inside", "softmax inside", "log softmax inside"],
)
@pytest.mark.parametrize(("label", "sign"), [(1, 1), (0, -1)])
def test_all_ends_give_the_same_logits_and_slopes(model, label, sign):
    network = TorchNetwork(model)
    assert (network.n_features, network.n_classes) == (3, 2)
    logits = network.logits(X)
    np.testing.assert_allclose(logits[:, 1] - logits[:, 0], (X @ KERNEL[0] + BIAS), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(network.log_odds_gradient(X, label)[1], np.tile(sign * KERNEL, (50, 1)), rtol=1e-3)


@pytest.mark.parametrize(
    ("model", "is_logit"),
    [
        (Inside(module(torch.nn.Sigmoid()), lambda chance: 1 - chance), False),
        (module(torch.nn.Sigmoid(), torch.nn.Sigmoid()), False),
        (Inside(module(torch.nn.Sigmoid()), lambda chance: chance.clamp(0.3, 0.6)), False),
        (Inside(module(torch.nn.Sigmoid()), lambda hidden: 4 * hidden - 2), True),
        (Inside(module(torch.nn.Softmax(1), **TWO), lambda hidden: hidden @ torch.tensor([[4.0], [-2.0]])), True),
        (Inside(module(torch.nn.Softmax(1), **TWO), lambda chances: chances.flip(1)[:, 1:]), False),
    ],
    ids=["one less", "twice", "clamped", "sigmoid hidden", "softmax hidden", "turned round"],
)
def test_what_follows_the_layer_that_was_defined_last_counts(model, is_logit):
    with torch.no_grad():
        answer = model(torch.tensor(X, dtype=torch.float32)).numpy()[:, 0]
    chance = 1 / (1 + np.exp(-answer)) if is_logit else answer
    np.testing.assert_allclose(TorchNetwork(model).probabilities(X)[:, 1], chance, rtol=1e-4)


def test_a_module_is_asked_as_it_is_in_use_and_left_as_it_was():
    model = module(torch.nn.Dropout(0.5), torch.nn.Linear(1, 1), torch.nn.Sigmoid())
    model.train()
    network = TorchNetwork(model)
    np.testing.assert_array_equal(network.logits(X), network.logits(X))
    assert (model.training, model[0].weight.grad) == (True, None)
    model[1].eval()
    network.logits(X)
    assert [each.training for each in model] == [True, False, True, True]


class OfLogarithms(torch.nn.Module):
    """A module of positive numbers alone."""

    def __init__(self, *end):
        super().__init__()
        self.inner = module(*end)

    def forward(self, X):
        answer = self.inner(torch.log(X))
        return answer if len(self.inner) > 1 else torch.sigmoid(answer)


@pytest.mark.parametrize("end", [(), (torch.nn.Sigmoid(),)], ids=["inside", "layer"])
def test_probabilities_of_positive_numbers_alone_are_no_logits(end):
    model = OfLogarithms(*end)
    with torch.no_grad():
        chance = model(torch.tensor(np.abs(X), dtype=torch.float32)).numpy()[:, 0]
    np.testing.assert_allclose(TorchNetwork(model).probabilities(np.abs(X))[:, 1], chance, rtol=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: TorchNetwork(torch.nn.ReLU()), "expected a PyTorch module with a linear layer"),
        (lambda: TorchNetwork(module(torch.nn.Sigmoid(), **TWO)), "ends with 2 sigmoids"),
        (lambda: TorchNetwork(Inside(module(**TWO), torch.sigmoid)), "ends with 2 sigmoids"),
        (
            lambda: TorchNetwork(Inside(module(), lambda answer: (answer, answer))),
            "returned a tuple, expected a tensor",
        ),
        (
            lambda: TorchNetwork(module(bias=BIAS * np.nan)).logits(X),
            "answers 50 of 50 inputs with what is not a number",
        ),
    ],
)
def test_modules_that_are_no_classifiers(call, message):
    with pytest.raises(ValueError, match=message):
        call()
