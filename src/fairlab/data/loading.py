"""Real rows where they can be had, a surrogate where they cannot."""

import warnings
from dataclasses import replace
from importlib import import_module

import pandas as pd
import pooch

from fairlab.data.dataset import Dataset, Provenance
from fairlab.data.documents import read_yaml
from fairlab.data.errors import DataError, DataUnavailableError, SurrogateWarning
from fairlab.data.registry import Variant, project_registry
from fairlab.data.surrogates.cells import Cells
from fairlab.data.surrogates.copula import Copula
from fairlab.data.surrogates.label_rates import LabelRates
from fairlab.data.surrogates.patients import PatientModel
from fairlab.data.surrogates.subjects import SubjectModel
from fairlab.data.tables import as_dataset, check_table, digest, prepare
from fairlab.paths import DATA_SCRIPTS
from fairlab.seeds import derive_seed

# How rows are generated, by the key that holds the parameters in a surrogate's file.
MODELS = {
    "cells": Cells,
    "copula": Copula,
    "labels": LabelRates,
    "patients": PatientModel,
    "subjects": SubjectModel,
}


def load(name: str, **options):
    """Load a data set.

    Parameters
    ----------
    name : str
        A name of `available()`; the registry describes it.
    **options
        Of the data set, for instance ``n_points`` of lipton; ``surrogate=True`` or ``False`` where there is one.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If the name is unknown, or the data cannot be had and nothing may stand in for it.

    Warns
    -----
    SurrogateWarning
        If generated data stands in for real data.

    Examples
    --------
    >>> from fairlab.data import load
    >>> load("berkeley").target.value_counts().to_dict()
    {'No': 2673, 'Yes': 1752}
    """
    variant = project_registry().variant(name)
    return import_module(f"fairlab.data.variants.{variant.name.replace('-', '_')}").load(**options)


def load_variant(name: str, *, surrogate: bool | None = None, label: str | None = None) -> Dataset:
    """Load a variant that is made from raw files, fetching those that are missing.

    Parameters
    ----------
    name : str
    surrogate : bool or None
        None: the surrogate stands in, with one `SurrogateWarning`, if the real files cannot be had. True: always.
        False: never.
    label : str or None
        Column that is the target, if not the one that the registry names.

    Raises
    ------
    DataUnavailableError
        If the real files cannot be had and no surrogate may or can stand in.
    DataError
        If the cache cannot be written, or the data is not what the registry says.
    """
    variant = project_registry().variant(name)
    if label is not None:
        variant = variant.model_copy(update={"label": label})
    if surrogate:
        return surrogate_dataset(variant)
    try:
        return real_dataset(variant)
    except DataUnavailableError as error:
        if surrogate is False or variant.surrogate is None:
            raise
        rejected = f" Rejected: {'; '.join(error.rejected)}." if error.rejected else ""
        warnings.warn(
            f"{name}: real data is not at hand, a generated surrogate stands in. "
            f"Get the real data with `fairlab data fetch {name}`.{rejected}",
            SurrogateWarning,
            stacklevel=4,  # the caller of fairlab.load
        )
        return surrogate_dataset(variant)


def real_dataset(variant: Variant) -> Dataset:
    """Return the real rows of a variant."""
    table, files, data_hash = prepare(variant)
    provenance = Provenance(
        variant=variant.name,
        source="real",
        data_hash=data_hash,
        rows=len(table),
        files=files,
        citation=variant.citation,
        note=variant.description,
    )
    return as_dataset(table, variant, provenance)


def surrogate_dataset(variant: Variant) -> Dataset:
    """Return as many generated rows as the real variant has, always the same ones."""
    if variant.surrogate is None:
        raise DataError(f"{variant.name} has no surrogate")
    path = DATA_SCRIPTS / variant.surrogate
    content = read_yaml(path, error=DataError)
    seed = derive_seed("surrogate", variant.name)
    [model] = [kind.from_dict(content[key]) for key, kind in MODELS.items() if key in content]
    table = model.sample(variant.rows, random_state=seed)
    check_table(table, variant)
    provenance = Provenance(
        variant=variant.name,
        source="surrogate",
        data_hash=digest(variant=variant.name, surrogate=pooch.file_hash(str(path)), seed=seed),
        rows=len(table),
        citation=variant.citation,
        note="generated from aggregates of the real data, not real people",
    )
    return as_dataset(table, variant, provenance)


def generated_dataset(name: str, table: pd.DataFrame, *, rows: int, parameters: dict) -> Dataset:
    """Return a data set that is drawn anew each time, checked against the registry.

    Parameters
    ----------
    name : str
    table : DataFrame
    rows : int
        Expected.
    parameters : dict
        Names and plain values of what the draw depends on; they make the digest and the note.
    """
    variant = project_registry().variant(name)
    check_table(table, variant, rows=rows)
    provenance = Provenance(
        variant=variant.name,
        source="generated",
        data_hash=digest(variant=variant.name, **parameters),
        rows=len(table),
        citation=variant.citation,
        note=", ".join(f"{key}={value}" for key, value in parameters.items()),
    )
    return as_dataset(table, variant, provenance)


def derive(dataset: Dataset, *, options: dict, **parts) -> Dataset:
    """Return a data set with other parts; the options that made them enter its digest and its note.

    Parameters
    ----------
    dataset : Dataset
    options : dict
        Names and plain values.
    **parts
        Attributes of `Dataset` that are replaced.
    """
    origin = dataset.provenance
    provenance = replace(
        origin,
        data_hash=digest(origin=origin.data_hash, options=options),
        rows=len(parts.get("target", dataset.target)),
        note="; ".join([origin.note, ", ".join(f"{name}={value}" for name, value in options.items())]),
    )
    return replace(dataset, provenance=provenance, **parts)
