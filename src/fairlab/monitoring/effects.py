"""The effect among everyone, from running counts: how often each group gets each output, with confidence sequences."""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pandas as pd

from fairlab.fairtest import group_sequences
from fairlab.monitoring.logs import iso
from fairlab.monitoring.looks import as_table
from fairlab.monitoring.registration import Registration
from fairlab.statistics import bonferroni_level

_BANDS, MOST_KEPT = {}, 20_000  # moments


def indicators(registration: Registration, table: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return what rates are counted of, from 0 to 1: each label or category, a bounded number, or the error."""
    found = {}
    for name in registration.outputs:
        column, codes = registration.columns[name], _codes(table[name])
        if registration.true_label and (column.labels or column.width):
            true = _codes(table[registration.true_label])
            found[f"error of {name}"] = np.abs(codes - true) / column.width if column.width else codes != true
        elif column.width:
            found[name] = (codes - column.low) / column.width
        elif labels := column.labels:
            shown = list(enumerate(labels))[len(labels) == 2 :]
            found |= {f"{name}: {label}": codes == code for code, label in shown}
    return found


def add_counts(counts: dict, registration: Registration, table: pd.DataFrame) -> dict:
    """Return running counts with some rows more: of each sensitive feature's groups the people, then the sums of hits.

    People whose group is missing are not counted.
    """
    counts, hits = dict(counts), indicators(registration, table)
    for name, labels in registration.groups.items() if hits else ():
        groups = _codes(table[name]).astype(int) + 1
        sums = [np.bincount(groups, weights, len(labels) + 1)[1:] for weights in (None, *hits.values())]
        counts[name] = (np.stack(sums, axis=1) + np.array(counts.get(name, 0))).tolist()
    return counts


def _codes(column: pd.Series) -> np.ndarray:
    """Return numbers as they are and categories as codes, -1 where one is missing."""
    return (column.cat.codes if column.dtype == "category" else column.astype(float)).to_numpy()


def over_time(registration: Registration, moments: Sequence[tuple[int, dict]]) -> Iterator[dict]:
    """Yield the effect of each output and group at some moments, given by their running counts.

    All confidence sequences hold together with the registration's confidence level. Points at which a side has fewer
    people than the smallest cell have no values. Values are in the output's own units.
    """
    names = list(indicators(registration, as_table(registration, ())))
    pairs = list(product(registration.groups.items(), enumerate(names, start=1)))
    level = bonferroni_level(registration.confidence_level, max(len(pairs), 1))
    for (feature, labels), (place, name) in pairs:
        counts = np.array([moment[feature] for _, moment in moments]).reshape(-1, len(labels), 1 + len(names))
        totals, hits = counts[..., 0], np.minimum(counts[..., place], counts[..., 0])
        others, other_hits = (each.sum(axis=1, keepdims=True) - each for each in (totals, hits))
        estimates = hits / np.maximum(totals, 1) - other_hits / np.maximum(others, 1)
        column, is_pair = registration.columns.get(name.removeprefix("error of ")), len(labels) == 2
        values = np.stack([estimates, *_bands(hits, totals, level)], axis=-1) * ((column and column.width) or 1.0)
        people = np.stack([totals, others], axis=-1).astype(int)
        for code, group in enumerate(labels[:1] if is_pair else labels):
            parts = zip(moments, people[:, code].tolist(), values[:, code].tolist(), strict=True)
            yield {
                "sensitive_feature": feature,
                "output": name,
                "group": group,
                "against": labels[1] if is_pair else "all others",
                "points": [
                    {"time": iso(time)} | _point(*part, registration.smallest_cell) for (time, _), *part in parts
                ],
            }


def _bands(hits: np.ndarray, totals: np.ndarray, level: float) -> np.ndarray:
    """Return the bounds of `group_sequences`, shape (2, n_moments, n_groups); each moment's are computed once."""
    keys = [(level, *pair) for pair in zip(map(np.ndarray.tobytes, hits), map(np.ndarray.tobytes, totals), strict=True)]
    found = {key: _BANDS[key] for key in keys if key in _BANDS}
    if new := [k for k, key in enumerate(keys) if key not in found]:
        low, high = group_sequences(hits[new], totals[new], confidence_level=level)
        found |= zip((keys[k] for k in new), np.stack([low, high], axis=1), strict=True)
        if len(_BANDS) > MOST_KEPT:
            _BANDS.clear()
        _BANDS.update(found)
    return np.stack([found[key] for key in keys], axis=1) if keys else np.empty((2, *hits.shape))


def _point(sizes: list[int], values: list[float], smallest_cell: int) -> dict:
    """Return people on both sides, difference and bounds, as far as both sides have enough people."""
    shown = [sizes, *values] if min(sizes) >= smallest_cell else [None] * 4
    return dict(zip(("n", "estimate", "low", "high"), shown, strict=True))
