"""The effect among everyone, from running counts: how often each group gets each output, with confidence sequences."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product

import numpy as np
import pandas as pd

from fairlab.fairtest import group_sequences
from fairlab.monitoring.logs import iso
from fairlab.monitoring.looks import as_table
from fairlab.monitoring.registration import Registration
from fairlab.statistics import bonferroni_level


def indicators(registration: Registration, table: pd.DataFrame) -> dict[str, tuple[np.ndarray, float]]:
    """Return the values, from 0 to 1, whose rates are counted: of each label, of a bounded number, or of the error.

    Each comes with its unit, the value that 1 stands for.
    """
    found = {}
    for name in registration.outputs:
        column, codes = registration.columns[name], _codes(table[name])
        if registration.true_label and (column.labels or column.width):
            true = _codes(table[registration.true_label])
            error = np.abs(codes - true) / column.width if column.width else codes != true
            found[f"error of {name}"] = error, column.width or 1.0
        elif column.width:
            found[name] = (codes - column.low) / column.width, column.width
        elif labels := column.labels:  # of two labels, the second is enough
            found |= {
                f"{name}: {of}": (codes == code, 1.0) for code, of in enumerate(labels) if code or len(labels) > 2
            }
    return found


def add_counts(counts: dict, registration: Registration, table: pd.DataFrame) -> dict:
    """Return running counts after more rows: for each group of a sensitive feature, its people, then sums of hits.

    People whose group is missing are not counted.
    """
    counts, hits = dict(counts), [values for values, _ in indicators(registration, table).values()]
    for name, labels in registration.groups.items() if hits else ():
        groups = _codes(table[name]).astype(int) + 1
        sums = [np.bincount(groups, weights, len(labels) + 1)[1:] for weights in (None, *hits)]
        counts[name] = (np.stack(sums, axis=1) + np.array(counts.get(name, 0))).tolist()
    return counts


def _codes(column: pd.Series) -> np.ndarray:
    """Return numbers unchanged and categories as codes, -1 for a missing one."""
    return (column.cat.codes if column.dtype == "category" else column.astype(float)).to_numpy()


def over_time(registration: Registration, moments: Sequence[tuple[int, dict]]) -> Iterator[dict]:
    """Yield the effect of each output and group at some moments, given by their running counts.

    All confidence sequences hold jointly at the registration's confidence level. Points have no values if the group, or
    the people it is compared with, are fewer than the smallest cell. Values are in the output's own units.
    """
    found = indicators(registration, as_table(registration, ()))
    names, units = list(found), np.array([[unit] for _, unit in found.values()])
    level = bonferroni_level(registration.confidence_level, max(len(registration.groups), 1))
    for feature, labels in registration.groups.items() if names else ():
        counts = np.array([of[feature] for _, of in moments], float).reshape(-1, len(labels), 1 + len(names))
        totals = np.repeat(counts[..., :1], len(names), axis=2).swapaxes(1, 2)  # moments, outputs, groups
        hits = np.minimum(counts[..., 1:].swapaxes(1, 2), totals)
        people, sums = (np.stack([of, of.sum(axis=-1, keepdims=True) - of]) for of in (totals, hits))
        rates, bands = sums / np.maximum(people, 1), _bands(hits.tobytes(), totals.tobytes(), hits.shape, level)
        values = np.stack([rates[0] - rates[1], *bands]) * units
        own = labels[:1] if len(labels) == 2 else labels  # the second of two has the opposite effect
        for (output, name), (code, group) in product(enumerate(names), enumerate(own)):
            n, (estimate, low, high) = people[..., output, code].astype(int), values[..., output, code]
            points = pd.DataFrame({"n": n.T.tolist(), "estimate": estimate, "low": low, "high": high}, dtype=object)
            points[n.min(axis=0) < registration.smallest_cell] = None
            points.insert(0, "time", [iso(time) for time, _ in moments])
            yield {
                "sensitive_feature": feature,
                "output": name,
                "group": group,
                "against": labels[1] if len(labels) == 2 else "all others",
                "points": points.to_dict("records"),
            }


@lru_cache(200)
def _bands(hits: bytes, totals: bytes, shape: tuple[int, ...], level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of `group_sequences`, cached for pages that are loaded again."""
    hits, totals = (np.frombuffer(of).reshape(shape) for of in (hits, totals))
    return group_sequences(hits, totals, confidence_level=level)
