"""Several maps of the same people: how well each fits, whose outcome flips, how far that depends on the map.

A learnt map depends on its seed, so FlipTest is best run with several. Each function takes one thing per map, in a dict
by the map's name, and returns one table of them all.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fairlab.fliptest.flipsets import Flipset, flipset
from fairlab.fliptest.overlap import flipset_overlap
from fairlab.fliptest.validation import OFF_TARGET_KS, MapValidation

_SIGNS = {"F+": "positive", "F−": "negative"}


def usable_maps(validations: Mapping[str, MapValidation]) -> tuple[list[str], str]:
    """Tell the maps that reached their target from those that missed it, so that none is averaged in silently.

    Parameters
    ----------
    validations : dict of str to MapValidation
        One per map.

    Returns
    -------
    names : list of str
        Maps that are not off target; if every one is, all that did not diverge.
    note : str
        How many were left out; empty if none was.

    Examples
    --------
    >>> from fairlab.fliptest import usable_maps, validate_map
    >>> men = pd.DataFrame({"skill": [1.0, 2.0, 3.0, 4.0], "hair": [0.0, 1.0, 1.0, 2.0]})
    >>> usable_maps({"onto itself": validate_map(men, men), "past it": validate_map(men, men + 9)})[0]
    ['onto itself']
    """
    _expect(validations, "validations", MapValidation)
    n = len(validations)
    converged = [name for name, validation in validations.items() if not validation.diverged]
    on_target = [name for name, validation in validations.items() if not validation.off_target]
    n_diverged, n_off_target = n - len(converged), len(converged) - len(on_target)
    parts = [f"{n_diverged} of {n} maps diverged and left out"] if n_diverged else []
    if n_off_target and on_target:
        parts.append(f"{n_off_target} of {n} maps are off target (KS above {OFF_TARGET_KS}) and left out")
    elif n_off_target:
        parts.append(f"all {n_off_target} maps are off target (KS above {OFF_TARGET_KS})")
    return on_target or converged, "; ".join(parts)


def fit_table(validations: Mapping[str, MapValidation], *, labels: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return how well each map fits.

    Parameters
    ----------
    validations : dict of str to MapValidation
        One per map, over the same features.
    labels : dict of str to str, optional
        What to call a feature. Default: its name.

    Returns
    -------
    DataFrame
        Indexed by map: the KS distance of every feature, ``largest KS``, ``mean L1``, ``mean squared L1`` and
        ``off target``.

    Examples
    --------
    >>> from fairlab.fliptest import fit_table, validate_map
    >>> men = pd.DataFrame({"skill": [1.0, 2.0, 3.0, 4.0], "hair": [0.0, 1.0, 1.0, 2.0]})
    >>> fit_table({"onto itself": validate_map(men, men), "past it": validate_map(men, men + 9)})[
    ...     "off target"
    ... ].to_dict()
    {'onto itself': False, 'past it': True}
    """
    _expect(validations, "validations", MapValidation)
    known = {feature for validation in validations.values() for feature in validation.features.index}
    if strange := [feature for feature in labels or {} if feature not in known]:
        raise ValueError(f"labels: expected features of the maps, found {strange[0]!r}")
    rows = {}
    for name, validation in validations.items():
        ks = validation.features["ks"]
        rows[name] = {f"KS {(labels or {}).get(feature, feature)}": value for feature, value in ks.items()} | {
            "largest KS": ks.max(),
            "mean L1": validation.mean_l1,
            "mean squared L1": validation.mean_squared_l1,
            "off target": validation.off_target,
        }
    return _table(rows)


def flipsets_by_map(predict, X, images: Mapping[str, pd.DataFrame]) -> dict[str, Flipset]:
    """Return the flipsets of one classifier under every map that has images; see `fairlab.fliptest.flipset`.

    Parameters
    ----------
    predict : callable, or object with a ``predict`` method
    X : DataFrame of shape (n_rows, n_features)
    images : dict of str to DataFrame of shape (n_rows, n_features)
        One per map; a map that diverged, whose images are missing, is left out.

    Examples
    --------
    >>> from fairlab.fliptest import flipsets_by_map
    >>> women = pd.DataFrame({"skill": [1.0, 2.0, 3.0]})
    >>> flips = flipsets_by_map(
    ...     lambda X: (X["skill"] > 2.5).astype(int), women, {"up": women + 1, "down": women - 1}
    ... )
    >>> flips["up"].n_negative, flips["down"].n_positive
    (1, 1)
    """
    _expect(images, "images", pd.DataFrame | np.ndarray)
    return {name: flipset(predict, X, image) for name, image in images.items() if not np.all(pd.isna(image))}


def size_table(flips: Mapping[str, Flipset]) -> pd.DataFrame:
    """Return the sizes ``F+`` and ``F−`` of the flipsets, indexed by map.

    Examples
    --------
    >>> from fairlab.fliptest import Flipset, size_table
    >>> flip = Flipset(np.array([1, 0, 0]), np.array([0, 1, 1]), pd.RangeIndex(3))
    >>> size_table({"one": flip}).loc["one"].to_dict()
    {'F+': 1, 'F−': 2}
    """
    _expect(flips, "flips", Flipset)
    return _table({name: {"F+": flip.n_positive, "F−": flip.n_negative} for name, flip in flips.items()})


