"""The effect among everyone, from running counts: how often each group gets each output, with confidence sequences."""

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
    groups = registration.groups if names else {}
    level = bonferroni_level(registration.confidence_level, max(len(groups), 1))
    found = []
    for feature, labels in groups.items():
        shape = (len(labels), 1 + len(names))
        counts = np.array([moment.get(feature, np.zeros(shape)) for _, moment in moments]).reshape(-1, *shape)
        totals, hits = np.broadcast_arrays(counts[..., :1], counts[..., 1:])
        totals, hits = (np.moveaxis(each, 1, 2) for each in (totals, np.minimum(hits, totals)))
        rest, other_hits = (each.sum(axis=-1, keepdims=True) - each for each in (totals, hits))
        estimates = hits / np.maximum(totals, 1) - other_hits / np.maximum(rest, 1)
        bounds = group_sequences(hits, totals, confidence_level=level)
        people, values = np.stack([totals, rest], axis=-1), np.stack([estimates, *bounds], axis=-1)
        for place, name in enumerate(names):
            column = registration.columns.get(name.removeprefix("error of "))
            unit = column.width if column else 1.0
            for code, group in enumerate(labels[:1] if len(labels) == 2 else labels):
                here = people[:, place, code].tolist(), (unit * values[:, place, code]).tolist()
                points = [
                    {"time": iso(time)} | _point(n, value, registration.smallest_cell)
                    for (time, _), n, value in zip(moments, *here, strict=True)
                ]
                about = {"sensitive_feature": feature, "output": name, "group": group}
                about["against"] = labels[1] if len(labels) == 2 else "all others"
                found.append(about | {"points": points})
    return found


def _point(sizes: list[float], values: list[float], smallest_cell: int) -> dict:
    """Return people on both sides, difference and bounds, as far as both sides have enough people."""
    shown = [[int(n) for n in sizes], *values] if min(sizes) >= smallest_cell else [None] * 4
    return dict(zip(("n", "estimate", "low", "high"), shown, strict=True))
