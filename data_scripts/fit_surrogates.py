"""Fit the surrogates to the real data and write their parameters: python data_scripts/fit_surrogates.py [VARIANT ...].

Prints how near each surrogate is. The real files are fetched if need be.
"""

import sys

import yaml

from fairlab.data import load
from fairlab.data.registry import Variant, project_registry
from fairlab.data.sources import real_dataset
from fairlab.data.surrogates.cells import count_cells
from fairlab.data.surrogates.copula import fit_copula
from fairlab.data.surrogates.fidelity import compare, label_score
from fairlab.data.surrogates.label_rates import count_labels
from fairlab.data.surrogates.marginals import SMALLEST_COUNT
from fairlab.data.tables import prepare
from fairlab.paths import DATA_SCRIPTS, write_text

HEAD = """\
# Parameters of the surrogate of {name}: aggregates of {what}.
# Written by data_scripts/fit_surrogates.py; what they mean: fairlab.data.surrogates.{module}.
"""


AGGREGATES = f"the real data, each over at least {SMALLEST_COUNT} records"


def fit_model(variant: Variant) -> tuple[str, dict, dict]:
    """Return the key of a surrogate's model, its parameters, and the words of its file's head."""
    table, *_ = prepare(variant)
    if variant.name == "staples":
        return "cells", count_cells(table).to_dict(), {"what": "synthetic people", "module": "cells"}
    if variant.name == "image-tagger":
        return "labels", count_labels(table).to_dict(), {"what": "images, not of people", "module": "label_rates"}
    score = label_score(real_dataset(variant))
    copula = fit_copula(table, sensitive=list(variant.privileged_group), score=score)
    return "copula", copula.to_dict(), {"what": AGGREGATES, "module": "copula"}


def fit(variant: Variant) -> None:
    """Fit one surrogate, write its file and print its fidelity."""
    key, parameters, words = fit_model(variant)
    content = {"variant": variant.name, "fitted_on": variant.sha256, "rows": variant.rows, key: parameters}
    body = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=118, allow_unicode=True)
    write_text(DATA_SCRIPTS / variant.surrogate.file, HEAD.format(name=variant.name, **words) + body)
    fidelity = compare(load(variant.name, surrogate=False), load(variant.name, surrogate=True))
    print(f"{variant.name}\n{fidelity.to_frame().to_string(index=False)}\n\n{fidelity.groups.to_string()}\n")


if __name__ == "__main__":
    registry = project_registry()
    # Data that nobody here had, which has no hash, is fitted to published aggregates by a script of its own.
    fitted = [name for name, variant in registry.variants.items() if variant.surrogate and variant.sha256]
    for name in sys.argv[1:] or fitted:
        fit(registry.variant(name))
