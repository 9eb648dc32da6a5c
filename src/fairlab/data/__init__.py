"""Data sets, each as one `Dataset`: real rows where they can be had, generated ones that say so where they cannot."""

from importlib import import_module

from fairlab.data.errors import DataError, DataUnavailableError, RegistryError, SurrogateWarning

__all__ = [
    "DataError",
    "DataUnavailableError",
    "Dataset",
    "Provenance",
    "RegistryError",
    "SurrogateWarning",
    "available",
    "fetch",
    "load",
    "state_of",
    "status",
    "verify",
]

_HOMES = {
    "Dataset": "fairlab.data.dataset",
    "Provenance": "fairlab.data.dataset",
    "available": "fairlab.data.inventory",
    "fetch": "fairlab.data.inventory",
    "state_of": "fairlab.data.inventory",
    "status": "fairlab.data.inventory",
    "verify": "fairlab.data.inventory",
}


def load(name: str, **options):
    """Load a data set.

    Parameters
    ----------
    name : str
        A name of `available()`; its module, named alike with underscores, says what it is.
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
    from fairlab.data.registry import project_registry

    variant = project_registry().variant(name)
    return import_module(f"fairlab.data.{variant.name.replace('-', '_')}").load(**options)


def __getattr__(name):
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'fairlab.data' has no attribute {name!r}")
