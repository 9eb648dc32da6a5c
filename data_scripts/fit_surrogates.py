"""Fit the surrogates to the real data and write their parameters: python data_scripts/fit_surrogates.py [VARIANT ...].

Prints how near each surrogate is. The real files are fetched if need be.
"""

import sys
from math import prod

import numpy as np
import pandas as pd
from fidelity import compare, label_score
from fit_copula import SMALLEST_COUNT, fit_copula
from surrogate_files import parameters, write_surrogate

from fairlab.data import load
from fairlab.data.registry import Variant, project_registry
from fairlab.data.sources import real_dataset
from fairlab.data.surrogates.cells import Cells
from fairlab.data.surrogates.label_rates import LabelRates
from fairlab.data.tables import prepare

HEAD = """\
# Parameters of the surrogate of {name}: aggregates of {what}.
# Written by data_scripts/fit_surrogates.py; what they mean: fairlab.data.surrogates.{module}.
"""
AGGREGATES = f"the real data, each over at least {SMALLEST_COUNT} records"


def fit_model(variant: Variant) -> tuple[str, dict, dict]:
    """Return the key of a surrogate's model, its parameters, and the words of its file's head."""
    table, *_ = prepare(variant)
    if variant.name == "staples":
        return "cells", parameters(count_cells(table)), {"what": "synthetic people", "module": "cells"}
    if variant.name == "image-tagger":
        return "labels", parameters(count_labels(table)), {"what": "images, not of people", "module": "label_rates"}
    score = label_score(real_dataset(variant))
    copula = fit_copula(table, sensitive=list(variant.privileged_group), score=score)
    return "copula", parameters(copula), {"what": AGGREGATES, "module": "copula"}


def count_cells(table: pd.DataFrame) -> Cells:
    """Count the cells of a table of text or categories."""
    coded = table.astype("category")
    levels = {name: list(column.cat.categories) for name, column in coded.items()}
    shape = tuple(map(len, levels.values()))
    codes = np.ravel_multi_index([column.cat.codes for _, column in coded.items()], shape)
    return Cells(levels=levels, counts=np.bincount(codes, minlength=prod(shape)).tolist())


def count_labels(table: pd.DataFrame) -> LabelRates:
    """Count the images with each label in every group of a table whose last column is labels, joined by "|"."""
    *columns, labels = table.columns
    groups = []
    for values, images in table.groupby(columns, observed=True)[labels]:
        counts = images.str.get_dummies("|").sum()
        group = {"values": dict(zip(columns, values, strict=True)), "images": len(images), "counts": counts.to_dict()}
        groups.append(group)
    return LabelRates(groups=groups)


def fit(variant: Variant) -> None:
    """Fit one surrogate, write its file and print its fidelity."""
    key, values, words = fit_model(variant)
    content = {"fitted_on": variant.sha256, "rows": variant.rows, key: values}
    write_surrogate(variant, HEAD.format(name=variant.name, **words), content)
    fidelity = compare(load(variant.name, surrogate=False), load(variant.name, surrogate=True))
    print(f"{variant.name}\n{fidelity.to_frame().to_string(index=False)}\n\n{fidelity.groups.to_string()}\n")


if __name__ == "__main__":
    registry = project_registry()
    # Data that nobody here had, which has no hash, is fitted to published aggregates by a script of its own.
    fitted = [name for name, variant in registry.variants.items() if variant.surrogate and variant.sha256]
    for name in sys.argv[1:] or fitted:
        fit(registry.variant(name))
