"""Agreement of two maps about whose outcome flips, as of an exact map and its approximation."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairlab.fliptest.flipsets import Flipset


@dataclass(frozen=True)
class Overlap:
    """How many people two sets share.

    Attributes
    ----------
    both, only_first, only_second : int
        Numbers of people.

    Examples
    --------
    >>> from fairlab.fliptest import Overlap
    >>> Overlap(both=2, only_first=1, only_second=1).jaccard
    0.5
    """

    both: int
    only_first: int
    only_second: int

    @property
    def jaccard(self) -> float:
        """Share of the people in either set who are in both; not a number if both sets are empty."""
        either = self.both + self.only_first + self.only_second
        return self.both / either if either else float("nan")


@dataclass(frozen=True)
class FlipsetOverlap:
    """Overlap of the flipsets of two maps, sign by sign.

    Examples
    --------
    >>> from fairlab.fliptest import Flipset, flipset_overlap
    >>> people = pd.Index(["Ada", "Bea", "Cleo"])
    >>> first = Flipset(np.array([1, 0, 0]), np.array([0, 1, 0]), people)
    >>> second = Flipset(np.array([1, 0, 0]), np.array([0, 0, 1]), people)
    >>> overlap = flipset_overlap(first, second)
    >>> overlap.positive.jaccard, overlap.negative.jaccard
    (1.0, 0.0)
    """

    positive: Overlap
    negative: Overlap

    def to_frame(self) -> pd.DataFrame:
        """Return one row per sign: numbers of people and the Jaccard index."""
        rows = {name: vars(part) | {"jaccard": part.jaccard} for name, part in vars(self).items()}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("flipset")


def flipset_overlap(first: Flipset, second: Flipset) -> FlipsetOverlap:
    """Compare the flipsets of the same people under two maps.

    Raises
    ------
    ValueError
        If they are not the same people, or the classifier decided differently about them: then it is not the same one.

    Examples
    --------
    >>> from fairlab.fliptest import Flipset, flipset_overlap
    >>> people = pd.Index(["Ada", "Bea", "Cleo"])
    >>> first = Flipset(np.array([1, 0, 0]), np.array([0, 1, 0]), people)
    >>> second = Flipset(np.array([1, 0, 0]), np.array([0, 0, 1]), people)
    >>> flipset_overlap(first, second).negative
    Overlap(both=0, only_first=1, only_second=1)
    """
    for name, flips in (("first", first), ("second", second)):
        if not isinstance(flips, Flipset):
            raise ValueError(f"{name}: expected a Flipset, found {type(flips).__name__}")
    if not first.index.equals(second.index):
        found = f"({len(first.index)} and {len(second.index)})"
        raise ValueError(f"first and second: expected the same people, found flipsets of different rows {found}")
    differing = int((first.prediction != second.prediction).sum())
    if differing:
        raise ValueError(f"the flipsets are of different classifiers: {differing} predictions differ before the map")
    return FlipsetOverlap(
        _overlap(first.positive, second.positive),
        _overlap(first.negative, second.negative),
    )


def _overlap(first: np.ndarray, second: np.ndarray) -> Overlap:
    return Overlap(int((first & second).sum()), int((first & ~second).sum()), int((second & ~first).sum()))
