"""Packages that an installation may leave out: which extra brings each, and the error that says so.

``tf = optional("tensorflow")`` at the top of a module stands for the package and imports it at the first use.
"""

from importlib import import_module

# Importable name: the extra of pyproject.toml that brings it.
EXTRAS = {
    "tensorflow": "networks",
    "keras": "networks",
    "fairlearn": "networks",
    "torch": "torch",
    "z3": "symbolic",
    "lime": "symbolic",
    "IPython": "suite",
    "nbclient": "suite",
    "nbformat": "suite",
    "papermill": "suite",
    "seaborn": "suite",
    "snakemake": "suite",
    "tqdm": "suite",
}


class MissingExtraError(ModuleNotFoundError):
    """Something needs a package that this installation leaves out."""


class OptionalModule:
    """A module that is imported when one of its attributes is asked for.

    Parameters
    ----------
    name : str
        Full name of the module.
    """

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str):
        if attribute.startswith("__"):  # asked by copies, pickles and inspection, not by users
            raise AttributeError(attribute)
        return getattr(required(self._name), attribute)

    def __repr__(self) -> str:
        return f"optional({self._name!r})"


def optional(name: str) -> OptionalModule:
    """Return a stand-in for a module of `EXTRAS` or one within; importing it is put off to its first use.

    Raises
    ------
    KeyError
        If no extra brings it.
    """
    EXTRAS[name.partition(".")[0]]
    return OptionalModule(name)


def required(name: str):
    """Import a module of `EXTRAS` or one within, and return it.

    Raises
    ------
    MissingExtraError
        If its package is not installed; the message names the extra that brings it.
    """
    package = name.partition(".")[0]
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        extra = EXTRAS[package]
        message = (
            f"this needs {package}, which is not installed; the extra {extra!r} brings it: "
            f"pip install 'fairlab[{extra}]', or '.[{extra}]' in a clone"
        )
        raise MissingExtraError(message, name=package) from error
