"""The type that every loader returns: a table with its labels, sensitive features and provenance."""

import html
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import pandas as pd

from fairlab.data.errors import DataError

SOURCES = ("real", "generated", "reconstructed", "surrogate")
"""Provenance of rows, the strongest first.

The rows that the paper used, or a public copy of them; people simulated by the paper's own protocol; people fitted to
published tables or to the public part of a data set; a fallback for data that is not available.
"""


def weakest(sources: Iterable[str]) -> str:
    """Return the weakest of several labels of `SOURCES`, which applies to results from all of them."""
    return max(sources, key=SOURCES.index)


@dataclass(frozen=True)
class Provenance:
    """Provenance of the rows of a data set.

    Attributes
    ----------
    variant : str
    source : {"real", "generated", "reconstructed", "surrogate"}
        See `SOURCES`.
    data_hash : str
        Hexadecimal digest that identifies the exact data: of the raw files and the script that prepares them, or of
        the generator's or surrogate's parameters and seed.
    rows : int
    files : dict of str to str
        SHA-256 of every raw file used.
    citation, note : str
    caveat : str
        What is inaccurate in surrogate rows.

    Examples
    --------
    >>> import fairlab
    >>> fairlab.load("berkeley").provenance.source
    'real'
    """

    variant: str
    source: str
    data_hash: str
    rows: int
    files: dict[str, str] = field(default_factory=dict)
    citation: str = ""
    note: str = ""
    caveat: str = ""

    def __post_init__(self):
        if self.source not in SOURCES:
            raise DataError(
                f"provenance of {self.variant}: source {self.source!r}, expected one of {', '.join(SOURCES)}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as plain values, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True, repr=False, eq=False)
class Dataset:
    """A data set ready for use.

    Attributes
    ----------
    features : DataFrame of shape (n_rows, n_features)
        Possible inputs of a model. Categorical columns have pandas' category type. Sensitive columns are among them
        where the published experiments feed them to the model.
    target : Series of length n_rows
    sensitive_features : DataFrame of shape (n_rows, n_sensitive)
    positive_label : object or None
        The favourable value of `target`; None if the target is a measured number.
    privileged_group : dict
        For each sensitive feature, its privileged group.
    encoding : dict of str to tuple
        The categories of every categorical column, in the order of their codes.
    provenance : Provenance

    Raises
    ------
    DataError
        If the parts differ in length or index, or a column occurs twice.

    Examples
    --------
    >>> import fairlab
    >>> berkeley = fairlab.load("berkeley")
    >>> len(berkeley.features), list(berkeley.sensitive_features)
    (4425, ['gender'])
    """

    features: pd.DataFrame
    target: pd.Series
    sensitive_features: pd.DataFrame
    positive_label: Any
    privileged_group: dict[str, Any]
    encoding: dict[str, tuple]
    provenance: Provenance

    def __post_init__(self):
        for part in ("target", "sensitive_features"):
            other = getattr(self, part)
            if not other.index.equals(self.features.index):
                raise DataError(
                    f"{self.name}: features and {part} differ in their index; "
                    f"they have {len(self.features):,} and {len(other):,} rows"
                )
        for part in ("features", "sensitive_features"):
            columns = getattr(self, part).columns
            if not columns.is_unique:
                raise DataError(f"{self.name}: {part} has columns twice: {', '.join(columns[columns.duplicated()])}")
        if set(self.privileged_group) != set(self.sensitive_features.columns):
            raise DataError(
                f"{self.name}: privileged groups for {', '.join(self.privileged_group) or 'nothing'}, "
                f"sensitive features are {', '.join(self.sensitive_features.columns)}"
            )

    @property
    def name(self) -> str:
        """Name of the variant."""
        return self.provenance.variant

    @property
    def warning(self) -> str:
        """A one-line warning if the rows are a surrogate, else an empty string."""
        return "surrogate: fallback data, not real people" if self.provenance.source == "surrogate" else ""

    def __repr__(self):
        return "\n  ".join([f"Dataset {self._title()}", *self._lines(), *([self.warning] if self.warning else [])])

    def _repr_html_(self):
        items = "".join(f"<li>{html.escape(line)}</li>" for line in self._lines())
        warning = f"<p><strong>{html.escape(self.warning)}</strong></p>" if self.warning else ""
        if caveat := self.provenance.caveat:
            warning += f"<p>Inaccurate: {html.escape(caveat)}.</p>"
        return (
            f"<div><b>{html.escape(self._title())}</b><ul>{items}</ul>{warning}{self.features.head(3).to_html()}</div>"
        )

    def _title(self) -> str:
        return f"{self.name}: {len(self.features):,} rows ({self.provenance.source})"

    def _lines(self) -> list[str]:
        positive = "" if self.positive_label is None else f" (positive: {self.positive_label})"
        groups = ", ".join(f"{column} (privileged: {group})" for column, group in self.privileged_group.items())
        lines = [
            f"features: {', '.join(map(str, self.features.columns))}",
            f"target: {self.target.name}{positive}",
            f"sensitive_features: {groups}",
        ]
        return [*lines, f"source: {self.provenance.citation}"] if self.provenance.citation else lines
