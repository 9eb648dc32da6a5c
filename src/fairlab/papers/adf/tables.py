"""Tables of the experiments on ADF: counts of searches, ours beside the published ones, and what networks are like."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from fairlab.adf.discrimination import estimate_unfairness
from fairlab.cases.schema import Schema
from fairlab.networks import Network, dense_network
from fairlab.papers.adf.benchmarks import BENCHMARKS, SCHEMAS, Subject

# Methods under the names that the published values have, and as they are written.
METHODS = {"adf": "ADF", "sg": "SG", "aequitas": "Aequitas"}
COUNTS = ("n_inputs", "n_discriminatory", "success_rate", "n_successful", "n_wrong", "n_outside", "seconds")


def counts(searches: Mapping[tuple, Sequence[dict]], names: Sequence[str]) -> pd.DataFrame:
    """Return one row per search: what tells it apart, and its counts.

    Parameters
    ----------
    searches : dict of tuple to list of dict
        Tallies of the runs of each search; see `fairlab.papers.adf.trials.tally`.
    names : sequence of str
        What the parts of the keys are called.
    """
    return pd.DataFrame(
        [
            dict(zip(names, key, strict=True)) | {count: run[count] for count in COUNTS}
            for key, runs in searches.items()
            for run in runs
        ]
    )


def beside(published: pd.DataFrame, ours: pd.Series, *, counted: str = "") -> pd.DataFrame:
    """Return our counts with the published ones, one row per method and benchmark.

    Parameters
    ----------
    published : DataFrame
        Published values by id, in the column value.
    ours : Series
        By benchmark and method.
    counted : str
        What is counted, where the ids say so: gdiff or id.
    """
    suffix = f".{counted}" if counted else ""
    known = set(ours.index.get_level_values(1))
    rows = [
        (METHODS[method], name, published.loc[f"{name}.{method}{suffix}", "value"], ours[name, method])
        for method in METHODS
        if method in known
        for name in BENCHMARKS
    ]
    return pd.DataFrame(rows, columns=["method", "benchmark", "published", "ours"])


def read_off(published: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the points read off the published curves (figure 3), by method: inputs and discriminatory ones by seeds.

    Parameters
    ----------
    published : DataFrame
        Values by id, such as ``adf.inputs.seed_25``; other ids are left out.
    """
    parts = published.index.to_series().str.extract(r"^(\w+)\.(inputs|id)\.seed_(\d+)$").dropna()
    points = pd.Series(
        published.loc[parts.index, "value"].to_numpy(dtype=float),
        index=[parts[0], parts[1].replace("id", "discriminatory"), parts[2].astype(int).rename("seeds")],
    )
    curves = points.unstack(1)[["inputs", "discriminatory"]]
    return {method: curves.loc[method].rename_axis(columns=None) for method in ("adf", "aequitas")}


def sharpness(network: Network, schema: Schema, *, n: int, random_state=None) -> dict[str, float]:
    """Return for how many of `n` uniform inputs a network is certain in float32, and for how many a gradient is 0."""
    points = schema.sample(n, random_state=random_state)
    _, margin_gradient = network.margin_gradient(points)
    return {
        "larger probability is 1": float((network.probabilities(points).max(axis=1) == 1).mean()),
        "gradient of the loss is 0": float((~network.loss_gradient(points).any(axis=1)).mean()),
        "gradient of the margin is 0": float((~margin_gradient.any(axis=1)).mean()),
    }


def domains() -> pd.DataFrame:
    """Return the number of attributes and of inputs in each domain."""
    sizes = {name: np.prod(schema.high - schema.low + 1.0) for name, schema in SCHEMAS.items()}
    return pd.DataFrame({"attributes": {name: len(schema.names) for name, schema in SCHEMAS.items()}, "inputs": sizes})


def networks_compared(
    subjects: Mapping[str, Subject], others: Mapping[str, Sequence], *, n: int, random_state=None
) -> pd.DataFrame:
    """Return accuracy and share of discriminatory inputs by benchmark, of the stored network and of others.

    Parameters
    ----------
    subjects : dict of str to Subject
        By name, with the stored networks.
    others : dict of str to list
        Weights of other networks for the same rows.
    n : int
        Uniform inputs for every share.
    random_state : int or None
        Which inputs; the same for all networks of a benchmark.
    """
    rows = []
    for name, benchmark in BENCHMARKS.items():
        stored = subjects[benchmark.subject]
        more = (Subject(stored.X, stored.y, weights) for weights in others[benchmark.subject])
        for which, subject in [("authors", stored), *enumerate(more)]:
            fairness = estimate_unfairness(
                subject.network,
                schema=benchmark.schema,
                sensitive=benchmark.sensitive,
                n=n,
                random_state=random_state,
            )
            shares = {"accuracy": subject.accuracy, "discriminatory share": fairness.share}
            rows.append({"benchmark": name, "network": which} | shares)
    return pd.DataFrame(rows)


def iterations_of(
    phases: Mapping[tuple[str, str], Sequence[dict]],
) -> dict[tuple[str, str, str], list[float]]:
    """Return the mean iterations of the global phase, run by run: of all seeds, and of the successful ones.

    Parameters
    ----------
    phases : dict of tuple to list of dict
        Tallies of the runs, by reading and benchmark. Where in some run no seed succeeded, they are left out.

    Returns
    -------
    dict of tuple to list of float
        By reading, benchmark and seeds (all, successful).
    """
    means = {}
    for key, runs in phases.items():
        if all(run["successful"].any() for run in runs):
            means[*key, "all"] = [float(run["iterations"].mean()) for run in runs]
            means[*key, "successful"] = [float(run["iterations"][run["successful"]].mean()) for run in runs]
    return means


def with_several_classes(networks: Sequence[list[np.ndarray]], X: np.ndarray) -> list[list[np.ndarray]]:
    """Return the weights of those networks that do not give all rows of `X` one class."""
    return [weights for weights in networks if len(np.unique(Network(dense_network(weights)).predict(X))) > 1]


def shares_before(subjects: Mapping[str, Subject], *, n: int, random_state=None) -> pd.DataFrame:
    """Return share of discriminatory inputs and accuracy of the networks as they are, by benchmark."""
    compared = networks_compared(subjects, dict.fromkeys(subjects, ()), n=n, random_state=random_state)
    return compared.rename(columns={"discriminatory share": "share"}).set_index("benchmark")[["share", "accuracy"]]
