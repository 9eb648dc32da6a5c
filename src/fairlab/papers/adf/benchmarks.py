"""The published benchmarks: three data sets with their input domains and stored networks, six protected attributes."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairlab.cases.schema import Schema
from fairlab.data.dataset import Dataset
from fairlab.data.encoding import codes
from fairlab.data.errors import DataUnavailableError, SurrogateWarning
from fairlab.data.files import fetch_file
from fairlab.data.registry import project_registry
from fairlab.networks import FeedForward
from fairlab.papers.adf.training import train_networks
from fairlab.papers.checkpoints import read_tensor

FALLBACK_STEPS = 2000  # of a network trained here, where the stored one is not available

# Not the ranges of the data: unknown values (coded 100) and the largest `fnlwgt` lie outside, and most values of bank's
# `pdays` never occur.
SCHEMAS = {
    "census": Schema.from_bounds(
        {
            "age": (1, 9),
            "workclass": (0, 7),
            "fnlwgt": (0, 39),
            "education": (0, 15),
            "marital-status": (0, 6),
            "occupation": (0, 13),
            "relationship": (0, 5),
            "race": (0, 4),
            "sex": (0, 1),
            "capital-gain": (0, 99),
            "capital-loss": (0, 39),
            "hours-per-week": (0, 99),
            "native-country": (0, 39),
        }
    ),
    "credit": Schema.from_bounds(
        {
            "status": (0, 3),
            "duration": (1, 80),
            "history": (0, 4),
            "purpose": (0, 10),
            "amount": (1, 200),
            "savings": (0, 4),
            "employment": (0, 4),
            "installment_rate": (1, 4),
            "sex": (0, 1),
            "debtors": (0, 2),
            "residence": (1, 4),
            "property": (0, 3),
            "age": (1, 8),
            "other_plans": (0, 2),
            "housing": (0, 2),
            "credits": (1, 4),
            "job": (0, 3),
            "liable": (1, 2),
            "telephone": (0, 1),
            "foreign": (0, 1),
        }
    ),
    "bank": Schema.from_bounds(
        {
            "age": (1, 9),
            "job": (0, 11),
            "marital": (0, 2),
            "education": (0, 3),
            "default": (0, 1),
            "balance": (-20, 179),
            "housing": (0, 1),
            "loan": (0, 1),
            "contact": (0, 2),
            "day": (1, 31),
            "month": (0, 11),
            "duration": (0, 99),
            "campaign": (1, 63),
            "pdays": (-1, 39),
            "previous": (0, 1),
            "poutcome": (0, 3),
        }
    ),
}


@dataclass(frozen=True)
class Benchmark:
    """One data set's network and one protected attribute, as the tables list them.

    Attributes
    ----------
    subject : str
        census, credit or bank.
    sensitive_features : str
        The attribute under its name in the schema.
    n_seeds : int
        Inputs of the global phase (section 4.1).
    """

    subject: str
    sensitive_features: str
    n_seeds: int

    @property
    def schema(self) -> Schema:
        """The input domain."""
        return SCHEMAS[self.subject]


BENCHMARKS = {
    "census.age": Benchmark("census", "age", 1000),
    "census.race": Benchmark("census", "race", 1000),
    "census.gender": Benchmark("census", "sex", 1000),
    "bank.age": Benchmark("bank", "age", 1000),
    "credit.age": Benchmark("credit", "age", 600),
    "credit.gender": Benchmark("credit", "sex", 600),
}


@dataclass(frozen=True, eq=False)
class Subject:
    """A data set in the encoding of its network, and the network.

    Attributes
    ----------
    X : ndarray of int of shape (n_rows, n_attributes)
    y : ndarray of int of shape (n_rows,)
    weights : list of ndarray
        Kernels and biases in turn.
    stored : bool
        Whether the weights are the authors'.
    """

    X: np.ndarray
    y: np.ndarray
    weights: list[np.ndarray]
    stored: bool = False

    @cached_property
    def network(self) -> FeedForward:
        """The network, with batched classes and gradients."""
        return FeedForward(self.weights)

    @property
    def accuracy(self) -> float:
        """Share of rows that the network classifies correctly; it was trained on these rows."""
        return float((self.network.predict(self.X) == self.y).mean())


def load_subjects(exp) -> dict[str, Subject]:
    """Load the three data sets of an experiment, each with its network; see `subject_under_test`."""
    return {name: subject_under_test(name, exp.load(f"{name}-adf"), exp.note_fallback) for name in SCHEMAS}


def inputs_of_trials(subjects: dict[str, Subject]) -> dict[str, dict]:
    """Return the inputs of a trial for each benchmark: its name, its network's weights, and its rows."""
    return {
        name: {"name": name, "weights": subjects[its.subject].weights, "X": subjects[its.subject].X}
        for name, its in BENCHMARKS.items()
    }


def subject_under_test(name: str, table: Dataset, note_fallback: Callable | None = None) -> Subject:
    """Return a data set with the authors' stored network or, if that is missing, one trained here, with a warning.

    Parameters
    ----------
    name : str
        census, credit or bank.
    table : Dataset
        Its rows.
    note_fallback : callable, optional
        Called with the data variant and the missing files if a network was trained here: `Experiment.note_fallback`.
    """
    X, y = codes(table.features).to_numpy(), table.target.to_numpy()
    try:
        return Subject(X, y, stored_weights(name), stored=True)
    except DataUnavailableError:
        warnings.warn(
            f"{name}: the stored network is not available; one trained here replaces it", SurrogateWarning, stacklevel=2
        )
        if note_fallback is not None:
            note_fallback(table.provenance.variant, _files(name))
        return Subject(X, y, train_networks(X, y, [0], n_steps=FALLBACK_STEPS)[0])


def stored_weights(subject: str) -> list[np.ndarray]:
    """Return kernels and biases, in turn, of the network that the authors stored.

    The files are fetched if need be and read as weights; the optimiser's state in them is left out.

    Raises
    ------
    DataUnavailableError
        If the files are not available.
    """
    index, _ = (fetch_file(project_registry().file(path)) for path in _files(subject))
    layers = ["linear", *(f"linear_{k}" for k in range(1, 6))]
    return [read_tensor(index, f"{layer}/{part}") for layer in layers for part in ("kernel", "bias")]


def _files(subject: str) -> list[str]:
    """Return the paths of a stored network in the registry."""
    return [f"adf_networks/{subject}.{part}" for part in ("index", "data-00000-of-00001")]
