"""The effect among everyone, from running counts: how often each group gets each output, with confidence sequences."""

from itertools import product

import numpy as np

from fairlab.fairtest import group_sequences
from fairlab.monitoring.logs import iso
from fairlab.monitoring.registration import Registration
from fairlab.statistics import bonferroni_level


def indicators(registration: Registration, content: np.ndarray, true=None) -> dict[str, np.ndarray]:
    """Return what rates are counted of, from 0 to 1: each label or category, a bounded number, or the error."""
    found = {}
    for name in registration.outputs:
        column, values = registration.columns[name], content[name]
        if column.type == "number" and not column.is_bounded:
            continue
        if registration.true_label:
            error = values - true if column.type == "number" else values != true
            found[f"error of {name}"] = np.abs(error) / column.width
        elif column.type == "number":
            found[name] = (values - column.low) / column.width
        else:
            codes = list(enumerate(column.labels))
            found |= {f"{name}: {label}": values == code for code, label in codes[len(codes) == 2 :]}
    return found


def add_counts(counts: dict, registration: Registration, content: np.ndarray, hits: dict[str, np.ndarray]) -> dict:
    """Return running counts with some rows more: of each sensitive feature's groups the people, then the sums of hits.

    People whose group is missing are not counted.
    """
    counts = dict(counts)
    for name, labels in registration.groups.items() if hits else ():
        groups = content[name] + 1
        sums = [np.bincount(groups, weights, len(labels) + 1)[1:] for weights in (None, *hits.values())]
        counts[name] = (np.stack(sums, axis=1) + np.array(counts.get(name, 0))).tolist()
    return counts


def over_time(registration: Registration, moments: list[tuple[int, dict]]) -> list[dict]:
    """Return the effect of each output and group at some moments, given by their running counts.

    All confidence sequences hold together with the registration's confidence level. Points at which a side has fewer
    people than the smallest cell have no values. Values are in the output's own units.
    """
    names = list(indicators(registration, np.zeros(0, registration.dtype), np.zeros(0)))
    pairs = list(product(registration.groups.items(), enumerate(names, start=1)))
    level = bonferroni_level(registration.confidence_level, max(len(pairs), 1))
    found = []
    for (feature, labels), (place, name) in pairs:
        nobody = np.zeros((len(labels), 1 + len(names)))
        counts = np.array([moment.get(feature, nobody) for _, moment in moments]).reshape(-1, *nobody.shape)
        totals, hits = counts[..., 0], np.minimum(counts[..., place], counts[..., 0])
        others, other_hits = (each.sum(axis=1, keepdims=True) - each for each in (totals, hits))
        estimates = hits / np.maximum(totals, 1) - other_hits / np.maximum(others, 1)
        bounds = group_sequences(hits, totals, confidence_level=level)
        column = registration.columns.get(name.removeprefix("error of "))
        values = (column.width if column else 1.0) * np.stack([estimates, *bounds], axis=-1)
        people = np.stack([totals, others], axis=-1).astype(int)
        for code, group in enumerate(labels[:1] if len(labels) == 2 else labels):
            against = labels[1] if len(labels) == 2 else "all others"
            parts = zip(moments, people[:, code].tolist(), values[:, code].tolist(), strict=True)
            points = [{"time": iso(time)} | _point(*part, registration.smallest_cell) for (time, _), *part in parts]
            about = {"sensitive_feature": feature, "output": name, "group": group, "against": against}
            found.append(about | {"points": points})
    return found


def _point(sizes: list[int], values: list[float], smallest_cell: int) -> dict:
    """Return people on both sides, difference and bounds, as far as both sides have enough people."""
    shown = [sizes, *values] if min(sizes) >= smallest_cell else [None] * 4
    return dict(zip(("n", "estimate", "low", "high"), shown, strict=True))
