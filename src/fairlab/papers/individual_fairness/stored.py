"""The authors' stored models and audit output, which are behind tables 1, 3 and 4."""

import ast
import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from fairlab.data.errors import DataUnavailableError
from fairlab.data.files import fetch_file
from fairlab.data.registry import project_registry
from fairlab.papers.checkpoints import read_tensor
from fairlab.papers.individual_fairness.learners import METHODS
from fairlab.papers.individual_fairness.splits import SEEDS

FOLDER = "individual_fairness_models"
MISSING = (  # the reason given where results need the files
    "the authors' stored models and output are not available; run this experiment again with a network connection, "
    f"or with a copy of {FOLDER} in the folder of FAIRLAB_DATA_MIRROR"
)
# Columns of the tables, by their names in the stored output.
OUTPUT_COLUMNS = {
    "algo": "algo",
    "lr": "step_size",
    "bal_acc": "bal_acc",
    "average_odds_difference_gen": "aod_gender",
    "average_odds_difference_race": "aod_race",
    "lb": "t_n",
}

VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"  # how TensorFlow 2 ends the name of a tensor


class Stored(NamedTuple):
    """The authors' stored models and output of a study.

    Attributes
    ----------
    models : list of dict
        Models of all ten splits, as `learners.classifiers` takes them.
    output : DataFrame
        One row per audit: ``algo`` (the authors' name of the method; on Adult, ``baseline_bal`` are their stored plain
        networks, and ``baseline`` networks that they did not release), ``split`` (from 0, as in `SEEDS`),
        ``step_size``, and the columns of the tables.
    n_unreadable : int
        Lines of the output that could not be read.
    """

    models: list[dict[str, dict]]
    output: pd.DataFrame
    n_unreadable: int


def stored_study(study: str) -> Stored:
    """Return the authors' stored models and output of ``"adult"`` or ``"compas"``, fetched if need be; see `MISSING`.

    If the files are not available, models and output are empty.
    """
    models, output = [], (pd.DataFrame(), 0)
    try:
        models = [{method: _stored(study, method, pair) for method in METHODS} for pair in SEEDS[study]]
        text = _file(f"{FOLDER}/{study}/summary.out").read_text()
        output = read_output(text, [data_seed for data_seed, _ in SEEDS[study]])
    except DataUnavailableError:
        pass
    return Stored(models, *output)


def read_output(text: str, data_seeds: Sequence[int]) -> tuple[pd.DataFrame, int]:
    """Read printed dictionaries, one per line; return rows as in `Stored`, and the number of unreadable lines.

    Parameters
    ----------
    text : str
    data_seeds : sequence of int
        Data seeds in the order of the splits.
    """
    lines = [_dictionary(line) for line in text.splitlines()]
    printed = pd.DataFrame([line for line in lines if line])
    seeds = [seed if isinstance(seed, int) else seed[0] for seed in printed["seed"]]
    rows = printed[list(OUTPUT_COLUMNS)].rename(columns=OUTPUT_COLUMNS)
    rows["reject_prop"] = (printed["pval"] < 0.05).astype(float)
    rows.insert(1, "split", [data_seeds.index(seed) for seed in seeds])
    return rows, lines.count(None)


def _dictionary(line):
    try:
        found = ast.literal_eval(line)
    except (SyntaxError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _stored(study: str, method: str, seeds: Sequence[int]) -> dict:
    seeds = seeds[:1] if method == "reduction" else seeds
    place = f"{FOLDER}/{study}/" + "_".join([method, *map(str, seeds)])
    return _READERS[method](place)


def _file(path: str):
    return fetch_file(project_registry().file(path))


def _tensors(place: str, *names: str) -> list[np.ndarray]:
    index, _ = (_file(f"{place}.{part}") for part in ("index", "data-00000-of-00001"))
    return [_tensor(index, name) for name in names]


def _tensor(index, name: str) -> np.ndarray:
    try:
        return read_tensor(index, name + VALUE)
    except ValueError:  # most of COMPAS' files have the layers under another name
        return read_tensor(index, f"trainable_{name}{VALUE}")


def _baseline(place: str) -> dict:
    names = [f"layer_with_weights-{k}/{part}" for k in (0, 1) for part in ("kernel", "bias")]
    return {"network_": tuple(_tensors(place, *names))}


def _project(place: str) -> dict:
    kernel, *rest, directions = _tensors(place, *(f"variables/{k}" for k in range(5)))
    projection = np.eye(len(kernel)) - directions.T.astype(float) @ directions
    kernel = (projection @ kernel).astype(np.float32)
    return {"network_": (kernel, *rest), "projection_": projection}


def _sensr(place: str) -> dict:
    return {"network_": tuple(np.array(part, np.float32) for part in json.loads(_file(f"{place}.json").read_text()))}


def _reduction(place: str) -> dict:
    stored = json.loads(_file(f"{place}.json").read_text())
    names = {"coef_": "coefs", "intercept_": "intercepts", "weight_": "ens_weights"}
    return {name: np.array(stored[key]) for name, key in names.items()}


_READERS = {"baseline": _baseline, "project": _project, "sensr": _sensr, "reduction": _reduction}