def agreement_table(flips: Mapping[str, Flipset]) -> pd.DataFrame:
    """Return the sizes of the flipsets and how far they name the same people as those of the first map.

    Parameters
    ----------
    flips : dict of str to Flipset
        Of the same people and the same classifier, one per map.

    Returns
    -------
    DataFrame
        Indexed by map: ``F+``, ``F−``, and their Jaccard index with those of the first, ``Jaccard F+`` and
        ``Jaccard F−``; not a number where both flipsets are empty.

    Raises
    ------
    ValueError
        If there is no flipset, or they are not of the same people and the same classifier.

    Examples
    --------
    >>> from fairlab.fliptest import Flipset, agreement_table
    >>> people = pd.Index(["Ada", "Bea", "Cleo"])
    >>> first = Flipset(np.array([1, 0, 0]), np.array([0, 1, 0]), people)
    >>> second = Flipset(np.array([1, 0, 0]), np.array([0, 0, 1]), people)
    >>> agreement_table({"one": first, "another": second}).loc["another"].to_dict()
    {'F+': 1.0, 'F−': 1.0, 'Jaccard F+': 1.0, 'Jaccard F−': 0.0}
    """
    _expect(flips, "flips", Flipset)
    first = next(iter(flips.values()))
    overlaps = [flipset_overlap(first, flip) for flip in flips.values()]
    shared = {
        f"Jaccard {sign}": [getattr(overlap, name).jaccard for overlap in overlaps] for sign, name in _SIGNS.items()
    }
    return size_table(flips).assign(**shared)


def size_spread(intervals: pd.DataFrame) -> pd.DataFrame:
    """Set the uncertainty of a flipset's size from the people beside that from the map.

    Parameters
    ----------
    intervals : DataFrame
        One row per map and flipset, as `by_map` makes of several results of `fairlab.fliptest.flipset_intervals`.

    Returns
    -------
    DataFrame
        Indexed by flipset: ``mean size``; ``half-width over people``, the mean over maps; ``standard deviation over
        maps``; ``smallest``, ``largest``; ``maps``, their number.

    Examples
    --------
    >>> from fairlab.fliptest import Flipset, by_map, flipset_intervals, size_spread
    >>> flip = Flipset(np.repeat([1, 0], [20, 80]), np.zeros(100, dtype=int), pd.RangeIndex(100))
    >>> intervals = by_map({"one": flipset_intervals(flip), "another": flipset_intervals(flip)})
    >>> float(size_spread(intervals).loc["positive", "mean size"])
    20.0
    """
    names = {*intervals.columns, *intervals.index.names} if isinstance(intervals, pd.DataFrame) else set()
    if lacking := sorted({"flipset", "size", "low", "high"} - names):
        raise ValueError(f"intervals: expected a table as of `by_map`, found one without {', '.join(lacking)}")
    half_width = (intervals["high"] - intervals["low"]) / 2
    by_flipset = intervals.assign(half_width=half_width).groupby("flipset", sort=False)
    return pd.DataFrame(
        {
            "mean size": by_flipset["size"].mean(),
            "half-width over people": by_flipset["half_width"].mean(),
            "standard deviation over maps": by_flipset["size"].std(),
            "smallest": by_flipset["size"].min(),
            "largest": by_flipset["size"].max(),
            "maps": by_flipset.size(),
        }
    )


def by_map(parts: Mapping[str, object], name: str = "map") -> pd.DataFrame:
    """Return tables, or results that have a ``to_frame``, as one table with the map's name in front.

    Parameters
    ----------
    parts : dict of str to DataFrame, TransparencyReport, FlipsetOverlap or MapValidation
        One per map.
    name : str
        Of the first column.

    Examples
    --------
    >>> from fairlab.fliptest import by_map
    >>> by_map({"one": pd.DataFrame({"F+": [3]}), "another": pd.DataFrame({"F+": [4]})}).to_dict("list")
    {'map': ['one', 'another'], 'F+': [3, 4]}
    """
    _expect(parts, "parts")
    frames = {key: part if isinstance(part, pd.DataFrame) else part.to_frame() for key, part in parts.items()}
    stacked = pd.concat(frames, names=[name])
    unnamed = [level for level, of_level in enumerate(stacked.index.names) if of_level is None]
    return stacked.droplevel(unnamed).reset_index()


def _expect(parts, name: str, kind=None) -> None:
    """Raise a ValueError unless there is one thing of a kind, or of any that makes a table, by each map's name."""
    if not isinstance(parts, Mapping) or not parts:
        found = type(parts).__name__ if not isinstance(parts, Mapping) else "none"
        raise ValueError(f"{name}: expected one for each map, by its name, found {found}")
    for key, part in parts.items():
        if not (isinstance(part, kind) if kind else isinstance(part, pd.DataFrame) or hasattr(part, "to_frame")):
            raise ValueError(f"{name}: expected {getattr(kind, '__name__', 'a table')}, found {part!r} for {key!r}")


def _table(rows: dict) -> pd.DataFrame:
    index = pd.Index(list(rows), name=None if any(isinstance(key, tuple) for key in rows) else "map")
    return pd.DataFrame(list(rows.values()), index=index)
