"""Loading the rows of a data set: real ones if available, otherwise a surrogate, or simulated ones."""

import sys
import warnings
from dataclasses import replace

import pandas as pd
import pooch

from fairlab.data.dataset import Dataset
from fairlab.data.documents import read_yaml
from fairlab.data.errors import DataError, DataUnavailableError, SurrogateWarning
from fairlab.data.files import lost_since, was_there
from fairlab.data.project import project
from fairlab.data.registry import Variant, project_registry
from fairlab.data.surrogates.copula import Copula
from fairlab.data.surrogates.patients import PatientModel
from fairlab.data.surrogates.subjects import SubjectModel
from fairlab.data.tables import as_dataset, check_table, digest, prepare
from fairlab.seeds import derive_seed

# Models that generate rows, by the key of their parameters in a surrogate's file.
MODELS = {
    "copula": Copula,
    "patients": PatientModel,
    "subjects": SubjectModel,
}


def load_variant(variant: Variant, *, surrogate: bool | None = None, **options) -> Dataset:
    """Load a variant as the registry describes it, fetching the raw files that are missing.

    Parameters
    ----------
    variant : Variant
    surrogate : bool or None
        None: a surrogate is used, with one `SurrogateWarning`, if the real files are not available. True: always.
        False: never.
    **options
        Options of the script that makes the real rows.

    Raises
    ------
    DataUnavailableError
        If the real files are not available and no surrogate may or can be used. No surrogate may replace data named in
        ``FAIRLAB_REAL_DATA``.
    DataError
        If the cache cannot be written, or the data is not what the registry says.
    """
    if surrogate:
        return surrogate_dataset(variant)
    try:
        return real_dataset(variant, **options)
    except DataUnavailableError as error:
        if surrogate is False or variant.surrogate is None:
            raise
        if was_there(variant.name):
            raise DataUnavailableError(f"{lost_since(variant.name)} {error}", error.rejected) from error
        rejected = f" Rejected: {'; '.join(error.rejected)}." if error.rejected else ""
        warnings.warn(
            f"{variant.name}: real data is not available, a surrogate is used. "
            f"Get the real data with `fairlab data fetch {variant.name}`.{rejected}",
            SurrogateWarning,
            stacklevel=_level_of_user(),
        )
        return surrogate_dataset(variant)


def real_dataset(variant: Variant, **options) -> Dataset:
    """Return the real rows of a variant."""
    table, files, data_hash = prepare(variant, **options)
    return as_dataset(table, variant, source=variant.source, data_hash=data_hash, files=files, note=variant.description)


def surrogate_dataset(variant: Variant) -> Dataset:
    """Return as many generated rows as the real variant has, always the same ones."""
    if variant.surrogate is None:
        raise DataError(f"{variant.name} has no surrogate")
    path = project().data_scripts / variant.surrogate.file
    content = read_yaml(path, error=DataError)
    seed = derive_seed("surrogate", variant.name)
    [model] = [kind.model_validate(content[key]) for key, kind in MODELS.items() if key in content]
    table = model.sample(variant.rows, random_state=seed)
    check_table(table, variant)
    return as_dataset(
        table,
        variant,
        source="surrogate",
        data_hash=digest(variant=variant.name, surrogate=pooch.file_hash(str(path)), seed=seed),
        note="generated from aggregates of the real data, not real people",
        caveat=variant.surrogate.wrong,
    )


def generated_dataset(name: str, table: pd.DataFrame, *, rows: int, **parameters) -> Dataset:
    """Return a data set that is drawn anew each time, checked against the registry.

    Parameters
    ----------
    name : str
    table : DataFrame
    rows : int
        Expected number of rows.
    **parameters
        Plain values that determine the draw; the digest and the note are made from them.
    """
    variant = project_registry().variant(name)
    check_table(table, variant, rows=rows)
    return as_dataset(
        table,
        variant,
        source=variant.source,
        data_hash=digest(variant=variant.name, **parameters),
        note=", ".join(f"{key}={value}" for key, value in parameters.items()),
    )


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


def _level_of_user() -> int:
    """Return the stack level of the first frame outside this package, counted from the caller."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "fairlab":
        frame, level = frame.f_back, level + 1
    return level
