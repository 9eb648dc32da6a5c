"""Strata of a surrogate: groups of the sensitive columns, large ones each alone and all small ones together."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairlab.data.surrogates.marginals import SMALLEST_COUNT, Marginal, read_marginal

SMALLEST_STRATUM = 200  # groups with fewer records share their marginals


@dataclass(frozen=True)
class Stratum:
    """One group, or several small ones together, and the marginals of the other columns in it.

    Attributes
    ----------
    groups : tuple of (tuple of str, int)
        The values of the sensitive columns, and the number of records with them.
    marginals : dict of str to Marginal
    """

    groups: tuple[tuple[tuple[str, ...], int], ...]
    marginals: dict[str, Marginal]

    @property
    def rows(self) -> int:
        """Number of records."""
        return sum(count for _, count in self.groups)

    def to_dict(self) -> dict:
        """Return plain values for a YAML file."""
        return {
            "groups": [[*group, count] for group, count in self.groups],
            "marginals": {name: marginal.to_dict() for name, marginal in self.marginals.items()},
        }

    @classmethod
    def from_dict(cls, content: dict, columns: list[str]) -> "Stratum":
        """Return the stratum that `to_dict` described, with its marginals in the order of `columns`."""
        return cls(
            groups=tuple((tuple(group), count) for *group, count in content["groups"]),
            marginals={
                name: read_marginal(content["marginals"][name]) for name in columns if name in content["marginals"]
            },
        )


def find_groups(table: pd.DataFrame, sensitive: list[str]) -> list[list[tuple[tuple[str, ...], int]]]:
    """Return the groups of each stratum: every large group alone, all small ones together."""
    counts = table[sensitive].astype(str).value_counts()
    counts = counts[counts >= SMALLEST_COUNT].sort_index()
    alone = [[(group, int(n))] for group, n in counts.items() if n >= SMALLEST_STRATUM]
    together = [(group, int(n)) for group, n in counts.items() if n < SMALLEST_STRATUM]
    return [*alone, together] if together else alone


def as_shares(counts) -> np.ndarray:
    """Return counts as shares of their sum."""
    return np.asarray(counts) / np.sum(counts)
